"""How much a key may ask for: a token bucket of requests and a number of requests at the same time, in this process.

A library's windows let a client send twice its share around their edge, or keep every request; a bucket is two numbers a key. Several API
processes count each for itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from time import monotonic
from typing import Final

from app.config import AccessSettings
from app.domain.errors import TooManyRequests

WINDOW_SECONDS: Final = 60


@dataclass(slots=True)
class _Share:
    """What is left of a key's share; ``tokens`` at the time ``at``."""

    tokens: float
    at: float
    active: int = 0


class Limits:
    """The shares of all keys that were used in this process."""

    def __init__(self, settings: AccessSettings) -> None:
        self._quota = settings.requests_per_minute
        self._most_active = settings.concurrency
        self._shares: dict[str, _Share] = {}

    @contextmanager
    def place(self, key_id: str) -> Iterator[None]:
        """One of the requests that a key may have answered at the same time. Raises TooManyRequests."""
        share = self._share(key_id)
        if self._most_active and share.active >= self._most_active:
            raise TooManyRequests(f"at most {self._most_active} requests of a key are answered at the same time", retry_after=1)
        share.active += 1
        try:
            yield
        finally:
            share.active -= 1

    def take(self, key_id: str, requests: int = 1) -> None:
        """Take so many requests off the key's share. Raises TooManyRequests, and then takes none."""
        if not self._quota:
            return
        share = self._share(key_id)
        if share.tokens < requests:
            wait = ceil((min(requests, self._quota) - share.tokens) * WINDOW_SECONDS / self._quota)
            raise TooManyRequests(f"a key may send {self._quota:,} requests in {WINDOW_SECONDS} seconds", retry_after=max(1, wait))
        share.tokens -= requests

    def headers(self, key_id: str) -> dict[str, str]:
        """RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers-11): what is left, and until when all is there again."""
        if not self._quota:
            return {}
        left = self._share(key_id).tokens
        reset = ceil((self._quota - left) * WINDOW_SECONDS / self._quota)
        return {"RateLimit-Policy": f'"key";q={self._quota};w={WINDOW_SECONDS}', "RateLimit": f'"key";r={int(left)};t={reset}'}

    def _share(self, key_id: str) -> _Share:
        """The share as it is now."""
        now = monotonic()
        share = self._shares.setdefault(key_id, _Share(self._quota, now))
        share.tokens = min(self._quota, share.tokens + (now - share.at) * self._quota / WINDOW_SECONDS)
        share.at = now
        return share
