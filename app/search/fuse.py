"""Weighted reciprocal rank fusion over files (Cormack, Clarke, Büttcher, SIGIR 2009), and the chunks behind each file.

    score(file) = Σ over modalities that found it: weight × 1 / (k + rank + 1)

Raw scores of different modalities never mix. The result does not depend on the order in which the retrievers finished.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from typing import overload

from app.domain.query import Modality
from app.domain.ranking import Candidate, ChunkHit, Contribution, Evidence, FileHit, FileKey, RankedList, best_first
from app.search.route import Plan


def weighted_rrf(lists: Mapping[Modality, RankedList], plan: Plan) -> list[Candidate]:
    """The files of all lists, best first; ties in path order."""
    found: dict[FileKey, list[tuple[Contribution, FileHit]]] = defaultdict(list)
    for modality, weight in sorted(plan.modalities):
        files = lists[modality].files if modality in lists else ()
        values = [weight / (plan.k + rank + 1) for rank in range(len(files))]
        contributions = map(Contribution._make, zip(repeat(modality), range(len(files)), repeat(weight), values))
        for contribution, hit in zip(contributions, files, strict=True):
            found[hit.key].append((contribution, hit))
    largest = {modality: _largest_chunk_score(ranked) for modality, ranked in lists.items()}
    return by_score([_fused(parts, largest) for parts in found.values()])


def in_list_order(ranked: RankedList, weight: float) -> list[Candidate]:
    """The files of one list as it stands, with that retriever's own scores, made to fall along the list."""
    scores = accumulate((max(0.0, hit.score) for hit in ranked.files), min)
    return [
        Candidate.found(hit, score, hit.chunks, (Contribution(ranked.modality, rank, weight, score),), hit.features)
        for rank, (hit, score) in enumerate(zip(ranked.files, scores, strict=True))
    ]


def by_score(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; ties in path order, so that the same evidence always gives the same list."""
    return best_first(candidates, lambda candidate: (candidate.key.path, candidate.key.repository_id))


def _largest_chunk_score(ranked: RankedList) -> float:
    return max((chunk.score for file in ranked.files for chunk in file.chunks), default=0.0)


def _fused(parts: Sequence[tuple[Contribution, FileHit]], largest: Mapping[Modality, float]) -> Candidate:
    if len(parts) == 1:
        ((contribution, hit),) = parts
        chunks = _MergedChunks(parts, largest) if hit.chunks else ()
        return Candidate.found(hit, contribution.value, chunks, (contribution,), hit.features)
    contributions = tuple([contribution for contribution, _ in parts])
    features: dict[str, float] = {}
    for _, hit in parts:
        for name, value in hit.features.items():
            if name not in features or value > features[name]:
                features[name] = value
    score = sum([contribution.value for contribution in contributions])
    chunks = _MergedChunks(parts, largest) if any(hit.chunks for _, hit in parts) else ()
    return Candidate.found(parts[0][1], score, chunks, contributions, features)


class _MergedChunks(Sequence[ChunkHit]):
    """The chunks of a file in all lists, at least one, merged when they are first looked at: of hundreds of files an answer shows a few."""

    __slots__ = ("_largest", "_merged", "_parts")

    def __init__(self, parts: Sequence[tuple[Contribution, FileHit]], largest: Mapping[Modality, float]) -> None:
        self._parts = parts
        self._largest = largest
        self._merged: tuple[ChunkHit, ...] | None = None

    def _all(self) -> tuple[ChunkHit, ...]:
        if self._merged is None:
            self._merged = _merged_chunks(self._parts, self._largest)
        return self._merged

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[ChunkHit]:
        return iter(self._all())

    @overload
    def __getitem__(self, at: int) -> ChunkHit: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[ChunkHit, ...]: ...
    def __getitem__(self, at: int | slice) -> ChunkHit | tuple[ChunkHit, ...]:
        return self._all()[at]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and self._all() == tuple(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._all())


def _merged_chunks(parts: Sequence[tuple[Contribution, FileHit]], largest: Mapping[Modality, float]) -> tuple[ChunkHit, ...]:
    """Evidence of the same chunk added up: each modality's score as a part of its best chunk's anywhere."""
    if len(parts) == 1:
        ((contribution, hit),) = parts
        scale = largest[contribution.modality] or 1.0
        merged = [ChunkHit(chunk.chunk_id, max(0.0, chunk.score) / scale, chunk.evidence) for chunk in hit.chunks]
    else:
        merged = _added_up(parts, largest)
    if len(merged) > 1:
        merged.sort(key=lambda chunk: (-chunk.score, chunk.chunk_id))
    return tuple(merged)


def _added_up(parts: Sequence[tuple[Contribution, FileHit]], largest: Mapping[Modality, float]) -> list[ChunkHit]:
    scores: dict[int, float] = {}
    evidence: dict[int, tuple[Evidence, ...]] = {}
    for contribution, hit in parts:
        scale = largest[contribution.modality] or 1.0
        for chunk in hit.chunks:
            scores[chunk.chunk_id] = scores.get(chunk.chunk_id, 0.0) + max(0.0, chunk.score) / scale
            evidence[chunk.chunk_id] = evidence.get(chunk.chunk_id, ()) + chunk.evidence
    return [ChunkHit(chunk_id, score, evidence[chunk_id]) for chunk_id, score in scores.items()]
