"""Which calls are let in: as many as the database can serve, for as long as their client listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request

from app.config import Settings
from app.domain.errors import Overloaded
from app.observability import metrics

T = TypeVar("T")


class ClientGone(Exception):
    """The client closed its connection; nobody reads the answer."""


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


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is cancelled when the client goes away; raises ClientGone then."""
    task = asyncio.ensure_future(work)
    watch = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait({task, watch}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        task.cancel()
        watch.cancel()
        await asyncio.gather(task, watch, return_exceptions=True)


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
