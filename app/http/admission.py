"""Which calls are let in: as many as the database can serve."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.config import Settings
from app.domain.errors import Overloaded
from app.observability import metrics


class Places:
    """A fixed number of places of one kind; who finds none within ``wait_ms`` is sent away instead of queued without end."""

    def __init__(self, kind: str, places: int, wait_ms: int) -> None:
        self._kind = kind
        self._free = asyncio.Semaphore(places)
        self._wait_seconds = wait_ms / 1_000

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one place; raises Overloaded."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._free.acquire()
        except TimeoutError:
            self._refused()
            raise Overloaded(retry_after=1) from None
        try:
            yield
        finally:
            self._free.release()

    def _refused(self) -> None:
        metrics.count_refused_call(self._kind)


class Admission(Places):
    """The places of searches, each with the connections that a search needs."""

    def __init__(self, places: int, wait_ms: int) -> None:
        super().__init__("searches", places, wait_ms)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one place; raises Overloaded."""
        async with super().place():
            metrics.observe_admission(admitted=True)
            metrics.active_searches(+1)
            try:
                yield
            finally:
                metrics.active_searches(-1)

    def _refused(self) -> None:
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
