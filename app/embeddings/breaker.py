"""A circuit breaker: a provider that keeps failing is left alone for a while, so that nobody waits for its timeouts."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from app.domain.errors import EmbedderUnavailable


class Breaker:
    """Closed until ``failures`` calls in a row fail; then open for ``seconds``; then one call is let through to try."""

    def __init__(self, failures: int = 5, seconds: float = 15.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._closed_at = clock()

    def admit(self) -> None:
        """Raises EmbedderUnavailable while the breaker is open."""
        with self._lock:
            left = self._closed_at - self._clock()
            if self._failed < self._most:
                return
            if left > 0:
                raise EmbedderUnavailable(
                    f"the provider of embeddings failed {self._failed} times in a row and is left alone for {math.ceil(left)} s",
                    retry_after=math.ceil(left),
                )
            self._closed_at = self._clock() + self._seconds  # this call tries; the others wait for what it finds

    def succeeded(self) -> None:
        with self._lock:
            self._failed = 0

    def failed(self) -> None:
        with self._lock:
            self._failed += 1
            self._closed_at = self._clock() + self._seconds
