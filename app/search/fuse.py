"""Weighted reciprocal rank fusion over files (Cormack, Clarke, Büttcher, SIGIR 2009), and the chunks behind each file.

    score(file) = Σ over modalities that found it: weight × 1 / (k + rank + 1)

Raw scores of different modalities never mix. The result does not depend on the order in which the retrievers finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, repeat
from typing import TypeAlias, overload

from app.domain.query import Modality
from app.domain.ranking import Candidate, ChunkHit, Contribution, Evidence, FileHit, FileKey, RankedList, best_first
from app.search.route import Plan

Part: TypeAlias = tuple[Contribution, FileHit]
"""What one list says of a file."""


def weighted_rrf(lists: Mapping[Modality, RankedList], plan: Plan) -> list[Candidate]:
    """The files of all lists, best first; ties in path order."""
    found: dict[FileKey, tuple[Part, ...]] = {}
    for modality, weight in sorted(plan.modalities):
        files = lists[modality].files if modality in lists else ()
        values = [weight / (plan.k + rank + 1) for rank in range(len(files))]
        contributions = map(Contribution._make, zip(repeat(modality), range(len(files)), repeat(weight), values))
        for part in zip(contributions, files, strict=True):
            key = part[1].key
            found[key] = (*found[key], part) if key in found else (part,)
    largest = {modality: _largest_chunk_score(ranked) for modality, ranked in lists.items()}
    return by_score([_fused(parts, largest) if len(parts) > 1 else _alone(*parts[0]) for parts in found.values()])


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
    return max([file.chunks[0].score for file in ranked.files if file.chunks], default=0.0)


def _alone(contribution: Contribution, hit: FileHit) -> Candidate:
    """What one list has found, as most files are: its chunks are in order."""
    return Candidate.found(hit, contribution.value, hit.chunks, (contribution,), hit.features)


def _fused(parts: tuple[Part, ...], largest: Mapping[Modality, float]) -> Candidate:
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

    def __init__(self, parts: Sequence[Part], largest: Mapping[Modality, float]) -> None:
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


def _merged_chunks(parts: Sequence[Part], largest: Mapping[Modality, float]) -> tuple[ChunkHit, ...]:
    """Evidence of the same chunk added up: each modality's score as a part of its best chunk's anywhere."""
    scores: dict[int, float] = {}
    evidence: dict[int, tuple[Evidence, ...]] = {}
    for contribution, hit in parts:
        scale = largest[contribution.modality] or 1.0
        for chunk in hit.chunks:
            scores[chunk.chunk_id] = scores.get(chunk.chunk_id, 0.0) + max(0.0, chunk.score) / scale
            evidence[chunk.chunk_id] = evidence.get(chunk.chunk_id, ()) + chunk.evidence
    merged = [ChunkHit(chunk_id, score, evidence[chunk_id]) for chunk_id, score in scores.items()]
    merged.sort(key=lambda chunk: (-chunk.score, chunk.chunk_id))
    return tuple(merged)
