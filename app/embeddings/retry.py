"""How long to wait before asking a provider again."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

FIRST_SECONDS: Final = 0.5
LONGEST_SECONDS: Final = 30.0


def backoff(attempt: int) -> float:
    """Seconds before attempt 1, 2, 3 …: doubling, and at random between half and all of that, so that clients do not come back in step."""
    longest = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311  no secret


def retry_after(value: str | None) -> float | None:
    """Seconds that a Retry-After header asks for, as a number or a date; None when it says nothing that can be understood."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds < float("inf") else None
