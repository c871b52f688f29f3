"""Settings, read from the environment once."""

import os
from dataclasses import dataclass
from functools import lru_cache

from ferry.errors import ConfigError


@dataclass(frozen=True)
class Settings:
    database_url: str
    gateway_url: str
    secret: str
    mail_from: str
    wind_limit_ms: float


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Raises ConfigError naming every variable that is missing."""
    return parse_config(os.environ)


def parse_config(environment) -> Settings:
    missing = [name for name in ("FERRY_DATABASE_URL", "FERRY_GATEWAY_URL", "FERRY_SECRET") if not environment.get(name)]
    if missing:
        raise ConfigError("missing settings: " + ", ".join(missing))
    return Settings(
        database_url=environment["FERRY_DATABASE_URL"],
        gateway_url=environment["FERRY_GATEWAY_URL"],
        secret=environment["FERRY_SECRET"],
        mail_from=environment.get("FERRY_MAIL_FROM", "tickets@ferry.example"),
        wind_limit_ms=float(environment.get("FERRY_WIND_LIMIT", "20")),
    )
