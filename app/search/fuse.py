"""Weighted reciprocal rank fusion over files (Cormack, Clarke, Büttcher, SIGIR 2009), and the chunks behind each file.

    score(file) = Σ over modalities that found it: weight × 1 / (k + rank + 1)

Raw scores of different modalities never mix. The result does not depend on the order in which the retrievers finished.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import overload

from app.domain.query import Modality
from app.domain.ranking import Candidate, ChunkHit, Contribution, Evidence, FileKey, RankedList, best_first
from app.search.route import Plan


def weighted_rrf(lists: Mapping[Modality, RankedList], plan: Plan, *, single: bool = False) -> list[Candidate]:
    """The files of all lists, best first; ties in path order. Of a ``single`` name a file shows the definition."""
    found: dict[FileKey, tuple[Candidate, ...]] = {}
    for modality, weight in sorted(plan.modalities):
        files = lists[modality].files if modality in lists else ()
        values = [weight / (plan.k + rank + 1) for rank in range(len(files))]
        for candidate in Candidate.column(files, Contribution.column(modality, weight, values)):
            found[candidate.key] = (*found[candidate.key], candidate) if candidate.key in found else (candidate,)
    largest = {modality: _largest_chunk_score(ranked) for modality, ranked in lists.items()}
    return by_score([_fused(parts, largest, single=single) if len(parts) > 1 else parts[0] for parts in found.values()])


def in_list_order(ranked: RankedList, weight: float) -> list[Candidate]:
    """The files of one list as it stands, with that retriever's own scores, made to fall along the list."""
    scores = accumulate((max(0.0, hit.score) for hit in ranked.files), min)
    return Candidate.column(ranked.files, Contribution.column(ranked.modality, weight, scores))


def by_score(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; ties in path order, so that the same evidence always gives the same list."""
    return best_first(candidates, lambda candidate: (candidate.key.path, candidate.key.repository_id))


def _largest_chunk_score(ranked: RankedList) -> float:
    return max([file.chunks[0].score for file in ranked.files if file.chunks], default=0.0)


def _fused(parts: Sequence[Candidate], largest: Mapping[Modality, float], *, single: bool) -> Candidate:
    """One file of what several lists have found of it."""
    features: dict[str, float] = {}
    for part in parts:
        for name, value in part.features.items():
            if name not in features or value > features[name]:
                features[name] = value
    contributions = tuple([contribution for part in parts for contribution in part.contributions])
    score = sum([part.score for part in parts])
    chunks = _MergedChunks(parts, largest, single=single) if any(part.chunks for part in parts) else ()
    return Candidate._make((*parts[0][:4], score, chunks, contributions, *parts[0][7:11], features, None))


class _MergedChunks(Sequence[ChunkHit]):
    """The chunks of a file in all lists, at least one, merged when they are first looked at: of hundreds of files an answer shows a few."""

    __slots__ = ("_largest", "_merged", "_parts", "_single")

    def __init__(self, parts: Sequence[Candidate], largest: Mapping[Modality, float], *, single: bool) -> None:
        self._parts = parts
        self._largest = largest
        self._single = single
        self._merged: tuple[ChunkHit, ...] | None = None

    def _all(self) -> tuple[ChunkHit, ...]:
        if self._merged is None:
            self._merged = _merged_chunks(self._parts, self._largest, definition_first=self._single)
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


def _merged_chunks(parts: Sequence[Candidate], largest: Mapping[Modality, float], *, definition_first: bool) -> tuple[ChunkHit, ...]:
    """Evidence of the same chunk added up: each modality's score as a part of its best chunk's anywhere."""
    scores: dict[int, float] = {}
    evidence: dict[int, tuple[Evidence, ...]] = {}
    for part in parts:
        scale = largest[part.contributions[0].modality] or 1.0
        for chunk in part.chunks:
            scores[chunk.chunk_id] = scores.get(chunk.chunk_id, 0.0) + max(0.0, chunk.score) / scale
            evidence[chunk.chunk_id] = evidence.get(chunk.chunk_id, ()) + chunk.evidence
    merged = [ChunkHit(chunk_id, score, evidence[chunk_id]) for chunk_id, score in scores.items()]
    merged.sort(key=lambda chunk: (-_defining(chunk) if definition_first else 0.0, -chunk.score, chunk.chunk_id))
    return tuple(merged)


def _defining(chunk: ChunkHit) -> float:
    """How well a name that the chunk defines fits; 0 for one that defines none."""
    return max([part.score for part in chunk.evidence if part.relation == "definition"], default=0.0)
