"""A small in-memory cache: the least recently used entry goes first, and nothing lives longer than its time."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

V = TypeVar("V")


class ExpiringCache:
    def __init__(self, capacity: int, lifetime_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._entries: OrderedDict[Hashable, tuple[float, object]] = OrderedDict()
        self._capacity = capacity
        self._lifetime = lifetime_seconds
        self._clock = clock

    def get_or_compute(self, key: Hashable, compute: Callable[[], V]) -> V:
        """The cached value, or a new one that is kept from now on."""
        entry = self._entries.get(key)
        if entry and entry[0] > self._clock():
            self._entries.move_to_end(key)
            return entry[1]  # type: ignore[return-value]
        value = compute()
        self._entries[key] = (self._clock() + self._lifetime, value)
        self._entries.move_to_end(key)
        self._evict()
        return value

    def _evict(self) -> None:
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)
