"""Pages of jobs: a cursor is the place of the last job of a page, so that it holds also when that job is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from app.domain.index import Job, JobPlace

PATTERN: Final = r"^[0-9]{1,17}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
EXAMPLE: Final = "1738324798000000-0b9e5c1e-7a57-4c38-9d59-4b8d4d7c5a10"

_BEGIN: Final = datetime(1970, 1, 1, tzinfo=UTC)


def cursor(last: Job) -> str:
    """The cursor of the page that follows this job."""
    return f"{(last.created_at - _BEGIN) // timedelta(microseconds=1)}-{last.id}"


def place(given: str) -> JobPlace:
    """The place that a cursor of the right form names."""
    microseconds, _, job_id = given.partition("-")
    return JobPlace(_BEGIN + timedelta(microseconds=int(microseconds)), job_id)
