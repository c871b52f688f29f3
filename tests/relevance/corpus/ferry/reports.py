"""Figures for the office: revenue by month, occupancy by ship, as CSV."""

import csv
from collections import defaultdict
from decimal import Decimal
from io import StringIO


def monthly_revenue(bookings) -> dict[str, Decimal]:
    """Month (2026-05) to what was earned; cancelled trips count for nothing."""
    revenue: dict[str, Decimal] = defaultdict(Decimal)
    for booking in bookings:
        if booking.is_active:
            revenue[f"{booking.sailing.departs_at:%Y-%m}"] += booking.price
    return dict(revenue)


def occupancy(bookings, places: dict[str, int]) -> dict[str, float]:
    """The share of places sold on each ship."""
    sold: dict[str, int] = defaultdict(int)
    for booking in bookings:
        sold[booking.sailing.ship] += len(booking.passengers)
    return {ship: sold[ship] / places[ship] for ship in places}


def to_csv(rows: dict[str, object], heading: tuple[str, str]) -> str:
    out = StringIO()
    writer = csv.writer(out)
    writer.writerow(heading)
    writer.writerows(sorted(rows.items()))
    return out.getvalue()
