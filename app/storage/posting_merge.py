"""Writes a repository's postings anew as one segment, without those of dead chunks.

Goes through the hashes of terms range by range, so that only a part of the postings is in memory at a time.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import asyncpg
import numpy as np
from numpy.typing import NDArray

from app.domain.analysis import Postings
from app.storage.binary_copy import fetch_columns
from app.storage.engine import Connection
from app.storage.posting_rows import Entries, bucket_of, entries_by_term, posting_rows

RANGE_BITS: Final = 3
"""A range of hashes is so many bits' worth of buckets of the largest segment, but no less than an eighth of all."""

_MOST_RANGE_BITS: Final = 8

LIVE_CHUNKS: Final = "SELECT chunk_id, file_id FROM chunk WHERE repository_id = $1 ORDER BY chunk_id"
SEGMENTS: Final = "SELECT segment_id, first_chunk, bits FROM segment WHERE repository_id = $1 AND segment_id < $2 ORDER BY first_chunk"

# A segment has more or fewer buckets than there are ranges: those within the range, or the one that it lies in.
BUCKETS: Final = """
    SELECT p.segment_id, p.terms, p.counts, p.entries
    FROM segment s
    JOIN posting p ON p.repository_id = s.repository_id AND p.segment_id = s.segment_id
        AND p.bucket >= CASE WHEN s.bits >= $3::int THEN $4::int << (s.bits - $3) ELSE $4::int >> ($3 - s.bits) END
        AND p.bucket < CASE WHEN s.bits >= $3::int THEN ($4::int + 1) << (s.bits - $3) ELSE ($4::int >> ($3 - s.bits)) + 1 END
    WHERE s.repository_id = $1 AND s.segment_id < $2
    ORDER BY s.first_chunk
"""


@dataclass(frozen=True, slots=True)
class _Live:
    """The chunks that are still there, ascending, and their files."""

    chunks: NDArray[Any]
    files: NDArray[Any]

    def of(self, chunks: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these ids are among them."""
        at = np.searchsorted(self.chunks, chunks)
        found: NDArray[np.bool_] = self.chunks[np.minimum(at, len(self.chunks) - 1)] == chunks
        return found

    def count_files(self, chunks: NDArray[np.int64]) -> int:
        """In how many files these ascending ids lie; the ids of a file are consecutive."""
        files = self.files[np.searchsorted(self.chunks, chunks)]
        return int(np.count_nonzero(np.diff(files))) + 1


async def merge_segments(connection: Connection, repository_id: int, segment_id: int) -> None:
    """Make ``segment_id`` the only segment; in the caller's transaction, which holds the repository's lock."""
    chunks, files = await fetch_columns(connection, LIVE_CHUNKS, (repository_id,), (">i4", ">i4"))
    segments = {row["segment_id"]: row for row in await connection.fetch(SEGMENTS, repository_id, segment_id)}
    if len(chunks) and segments:
        live = _Live(chunks.astype(np.int64), files)
        bits = max(row["bits"] for row in segments.values())
        range_bits = min(_MOST_RANGE_BITS, max(bits - RANGE_BITS, min(bits, RANGE_BITS)))
        first, last = int(live.chunks[0]), int(live.chunks[-1])
        for number in range(1 << range_bits):
            rows = await connection.fetch(BUCKETS, repository_id, segment_id, range_bits, number)
            postings = await asyncio.to_thread(_merged, rows, segments, live, range_bits, number)
            await connection.copy_records_to_table("posting", records=posting_rows(repository_id, segment_id, first, bits, postings))
        record = (repository_id, segment_id, len(np.unique(files)), len(chunks), first, last - first + 1, bits)
        await connection.copy_records_to_table("segment", records=[record])
    for table in ("posting", "segment"):
        await connection.execute(f"DELETE FROM {table} WHERE repository_id = $1 AND segment_id < $2", repository_id, segment_id)


def _merged(rows: Sequence[asyncpg.Record], segments: dict[int, asyncpg.Record], live: _Live, range_bits: int, number: int) -> Postings:
    """The postings of the range's terms; of a bucket that is larger than the range the other terms are left out."""
    parts: dict[str, list[Entries]] = defaultdict(list)
    for row in rows:
        first, whole = segments[row["segment_id"]]["first_chunk"], segments[row["segment_id"]]["bits"] >= range_bits
        for term, (ids, codes) in entries_by_term(row["terms"], row["counts"], row["entries"]).items():
            if whole or bucket_of(term, range_bits) == number:
                kept = live.of(chunks := ids.astype(np.int64) + first)
                if kept.any():
                    parts[term].append((chunks[kept], codes[kept]))
    terms = sorted(parts)
    chunks = [np.concatenate([ids for ids, _ in parts[term]]) for term in terms]
    return Postings(
        terms=tuple(terms),
        files=np.array([live.count_files(ids) for ids in chunks], np.int64),
        ends=np.cumsum([len(ids) for ids in chunks], dtype=np.int64),
        chunks=np.concatenate(chunks).astype(np.int32) if chunks else np.empty(0, np.int32),
        codes=np.concatenate([codes for term in terms for _, codes in parts[term]]) if terms else np.empty(0, np.uint8),
    )
