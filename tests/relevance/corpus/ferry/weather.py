"""Wind and waves: whether a ship may leave."""

from dataclasses import dataclass

from ferry.config import settings
from ferry.errors import SailingCancelled
from ferry.http_client import HttpClient
from ferry.storage.cache import ExpiringCache

_forecasts = ExpiringCache(capacity=64, lifetime_seconds=600)


@dataclass(frozen=True)
class Forecast:
    wind_ms: float
    gust_ms: float
    wave_m: float


def forecast(harbour: str) -> Forecast:
    return _forecasts.get_or_compute(harbour, lambda: Forecast(**HttpClient().request("GET", f"https://weather.example/{harbour}")))


def check_weather(sailing) -> None:
    """Raises SailingCancelled when the storm is too strong for the ship."""
    expected = forecast(sailing.origin)
    if expected.gust_ms > settings().wind_limit_ms or expected.wave_m > 3.5:
        raise SailingCancelled(f"{sailing.ship} stays in harbour: gusts of {expected.gust_ms:.0f} m/s")


def beaufort(wind_ms: float) -> int:
    """Wind speed on the Beaufort scale, 0 to 12."""
    limits = (0.3, 1.6, 3.4, 5.5, 8.0, 10.8, 13.9, 17.2, 20.8, 24.5, 28.5, 32.7)
    return sum(wind_ms >= limit for limit in limits)
