"""Which calls are let in: as many as the database can serve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import structlog

from app.config import Settings
from app.domain.errors import Overloaded
from app.observability import metrics

_NEWEST: Final = 0.1
"""What the newest call counts in the mean of how long a place is held."""

_ROUNDS: Final = 1.5
"""How often the mean time that a place is held somebody may wait, where that is longer than ``wait_ms``: so that twice as many callers
as places are all served, however long a call takes, and nobody's answer takes more than about twice as long."""

_ROUNDS_OF_FEW: Final = 3.0
"""The same while no more wait than there are places: their turn is the next one, and only calls that take unusually long keep it away."""

_LONGEST_SECONDS: Final = 1.0
"""How long somebody waits at most, and also while nobody has told yet how long a place is held."""

_TOLD_SECONDS: Final = 10.0
"""How often the log tells of refusals; each has its line at the request, and a metric counts them."""

_log = structlog.get_logger("app.http")


class NoPlace(Overloaded):
    """Every place is taken, and none became free in time."""

    def __init__(self, places: Places) -> None:
        super().__init__(retry_after=1)
        self.places = places


class Places:
    """A fixed number of places of one kind; who finds none within ``wait_ms``, or a round and a half of calls, is sent away instead of
    queued without end.

    At once, when so many wait already that none would become free in time.
    """

    def __init__(self, kind: str, places: int, wait_ms: int) -> None:
        self._kind = kind
        self._places = places
        self._free = asyncio.Semaphore(places)
        self._wait_seconds = wait_ms / 1_000
        self._waiting = 0
        self._taken = 0
        self._held_seconds = 0.0
        self._held_when_full: float | None = None
        self._refusals = 0
        self._told = 0.0

    @property
    def is_free(self) -> bool:
        """Whether somebody who comes now need not wait."""
        return not self._free.locked()

    @property
    def longest_wait(self) -> float:
        """Seconds: by how long a place would be held if all were taken, since a burst meets others than those who asked alone."""
        if self._held_when_full is None:
            return max(self._wait_seconds, _LONGEST_SECONDS)
        rounds = _ROUNDS_OF_FEW if self._waiting < self._places else _ROUNDS
        return max(self._wait_seconds, min(rounds * self._held_when_full, _LONGEST_SECONDS))

    def check(self) -> None:
        """Raises NoPlace when it is of no use to wait (Little's law: those who wait, by how many are served in a second)."""
        if not self.is_free and self._waiting * self._held_seconds / self._places > self.longest_wait:
            raise self._refusal()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one place; raises NoPlace."""
        self.check()
        patience = self.longest_wait
        self._waiting += 1
        try:
            async with asyncio.timeout(patience):
                await self._free.acquire()
        except TimeoutError:
            raise self._refusal() from None
        finally:
            self._waiting -= 1
        self._taken += 1
        began, beside = perf_counter(), self._taken
        try:
            yield
        finally:
            self._learn(perf_counter() - began, (beside + self._taken) / 2)
            self._taken -= 1
            self._free.release()

    def _learn(self, held: float, beside: float) -> None:
        """``beside``: how many places were taken, its own included; each search takes its share of the processors from the others."""
        self._held_seconds += _NEWEST * (held - self._held_seconds)
        when_full = held * self._places / beside
        before = when_full if self._held_when_full is None else self._held_when_full
        self._held_when_full = before + _NEWEST * (when_full - before)

    def _refusal(self) -> NoPlace:
        self._count()
        self._refusals += 1
        if perf_counter() - self._told > _TOLD_SECONDS:
            _log.warning("no_place", kind=self._kind, refused=self._refusals, places=self._places, waiting=self._waiting)
            self._refusals, self._told = 0, perf_counter()
        return NoPlace(self)

    def _count(self) -> None:
        metrics.count_refused_call(self._kind)


class Admission(Places):
    """The places of searches, each with the connections that a search needs."""

    def __init__(self, places: int, wait_ms: int) -> None:
        super().__init__("searches", places, wait_ms)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one place; raises NoPlace."""
        async with super().place():
            metrics.observe_admission(admitted=True)
            metrics.active_searches(+1)
            try:
                yield
            finally:
                metrics.active_searches(-1)

    def _count(self) -> None:
        metrics.observe_admission(admitted=False)


@dataclass(frozen=True, slots=True)
class Gates:
    """The places of each kind of call, so that no kind takes the connections, the processes or the disk of another."""

    searches: Admission
    lookups: Places
    """Calls with a few short statements."""
    waiting: Places
    """Calls that hold nothing but look again and again."""
    uploads: Places


def gates(settings: Settings) -> Gates:
    """Those of one process."""
    wait_ms, http = settings.search.admission_ms, settings.http
    return Gates(
        searches=Admission(settings.search.concurrency, wait_ms),
        lookups=Places("lookups", http.lookups, wait_ms),
        waiting=Places("waiting", http.waiting, wait_ms),
        uploads=Places("uploads", http.uploads, wait_ms),
    )
