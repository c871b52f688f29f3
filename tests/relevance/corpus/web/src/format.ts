/** Numbers and times as people of a language write them. */

export function formatMoney(amount: string, language = "da-DK"): string {
  return new Intl.NumberFormat(language, { style: "currency", currency: "DKK" }).format(Number(amount));
}

export function formatDeparture(iso: string, language = "da-DK"): string {
  return new Intl.DateTimeFormat(language, { weekday: "short", hour: "2-digit", minute: "2-digit" }).format(new Date(iso));
}

export function pluralise(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}
