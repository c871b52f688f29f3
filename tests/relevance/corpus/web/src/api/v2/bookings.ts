import { fetchJson } from "../client";
import type { Passenger } from "../../state/store";

/** Booking endpoints: passengers with their age, prices as decimal strings. */
export interface Booking {
  reference: string;
  price: string;
}

export function createBooking(sailing: string, passengers: Passenger[], card: string): Promise<Booking> {
  return fetchJson("/v2/bookings", { method: "POST", body: { sailing, passengers, card } });
}

export function cancelBooking(reference: string): Promise<{ refunded: string }> {
  return fetchJson(`/v2/bookings/${reference}`, { method: "DELETE" });
}

export function listBookings(): Promise<Booking[]> {
  return fetchJson("/v2/bookings");
}
