"""The word index in the store: a segment's terms in buckets by their hash, a bucket being one row.

Most terms occur in one or two chunks, so that a row per term would be mostly overhead: in buckets the index takes a fifth. A term's
bucket is found without an index of terms: the first ``bits`` bits of its CRC-32, ``bits`` being the segment's own.

    terms     the bucket's terms, one per line
    counts    for each term (files, entries), little-endian uint32
    entries   the chunk ids of all terms, counted from the segment's first one, uint16 or else uint32; then their weights, one byte each
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from app.domain.analysis import Postings

BUCKET_TERMS: Final = 64
"""Terms in a bucket on average: about two kilobytes."""

HASH_BITS: Final = 32
_MOST_BITS: Final = 24

PostingRow = tuple[int, int, int, str, bytes, bytes]
"""A row of the table ``posting``."""

Entries = tuple[NDArray[Any], NDArray[np.uint8]]
"""Chunk ids counted from the segment's first, and their coded weights."""


def bucket_bits(terms: int) -> int:
    """How many bits of the hash tell the buckets of a segment with so many terms apart."""
    return min(_MOST_BITS, max(0, terms // BUCKET_TERMS).bit_length())


def term_hash(term: str) -> int:
    """32 bits, the first of which tell the bucket."""
    return crc32(term.encode())


def bucket_of(term: str, bits: int) -> int:
    """The bucket of a term."""
    return term_hash(term) >> (HASH_BITS - bits)


def posting_rows(repository_id: int, segment_id: int, first_chunk: int, bits: int, postings: Postings) -> Iterator[PostingRow]:
    """The rows of these postings, which are all that the segment has of their buckets."""
    if not postings.terms:
        return
    buckets = np.array([bucket_of(term, bits) for term in postings.terms], np.int64)
    order = np.argsort(buckets, kind="stable")
    starts = np.concatenate(([0], postings.ends[:-1]))
    lengths = (postings.ends - starts)[order]
    ends = np.cumsum(lengths)
    entries = np.arange(ends[-1]) + np.repeat(starts[order] - (ends - lengths), lengths)
    offsets, codes = (postings.chunks - first_chunk)[entries], postings.codes[entries]
    counts = np.stack([postings.files[order], lengths], axis=1).astype("<u4")
    terms = [postings.terms[i] for i in order.tolist()]
    bounds = [0, *(np.flatnonzero(np.diff(buckets[order])) + 1).tolist(), len(terms)]
    for begin, end in pairwise(bounds):
        span = slice(0 if begin == 0 else int(ends[begin - 1]), int(ends[end - 1]))
        ids = offsets[span]
        yield (
            repository_id,
            segment_id,
            int(buckets[order[begin]]),
            "\n".join(terms[begin:end]),
            counts[begin:end].tobytes(),
            ids.astype("<u2" if ids.max() < 1 << 16 else "<u4").tobytes() + codes[span].tobytes(),
        )


def files_by_term(terms: str, counts: bytes) -> dict[str, int]:
    """Each term of a bucket → the files of the segment that have it."""
    return dict(zip(terms.split("\n"), np.frombuffer(counts, "<u4")[::2].tolist(), strict=True))


def entries_by_term(terms: str, counts: bytes, entries: bytes, wanted: frozenset[str] | None = None) -> dict[str, Entries]:
    """Each term of a bucket → its entries; only those that are ``wanted``, if given."""
    ends = np.cumsum(np.frombuffer(counts, "<u4")[1::2], dtype=np.int64)
    total = int(ends[-1])
    ids = np.frombuffer(entries, "<u2" if len(entries) == 3 * total else "<u4", total)
    codes = np.frombuffer(entries, np.uint8)[-total:]
    spans: Sequence[tuple[str, int, int]] = list(zip(terms.split("\n"), [0, *ends[:-1].tolist()], ends.tolist(), strict=True))
    return {term: (ids[start:end], codes[start:end]) for term, start, end in spans if wanted is None or term in wanted}
