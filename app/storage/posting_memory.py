"""The word index of the repositories that are asked for, in memory, as it is stored: bytes of buckets.

A segment never changes; segments are added and replaced. Those that are there when a generation is read have all its chunks for as long as
it may be read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple
from weakref import WeakValueDictionary

import asyncpg

from app.domain.query import GenerationKey
from app.storage.engine import Connection
from app.storage.generation_memory import GenerationMemory
from app.storage.pool import Pool
from app.storage.posting_rows import HASH_BITS

MOST_BYTES: Final = 256_000_000
"""Of all generations in memory, about 400 for each chunk; the one that was asked for longest ago goes first."""

SEGMENTS: Final = "SELECT segment_id, first_chunk, chunk_span, files, bits FROM segment WHERE repository_id = $1 ORDER BY segment_id"
BUCKETS_OF_ALL: Final = "SELECT bucket, terms, counts, entries FROM posting WHERE repository_id = $1 AND segment_id = $2"

_BYTES_OF_A_BUCKET: Final = 350
"""Of a bucket's objects, beside its content."""


class Bucket(NamedTuple):
    """A bucket of a segment, with what the segment is; without ``terms`` where it has no such bucket."""

    repository_id: int
    segment_id: int
    first_chunk: int
    chunk_span: int
    files: int
    terms: str | None
    counts: bytes | None
    entries: bytes | None


class _Content(NamedTuple):
    terms: str
    counts: bytes
    entries: bytes


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Segment:
    """All buckets of one segment of the word index."""

    repository_id: int
    segment_id: int
    first_chunk: int
    chunk_span: int
    files: int
    bits: int
    buckets: Mapping[int, _Content]
    size: int

    def having(self, hashes: Iterable[int]) -> Iterator[Bucket]:
        """The buckets of these hashes, each once; one without terms where there are none, for the files that the segment has in all."""
        segment = (self.repository_id, self.segment_id, self.first_chunk, self.chunk_span, self.files)
        wanted = {value >> (HASH_BITS - self.bits) for value in hashes}
        found = [self.buckets[bucket] for bucket in wanted if bucket in self.buckets]
        return (Bucket(*segment, *content) for content in found or (_NOTHING,))


_NOTHING: Final = (None, None, None)


class PostingMemory(GenerationMemory[tuple[Segment, ...]]):
    """Keeps the segments of the generations that were asked for last."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, lambda kept: sum(segment.size for segment in kept), MOST_BYTES)
        self._segments: WeakValueDictionary[tuple[int, int], Segment] = WeakValueDictionary()

    async def read(self, connection: Connection, key: GenerationKey) -> tuple[Segment, ...]:
        """See GenerationMemory; all segments that there are."""
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            rows = await connection.fetch(SEGMENTS, key[0])
            return tuple([await self._segment(connection, key[0], row) for row in rows])

    async def _segment(self, connection: Connection, repository_id: int, described: asyncpg.Record) -> Segment:
        segment_id, first_chunk, chunk_span, files, bits = described
        if (known := self._segments.get((repository_id, segment_id))) is not None:
            return known
        rows = await connection.fetch(BUCKETS_OF_ALL, repository_id, segment_id)
        buckets = {row["bucket"]: _Content(row["terms"], row["counts"], row["entries"]) for row in rows}
        size = sum(_BYTES_OF_A_BUCKET + sum(map(len, content)) for content in buckets.values())
        segment = Segment(repository_id, segment_id, first_chunk, chunk_span, files, bits, buckets, size)
        self._segments[repository_id, segment_id] = segment
        return segment
