import { fetchJson } from "../client";

/** Booking endpoints of the first interface; kept for old apps. */
export interface BookingV1 {
  ref: string;
  total: number;
}

export function createBooking(sailing: string, names: string[], card: string): Promise<BookingV1> {
  return fetchJson("/v1/bookings", { method: "POST", body: { sailing, names, card } });
}

export function cancelBooking(ref: string): Promise<void> {
  return fetchJson(`/v1/bookings/${ref}`, { method: "DELETE" });
}
