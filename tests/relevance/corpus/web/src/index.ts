export { ApiError, fetchJson } from "./api/client";
export { cancelBooking, createBooking, listBookings } from "./api/v2/bookings";
export { BookingForm } from "./components/BookingForm";
export { SeatPicker } from "./components/SeatPicker";
export { createStore, reducer } from "./state/store";
