import { formatDeparture, formatMoney, pluralise } from "./format";

test("formatMoney writes Danish crowns", () => {
  expect(formatMoney("1250.5")).toContain("1.250,50");
});

test("formatDeparture names the weekday", () => {
  expect(formatDeparture("2026-05-01T12:00:00Z")).toMatch(/fre/);
});

test("pluralise", () => {
  expect(pluralise(1, "passenger", "passengers")).toBe("1 passenger");
});
