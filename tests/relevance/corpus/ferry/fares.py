"""What a trip costs: base fare, discounts, value added tax."""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum

from ferry.timetable import Sailing

VAT = Decimal("0.25")
CENT = Decimal("0.01")


class AgeGroup(Enum):
    INFANT = Decimal("0")
    CHILD = Decimal("0.5")
    ADULT = Decimal("1")
    SENIOR = Decimal("0.75")


@dataclass(frozen=True)
class Passenger:
    name: str
    age: int
    vehicle: str | None = None


def quote(sailing: Sailing, passengers: list[Passenger]) -> Decimal:
    """The price of a trip for everyone together, tax included."""
    net = sum((passenger_fare(sailing, passenger) for passenger in passengers), Decimal(0))
    return add_vat(net * group_discount(len(passengers)))


def passenger_fare(sailing: Sailing, passenger: Passenger) -> Decimal:
    fare = sailing.base_fare * age_group(passenger.age).value
    if passenger.vehicle:
        fare += vehicle_surcharge(passenger.vehicle)
    return fare


def age_group(age: int) -> AgeGroup:
    if age < 3:
        return AgeGroup.INFANT
    if age < 16:
        return AgeGroup.CHILD
    return AgeGroup.SENIOR if age >= 67 else AgeGroup.ADULT


def group_discount(size: int) -> Decimal:
    """Ten per cent off for ten or more."""
    return Decimal("0.9") if size >= 10 else Decimal(1)


def vehicle_surcharge(vehicle: str) -> Decimal:
    return {"bicycle": Decimal(20), "motorcycle": Decimal(80), "car": Decimal(150), "lorry": Decimal(600)}[vehicle]


def add_vat(amount: Decimal) -> Decimal:
    """Value added tax on top, rounded to whole cents."""
    return (amount * (1 + VAT)).quantize(CENT, ROUND_HALF_UP)
