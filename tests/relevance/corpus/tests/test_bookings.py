from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from ferry.bookings import Booking, cancel_booking, create_booking, refundable_amount
from ferry.capacity import Deck
from ferry.errors import Overbooked
from ferry.fares import Passenger
from ferry.timetable import Sailing

NOON = datetime(2026, 5, 1, 12)
SAILING = Sailing(NOON, "Havnby", "Sild", "Frisia", Decimal(100))


def booking() -> Booking:
    return Booking(SAILING, [Passenger("Ada", 36)], Decimal(125), "pay-1")


@pytest.mark.parametrize(("before", "amount"), [(timedelta(days=3), 125), (timedelta(hours=5), 62.5), (timedelta(minutes=10), 0)])
def test_refund_policy(before, amount):
    assert refundable_amount(booking(), NOON - before) == Decimal(str(amount))


def test_cancel_booking_twice_refunds_once(monkeypatch):
    refunds = []
    monkeypatch.setattr("ferry.bookings.refund_payment", lambda *arguments: refunds.append(arguments))
    mine = booking()
    cancel_booking(mine, NOON - timedelta(days=3))
    cancel_booking(mine, NOON - timedelta(days=3))
    assert len(refunds) == 1


def test_create_booking_fails_when_the_deck_is_full():
    with pytest.raises(Overbooked):
        create_booking(SAILING, [Passenger("Ada", 36)], "4111", Deck("car", places=0))
