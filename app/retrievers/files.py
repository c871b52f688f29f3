"""From scored chunks to a ranked list of files: every retriever ranks files by their best chunks before fusion.

Measured in 7-ranking.md ("file coherence"): a geometric sum of a file's best chunks ranks better than its single best chunk and far better
than the sum of all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from app.domain.code import PathClass
from app.domain.ranking import ChunkHit, FileHit, FileKey, best_first

BEST_CHUNKS = 5


class FoundChunk(NamedTuple):
    """One chunk found by SQL, with what its file is."""

    key: FileKey
    file_id: int
    language: str | None
    path_class: PathClass
    hit: ChunkHit


def coherent_sum(scores: Sequence[float], decay: float) -> float:
    """Σ of the five best scores, the i-th times ``decay ** i``."""
    if len(scores) == 1:  # most files have one
        return scores[0]
    return sum([score * decay**i for i, score in enumerate(sorted(scores, reverse=True)[:BEST_CHUNKS])])


def group_by_file(found: Iterable[FoundChunk]) -> dict[FileKey, list[FoundChunk]]:
    """The chunks of each file, best first; hits of the same chunk are merged."""
    by_file: dict[FileKey, list[FoundChunk]] = defaultdict(list)
    for item in found:
        by_file[item.key].append(item)
    return {key: _best_first(chunks) if len(chunks) > 1 else chunks for key, chunks in by_file.items()}


def _best_first(chunks: Iterable[FoundChunk]) -> list[FoundChunk]:
    by_id: dict[int, FoundChunk] = {}
    for item in chunks:
        known = by_id.get(item.hit.chunk_id)
        by_id[item.hit.chunk_id] = item if known is None else _merge(known, item)
    return sorted(by_id.values(), key=lambda item: (-item.hit.score, item.hit.chunk_id))


def _merge(first: FoundChunk, second: FoundChunk) -> FoundChunk:
    hit = ChunkHit(first.hit.chunk_id, max(first.hit.score, second.hit.score), first.hit.evidence + second.hit.evidence)
    return FoundChunk(first.key, first.file_id, first.language, first.path_class, hit)


def file_hit(chunks: list[FoundChunk], score: float, features: Mapping[str, float] | None = None) -> FileHit:
    """The entry of a file whose chunks are given best first."""
    return FileHit._make((*chunks[0][:4], score, tuple([item.hit for item in chunks]), features or {}))


def ranked(files: Iterable[FileHit]) -> tuple[FileHit, ...]:
    """Best first; of equal scores source before tests and the rest, then the order of paths, so that the answer is always the same."""
    return tuple(best_first(files, lambda file: (file.path_class is not PathClass.SOURCE, file.key.path, file.key.repository_id)))
