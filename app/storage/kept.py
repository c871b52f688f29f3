"""Values that are read once and kept in memory up to a size, the least recently used going first."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

import structlog

from app.storage.pool import StoreClosed

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_log = structlog.get_logger(__name__)


class Kept(Generic[K, V]):
    """A cache whose values are read in the background: a caller who gives up at a deadline does not stop the reading for the next."""

    def __init__(self, size_of: Callable[[V], int], most: int) -> None:
        """``most``: of the sizes in all; one value is kept whatever its size."""
        self._size_of = size_of
        self._most = most
        self._known: OrderedDict[K, V] = OrderedDict()
        self._reading: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, read: Callable[[], Awaitable[V]]) -> V:
        """The value, read by one of those who ask for it at the same time; raises what ``read`` raises, and then it is read anew."""
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        return await asyncio.shield(self._begun(key, read))

    def ready(self, key: K, read: Callable[[], Awaitable[V]]) -> V | None:
        """The value if it is in memory; else None, and it is read for those who ask later. A reading that fails is logged."""
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        if key not in self._reading:
            self._begun(key, read).add_done_callback(_log_failure)
        return None

    def _begun(self, key: K, read: Callable[[], Awaitable[V]]) -> asyncio.Task[V]:
        if key not in self._reading:
            task = asyncio.ensure_future(self._read(key, read))
            self._reading[key] = task
            task.add_done_callback(lambda done: self._done(key, done))
        return self._reading[key]

    async def _read(self, key: K, read: Callable[[], Awaitable[V]]) -> V:
        value = await read()
        self._known[key] = value
        size = sum(self._size_of(known) for known in self._known.values())
        while size > self._most and len(self._known) > 1:
            size -= self._size_of(self._known.popitem(last=False)[1])
        return value

    def _done(self, key: K, task: asyncio.Task[V]) -> None:
        del self._reading[key]
        if not task.cancelled():
            task.exception()  # every caller who still waits is told of it


def _log_failure(task: asyncio.Task[V]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None and not isinstance(error, StoreClosed):
        _log.warning("not_kept_in_memory", error=repr(error))
