"""The vectors of whole snapshots in memory, so that comparing all of them takes a tenth of the time that the database needs.

Only of snapshots that no embedding is pending for: their vectors do not change, but for those that failed and are tried again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.domain.query import Scope, Snapshot
from app.domain.vectors import BITS, VectorSet
from app.storage.kept import Kept
from app.storage.live_files import LiveFiles
from app.storage.pool import Pool

_WORD_BITS: Final = 64
_BLOCK: Final = 50_000
"""Vectors that are read by one statement, 6 MB."""

VECTORS: Final = """
    SELECT string_agg(int4send(e.chunk_id), '' ORDER BY e.chunk_id) AS ids,
           string_agg(substring(bit_send(e.bits) FROM 5), '' ORDER BY e.chunk_id) AS vectors
    FROM (
        SELECT chunk_id, bits FROM embedding
        WHERE repository_id = $1 AND vector_set = $2 AND chunk_id > $3 AND bits IS NOT NULL
        ORDER BY chunk_id LIMIT $4
    ) e
"""


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a snapshot's chunks: ascending ids (n,), bits as words of 64, shape (bits / 64, n): compared word by word, twice as
    fast as vector by vector."""

    chunks: NDArray[np.int64]
    words: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.chunks)

    def distances(self, packed: bytes) -> NDArray[np.uint16]:
        """Hamming distances from a query's bits, shape (n,)."""
        found = np.zeros(len(self), np.uint16)
        differing, counted = np.empty(len(self), np.uint64), np.empty(len(self), np.uint8)  # again and again: new memory costs as much
        for words, query in zip(self.words, np.frombuffer(packed, np.uint64), strict=True):
            np.bitwise_xor(words, query, out=differing)
            np.bitwise_count(differing, out=counted)
            found += counted
        return found

    def packed(self, at: NDArray[Any]) -> NDArray[np.uint8]:
        """The bits of the vectors at these places, shape (len(at), bits / 8)."""
        found: NDArray[np.uint8] = np.ascontiguousarray(self.words[:, at].T).view(np.uint8)
        return found

    def span(self, first_chunk: int, end: int) -> NDArray[np.uint8]:
        """The bits of the chunks from ``first_chunk`` to before ``end``, shape (n, bits / 8)."""
        return self.packed(np.arange(*np.searchsorted(self.chunks, (first_chunk, end))))


Key: TypeAlias = tuple[int, int, int, int, int, int]


class VectorMemory:
    """Keeps the vectors of the snapshots that were asked for last."""

    def __init__(self, pool: Pool, most_vectors: int) -> None:
        """``most_vectors`` in memory, 136 bytes each; a scope of more is not kept at all."""
        self._pool = pool
        self._most = most_vectors
        self._known: Kept[Key, Vectors] = Kept(len, most_vectors)

    async def of(self, scope: Scope, vectors: VectorSet, live: Mapping[int, LiveFiles]) -> Mapping[int, Vectors] | None:
        """repository id → the vectors of its snapshot's chunks; None when they are not to be had in memory."""
        if any(snapshot.embeddings_pending for snapshot in scope.snapshots) or self._most < sum(s.chunks for s in scope.snapshots):
            return None
        return {s.repository_id: await self._of(s, vectors, live[s.repository_id]) for s in scope.snapshots}

    async def _of(self, snapshot: Snapshot, vectors: VectorSet, live: LiveFiles) -> Vectors:
        changing = (snapshot.embeddings_failed, snapshot.embeddings_withheld)
        key = (snapshot.repository_id, snapshot.branch_id, snapshot.generation, vectors.id, *changing)
        return await self._known.get(key, lambda: self._read(snapshot.repository_id, vectors.id, live))

    async def _read(self, repository_id: int, vector_set: int, live: LiveFiles) -> Vectors:
        ids, words = [np.empty(0, np.int64)], [np.empty((0, BITS // _WORD_BITS), np.uint64)]
        last = -1
        async with self._pool.connection() as connection:
            while True:
                row = await connection.fetchrow(VECTORS, repository_id, vector_set, last, _BLOCK)
                if row is None or row["ids"] is None:
                    break
                block = np.frombuffer(row["ids"], ">i4").astype(np.int64)
                shown = live.shows(block)
                ids.append(block[shown])
                words.append(np.frombuffer(row["vectors"], np.uint64).reshape(len(block), -1)[shown])
                last = int(block[-1])
        return Vectors(np.concatenate(ids), np.ascontiguousarray(np.concatenate(words).T))


def nearest_in(known: Mapping[int, Vectors], packed: bytes, kept: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """(repository id, places in its vectors, nearest first): together the ``kept`` nearest; of equal ones those with lower ids."""
    distances = [vectors.distances(packed) for vectors in known.values()]
    ends = np.cumsum([len(found) for found in distances], dtype=np.int64)
    best = _smallest(np.concatenate(distances), kept) if distances else np.empty(0, np.int64)
    for key, start, end in zip(known, [0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        yield key, best[(best >= start) & (best < end)] - start


def _smallest(distances: NDArray[np.uint16], most: int) -> NDArray[np.int64]:
    """The places of the smallest, in order; of equal ones the first. Counted first, so that only a few are put in order."""
    reached = np.cumsum(np.bincount(distances))
    last = np.searchsorted(reached, most)
    near = np.flatnonzero(distances <= last)
    return near[np.argsort(distances[near], kind="stable")[:most]]
