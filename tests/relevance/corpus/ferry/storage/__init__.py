"""Where bookings are kept."""

from ferry.storage.postgres import BookingStore, Pool

__all__ = ["BookingStore", "Pool"]
