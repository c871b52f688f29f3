"""Bookings: from a quote to a ticket, and back when it is cancelled."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import uuid4

from ferry.capacity import Deck, reserve_places
from ferry.fares import Passenger, quote
from ferry.notify import send_confirmation
from ferry.payments import charge_card, refund_payment
from ferry.timetable import Sailing
from ferry.weather import check_weather

FULL_REFUND_BEFORE = timedelta(days=2)
HALF_REFUND_BEFORE = timedelta(hours=3)


@dataclass
class Booking:
    """A paid place on a sailing."""

    sailing: Sailing
    passengers: list[Passenger]
    price: Decimal
    payment_id: str
    reference: str = field(default_factory=lambda: uuid4().hex[:8].upper())
    cancelled_at: datetime | None = None

    @property
    def is_active(self) -> bool:
        return self.cancelled_at is None


def create_booking(sailing: Sailing, passengers: list[Passenger], card: str, deck: Deck) -> Booking:
    """Reserve places, take the money, confirm by mail; nothing is reserved when the payment fails."""
    check_weather(sailing)
    price = quote(sailing, passengers)
    with reserve_places(deck, len(passengers)):
        payment_id = charge_card(card, price)
    booking = Booking(sailing, passengers, price, payment_id)
    send_confirmation(booking)
    return booking


def cancel_booking(booking: Booking, now: datetime) -> Decimal:
    """Cancel, and give back what the refund policy allows; returns the amount refunded."""
    if not booking.is_active:
        return Decimal(0)
    amount = refundable_amount(booking, now)
    if amount:
        refund_payment(booking.payment_id, amount)
    booking.cancelled_at = now
    return amount


def refundable_amount(booking: Booking, now: datetime) -> Decimal:
    """All of the price until two days before departure, half of it until three hours before, nothing later."""
    left = booking.sailing.departs_at - now
    if left >= FULL_REFUND_BEFORE:
        return booking.price
    if left >= HALF_REFUND_BEFORE:
        return booking.price / 2
    return Decimal(0)
