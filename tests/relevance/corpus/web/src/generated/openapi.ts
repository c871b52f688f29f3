// Code generated from openapi.json. DO NOT EDIT.

export interface BookingRequest {
  sailing: string;
  passengers: { name: string; age: number }[];
  card: string;
}

export interface BookingResponse {
  reference: string;
  price: string;
}

export interface RefundResponse {
  refunded: string;
}

export const paths = { createBooking: "/v2/bookings", cancelBooking: "/v2/bookings/{reference}", login: "/login" } as const;
