"""Definitions by their names: which bear a name, which have a word in theirs; a name of many definitions stands once.

What of a definition is a number stands in columns, so that hundreds of definitions are compared at once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.domain.code import SymbolKind

KINDS: Final = tuple(SymbolKind)
"""A definition's kind is stored as its place in here."""

EXPORTED: Final = 1
TOP_LEVEL: Final = 2

PACKED: Final = np.dtype([("file", ">i4"), ("chunk", ">i4"), ("line", ">i4"), ("kind", ">i2"), ("flags", ">i2")])
"""One definition, as PostgreSQL sends these numbers one after the other."""


class NameGroup(NamedTuple):
    """The definitions of one name: ``packed`` has a record of ``PACKED`` for each, ``qualified`` its qualified name."""

    name: str
    folded: str
    words: tuple[str, ...]
    packed: bytes
    qualified: Sequence[str]


class NameTable:
    """The definitions of one repository. Names and definitions are told by their numbers."""

    def __init__(self, groups: Iterable[NameGroup]) -> None:
        ordered = sorted(groups, key=lambda group: (group.folded, group.name))
        self.names = [group.name for group in ordered]
        self.words = [group.words for group in ordered]
        self._folded = [group.folded for group in ordered]
        self._qualified = [group.qualified for group in ordered]
        counts = np.array([len(group.qualified) for group in ordered], np.int64)
        self._ends = np.cumsum(counts)
        self._starts = self._ends - counts
        self._first: list[int] = self._starts.tolist()
        columns = np.frombuffer(b"".join(group.packed for group in ordered), PACKED)
        self.files: NDArray[np.int32] = columns["file"].astype(np.int32)
        self.chunks: NDArray[np.int32] = columns["chunk"].astype(np.int32)
        self.lines: NDArray[np.int32] = columns["line"].astype(np.int32)
        self.kinds: NDArray[np.uint8] = columns["kind"].astype(np.uint8)
        self.exported: NDArray[np.bool_] = columns["flags"] & EXPORTED > 0
        self.top_level: NDArray[np.bool_] = columns["flags"] & TOP_LEVEL > 0
        self._having = _having(self.words)

    def __len__(self) -> int:
        """How many definitions there are."""
        return len(self.files)

    def bearing(self, folded: Collection[str]) -> list[int]:
        """The names that are one of these, folded."""
        spans = ((bisect_left(self._folded, name), bisect_right(self._folded, name)) for name in sorted(set(folded)))
        return [number for start, end in spans for number in range(start, end)]

    def sharing(self, words: Collection[str]) -> list[int]:
        """The names that are made of one of these words, among others; ascending."""
        places, numbers = self._having
        found = [numbers[slice(*places[word])] for word in words if word in places]
        return np.unique(np.concatenate(found)).tolist() if found else []

    def definitions(self, names: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The definitions of these names, and of each the place of its name in ``names``."""
        starts, counts = self._starts[names], self._ends[names] - self._starts[names]
        at = np.repeat(np.arange(len(counts)), counts)
        first = np.cumsum(counts) - counts
        return np.arange(len(at)) + (starts - first)[at], at

    def qualified(self, name: int, definition: int) -> str:
        """The qualified name of a definition of this name."""
        return self._qualified[name][definition - self._first[name]]


def _having(words: Sequence[Sequence[str]]) -> tuple[Mapping[str, tuple[int, int]], NDArray[np.int32]]:
    """word → where in the second the names stand that have it."""
    numbers: dict[str, int] = {}
    flat = np.array([numbers.setdefault(word, len(numbers)) for name in words for word in name], np.int32)
    owners = np.repeat(np.arange(len(words), dtype=np.int32), [len(name) for name in words])
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat, minlength=len(numbers))
    ends = np.cumsum(counts)
    return dict(zip(numbers, zip((ends - counts).tolist(), ends.tolist(), strict=True), strict=True)), owners[order]


def packed(rows: Sequence[tuple[Any, ...]]) -> bytes:
    """(file id, chunk id, line, kind, flags) of each definition of a name, as ``NameGroup`` has them."""
    return np.array(rows, PACKED).tobytes()
