"""Sells tickets for ferries: timetable, fares, bookings, payments."""

from ferry.bookings import Booking, cancel_booking, create_booking
from ferry.errors import FerryError
from ferry.fares import quote
from ferry.timetable import Sailing, next_sailing

__all__ = ["Booking", "FerryError", "Sailing", "cancel_booking", "create_booking", "next_sailing", "quote"]
