"""What ranking reads of whole generations, in memory.

A published generation never changes. It is read beside the first search that asks for it, which does not wait and asks the database.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from app.domain.query import GenerationKey, Scope, Snapshot
from app.storage.engine import Connection
from app.storage.kept import Kept
from app.storage.pool import Pool

MOST_CHUNKS: Final = 400_000
"""Of a scope that is kept: more take seconds to read."""

V = TypeVar("V")


def ready_of_all(scope: Scope, ready: Callable[[Snapshot], V | None]) -> Mapping[int, V] | None:
    """repository id → what is ``ready`` of its snapshot; None while one is missing. All are asked for: what is missing is begun."""
    found = {snapshot.repository_id: ready(snapshot) for snapshot in scope.snapshots}
    known = {key: value for key, value in found.items() if value is not None}
    return known if len(known) == len(found) else None


class GenerationMemory(ABC, Generic[V]):
    """Keeps something of the generations that were asked for last; the one that was asked for longest ago goes first."""

    def __init__(self, pool: Pool, size_of: Callable[[V], int], most: int) -> None:
        """``most``: of the sizes of all generations in memory."""
        self._pool = pool
        self._known: Kept[GenerationKey, V] = Kept(size_of, most)
        self._turn = asyncio.Lock()

    def of(self, scope: Scope) -> Mapping[int, V] | None:
        """repository id → what is kept of its snapshot; None while one is not in memory, and where they are too large for it."""
        if sum(snapshot.chunks for snapshot in scope.snapshots) > MOST_CHUNKS:
            return None
        return ready_of_all(scope, self._of)

    @abstractmethod
    async def read(self, connection: Connection, key: GenerationKey) -> V:
        """All of a generation."""

    def _of(self, snapshot: Snapshot) -> V | None:
        return self._known.ready(snapshot.key, lambda: self._read(snapshot.key))

    async def _read(self, key: GenerationKey) -> V:
        async with self._turn, self._pool.beside() as connection:  # one at a time: the connections are for searches
            return await self.read(connection, key)
