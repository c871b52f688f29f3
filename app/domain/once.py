"""Work that several retrievers need for one question: the first that asks does it, the others wait for its result."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

T = TypeVar("T")


class Once:
    """Results by name, for as long as a question is answered. What fails or is cancelled is tried again by the next that asks."""

    def __init__(self) -> None:
        self._done: dict[str, object] = {}
        self._locks: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def result(self, name: str, work: Callable[[], Awaitable[T]]) -> T:
        """What ``work`` returned the first time; the same name must always mean the same work."""
        async with self._locks[name]:
            if name not in self._done:
                self._done[name] = await work()
        return cast(T, self._done[name])
