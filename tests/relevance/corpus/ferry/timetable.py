"""When ships leave: regular departures, holidays, the next one from a harbour."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal

HOLIDAYS = {(1, 1), (12, 24), (12, 25), (12, 26)}


@dataclass(frozen=True, order=True)
class Sailing:
    """One departure of one ship."""

    departs_at: datetime
    origin: str
    destination: str
    ship: str
    base_fare: Decimal


@dataclass(frozen=True)
class Line:
    """A regular service: the same times every weekday, fewer on Sundays."""

    origin: str
    destination: str
    ship: str
    weekday_times: tuple[time, ...]
    sunday_times: tuple[time, ...]
    base_fare: Decimal

    def sailings_on(self, day: date) -> list[Sailing]:
        if is_holiday(day):
            return []
        times = self.sunday_times if day.weekday() == 6 else self.weekday_times
        return [Sailing(datetime.combine(day, at), self.origin, self.destination, self.ship, self.base_fare) for at in times]


def is_holiday(day: date) -> bool:
    return (day.month, day.day) in HOLIDAYS


def next_sailing(lines: Iterable[Line], origin: str, after: datetime) -> Sailing | None:
    """The first departure from a harbour after a moment, looking at most a week ahead."""
    lines = [line for line in lines if line.origin == origin]
    for offset in range(8):
        day = after.date() + timedelta(days=offset)
        candidates = [sailing for line in lines for sailing in line.sailings_on(day) if sailing.departs_at > after]
        if candidates:
            return min(candidates)
    return None
