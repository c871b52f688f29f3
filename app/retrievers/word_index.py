"""BM25 over the word index: the postings of a question's words are read bucket by bucket and added up in arrays.

idf is ``ln(1 + (N - n + .5) / (n + .5))`` over the chunks of the generation that is read: other branches and what is indexed meanwhile
change neither the scores nor the pages of an answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.bm25 import WEIGHTS, inverse_frequency
from app.domain.query import Scope
from app.observability import metrics
from app.storage.engine import Reads
from app.storage.live_files import LiveFiles
from app.storage.posting_memory import Bucket, PostingMemory
from app.storage.posting_rows import HASH_BITS, Entries, entries_by_term, files_by_term, term_hash

# A segment without any of the words counts too: for the number of files in all.
BUCKETS: Final = f"""
    SELECT w.repository_id, w.segment_id, w.first_chunk, w.chunk_span, w.files, {{columns}}
    FROM (
        SELECT DISTINCT s.repository_id, s.segment_id, s.first_chunk, s.chunk_span, s.files,
               (h.hash >> ({HASH_BITS} - s.bits))::int AS bucket
        FROM segment s LEFT JOIN unnest($2::bigint[]) AS h(hash) ON true
        WHERE s.repository_id = ANY($1::int[])
    ) w
    LEFT JOIN posting p ON p.repository_id = w.repository_id AND p.segment_id = w.segment_id AND p.bucket = w.bucket
"""
_ENTRIES: Final = BUCKETS.format(columns="p.terms, p.counts, p.entries")
_COUNTS: Final = BUCKETS.format(columns="p.terms, p.counts, NULL AS entries")


@dataclass(frozen=True, slots=True)
class ScoredChunks:
    """Chunks with a score above 0, in no order: arrays of equal length."""

    repositories: NDArray[np.int32]
    chunks: NDArray[np.int64]
    scores: NDArray[np.float32]

    def best(self, most: int) -> ScoredChunks:
        """The ``most`` best, best first."""
        chosen = np.argpartition(-self.scores, most)[:most] if len(self.scores) > most else np.arange(len(self.scores))
        chosen = chosen[np.argsort(-self.scores[chosen], kind="stable")]
        return ScoredChunks(self.repositories[chosen], self.chunks[chosen], self.scores[chosen])


@dataclass(slots=True)
class _Segment:
    first_chunk: int
    span: int
    entries: dict[str, Entries]


class WordIndex:
    """The word index, read from memory or the database."""

    def __init__(self, memory: PostingMemory) -> None:
        self._memory = memory

    async def score_chunks(self, reads: Reads, scope: Scope, live: Mapping[int, LiveFiles], terms: Mapping[str, float]) -> ScoredChunks:
        """Every chunk that has one of the ``terms``, which have weights. ``live``: repository id → what is shown of it."""
        return _added_up(await self._buckets(reads, scope, terms, _ENTRIES), live, terms)

    async def count_files(self, reads: Reads, scope: Scope, words: Collection[str]) -> Mapping[int, WordFiles]:
        """repository id → in how many files these words and those stored beside them occur; replaced content counts too."""
        return _counted(await self._buckets(reads, scope, words, _COUNTS))

    async def _buckets(self, reads: Reads, scope: Scope, words: Iterable[str], statement: str) -> Iterable[Bucket]:
        hashes = [term_hash(word) for word in words]
        segments = self._memory.of(scope)
        metrics.count_ranking_reads("postings", in_memory=segments is not None)
        if segments is not None:
            return (bucket for kept in segments.values() for segment in kept for bucket in segment.having(hashes))
        rows = await reads.fetch(statement, [snapshot.repository_id for snapshot in scope.snapshots], hashes)
        return (Bucket(*row) for row in rows)


def _added_up(buckets: Iterable[Bucket], live: Mapping[int, LiveFiles], terms: Mapping[str, float]) -> ScoredChunks:
    repositories: dict[int, dict[int, _Segment]] = defaultdict(dict)
    wanted = frozenset(terms)
    for bucket in buckets:
        segment = repositories[bucket.repository_id].setdefault(bucket.segment_id, _Segment(bucket.first_chunk, bucket.chunk_span, {}))
        if bucket.terms is not None and bucket.counts is not None and bucket.entries is not None:
            for term, entries in entries_by_term(bucket.terms, bucket.counts, bucket.entries, wanted).items():
                segment.entries[term] = _shown(entries, segment.first_chunk, live[bucket.repository_id])
    found = [
        (np.full(len(chunks), repository_id, np.int32), chunks, scores)
        for repository_id, segments in repositories.items()
        for chunks, scores in _scored(list(segments.values()), live[repository_id].chunks, terms)
    ]
    if not found:
        return ScoredChunks(np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.float32))
    return ScoredChunks(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _shown(entries: Entries, first_chunk: int, live: LiveFiles) -> Entries:
    """Those of chunks that are shown."""
    ids, codes = entries
    shown = live.shows(ids.astype(np.int64) + first_chunk)
    return (ids, codes) if shown.all() else (ids[shown], codes[shown])


def _scored(
    segments: Sequence[_Segment], total: int, terms: Mapping[str, float]
) -> Iterable[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Per segment of a repository the ids and scores of its chunks, of ``total`` in all."""
    having = {term: sum(len(segment.entries[term][0]) for segment in segments if term in segment.entries) for term in terms}
    values = {term: WEIGHTS * np.float32(weight * inverse_frequency(total, having[term])) for term, weight in terms.items()}
    for segment in segments:
        if segment.entries:
            scores = np.zeros(segment.span, np.float32)
            for term in terms:  # in one order, wherever the buckets come from: sums of floats depend on it
                if term in segment.entries:
                    ids, codes = segment.entries[term]
                    scores[ids] += values[term][codes]
            at = np.flatnonzero(scores)
            yield at + segment.first_chunk, scores[at]


@dataclass(frozen=True, slots=True)
class WordFiles:
    """Of one repository: the files in all, and for each word that was read the files that have it."""

    total: int
    files: Mapping[str, int]


NO_FILES: Final = WordFiles(0, {})


def _counted(buckets: Iterable[Bucket]) -> Mapping[int, WordFiles]:
    totals: dict[int, dict[int, int]] = defaultdict(dict)
    files: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for bucket in buckets:
        totals[bucket.repository_id][bucket.segment_id] = bucket.files
        if bucket.terms is not None and bucket.counts is not None:
            for word, count in files_by_term(bucket.terms, bucket.counts).items():
                files[bucket.repository_id][word] += count
    return {key: WordFiles(sum(segments.values()), files[key]) for key, segments in totals.items()}
