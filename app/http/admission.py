"""Which searches are let in: as many as the database can serve, for as long as their client listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import Request

from app.domain.errors import Overloaded
from app.observability import metrics

T = TypeVar("T")


class ClientGone(Exception):
    """The client closed its connection; nobody reads the answer."""


class Admission:
    """A fixed number of places; who finds none within ``wait_ms`` is sent away instead of queued without end."""

    def __init__(self, places: int, wait_ms: int) -> None:
        self._places = asyncio.Semaphore(places)
        self._wait_seconds = wait_ms / 1_000

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Hold one place; raises Overloaded."""
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._places.acquire()
        except TimeoutError:
            metrics.observe_admission(admitted=False)
            raise Overloaded(retry_after=1) from None
        metrics.observe_admission(admitted=True)
        metrics.active_searches(+1)
        try:
            yield
        finally:
            metrics.active_searches(-1)
            self._places.release()


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
