from datetime import datetime
from decimal import Decimal

from ferry.fares import Passenger, add_vat, age_group, group_discount, passenger_fare, quote, vehicle_surcharge
from ferry.timetable import Sailing

SAILING = Sailing(datetime(2026, 5, 1, 12), "Havnby", "Sild", "Frisia", Decimal(100))


def test_quote_adds_value_added_tax():
    assert quote(SAILING, [Passenger("Ada", 36)]) == Decimal("125.00")


def test_add_vat_rounds_half_up():
    assert add_vat(Decimal("0.02")) == Decimal("0.03")


def test_children_pay_half_and_infants_nothing():
    assert passenger_fare(SAILING, Passenger("Bo", 10)) == 50
    assert passenger_fare(SAILING, Passenger("Cy", 1)) == 0


def test_group_discount_starts_at_ten():
    assert group_discount(9) == 1
    assert group_discount(10) == Decimal("0.9")


def test_vehicle_surcharge_and_age_group():
    assert vehicle_surcharge("car") == 150
    assert age_group(67).name == "SENIOR"
