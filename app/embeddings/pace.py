"""The rate that a provider allows: requests and tokens per minute, shared by every thread of the process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class Pace:
    """Two token buckets that hold six seconds' worth, and a pause when the provider asks for one."""

    def __init__(self, requests_per_minute: int, tokens_per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        now = clock()
        self._requests = _Bucket(requests_per_minute / 60, now)
        self._tokens = _Bucket(tokens_per_minute / 60, now)
        self._paused_until = now

    def reserve(self, tokens: int, most_seconds: float) -> float | None:
        """Seconds to wait before a request of so many tokens may be sent; None, and nothing reserved, when that is more than
        ``most_seconds``."""
        with self._lock:
            now = self._clock()
            wait = max(self._paused_until - now, self._requests.wait(1, now), self._tokens.wait(tokens, now), 0.0)
            if wait > most_seconds:
                return None
            self._requests.take(1)
            self._tokens.take(tokens)
            return wait

    def pause(self, seconds: float) -> None:
        """Nothing is sent for so long: the provider said so."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock() + seconds)


class _Bucket:
    """May be overdrawn by one request, however large; the next one waits until that is made up for."""

    def __init__(self, per_second: float, now: float) -> None:
        self._per_second = per_second
        self._burst = max(1.0, per_second * 6)
        self._left = self._burst
        self._at = now

    def wait(self, amount: float, now: float) -> float:
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        return max(0.0, (min(amount, self._burst) - self._left) / self._per_second)

    def take(self, amount: float) -> None:
        self._left -= amount
