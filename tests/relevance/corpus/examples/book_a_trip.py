"""Books a trip for two with a car on the next ferry, and cancels it again."""

from datetime import datetime

from ferry import cancel_booking, create_booking, next_sailing
from ferry.capacity import Deck
from ferry.fares import Passenger
from timetable_2026 import LINES

sailing = next_sailing(LINES, "Havnby", datetime.now())
booking = create_booking(sailing, [Passenger("Ada", 36, "car"), Passenger("Bo", 10)], "4111 1111 1111 1111", Deck("car", 120))
print("booked", booking.reference, "for", booking.price)
print("refunded", cancel_booking(booking, datetime.now()))
