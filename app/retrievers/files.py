"""From scored chunks to a ranked list of files: every retriever ranks files by their best chunks before fusion.

Measured in 7-ranking.md ("file coherence"): a geometric sum of a file's best chunks ranks better than its single best chunk and far better
than the sum of all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
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


def coherent_sum(scores: Iterable[float], decay: float) -> float:
    """Σ of the five best scores, the i-th times ``decay ** i``."""
    best = sorted(scores, reverse=True)[:BEST_CHUNKS]
    return best[0] if len(best) == 1 else sum([score * decay**i for i, score in enumerate(best)])  # most files have one


def group_by_file(found: Iterable[FoundChunk]) -> dict[FileKey, list[FoundChunk]]:
    """The chunks of each file, best first; hits of the same chunk are merged."""
    chunks: dict[FileKey, dict[int, FoundChunk]] = defaultdict(dict)
    for item in found:
        known = chunks[item.key].get(item.hit.chunk_id)
        chunks[item.key][item.hit.chunk_id] = item if known is None else _merge(known, item)
    return {key: _best_first(by_id.values()) for key, by_id in chunks.items()}


def _best_first(chunks: Collection[FoundChunk]) -> list[FoundChunk]:
    return list(chunks) if len(chunks) == 1 else sorted(chunks, key=lambda item: (-item.hit.score, item.hit.chunk_id))


def _merge(first: FoundChunk, second: FoundChunk) -> FoundChunk:
    hit = ChunkHit(first.hit.chunk_id, max(first.hit.score, second.hit.score), first.hit.evidence + second.hit.evidence)
    return FoundChunk(first.key, first.file_id, first.language, first.path_class, hit)


def file_hit(chunks: list[FoundChunk], score: float, features: Mapping[str, float] | None = None) -> FileHit:
    """The entry of a file whose chunks are given best first."""
    first = chunks[0]
    return FileHit(first.key, first.file_id, first.language, first.path_class, score, tuple(item.hit for item in chunks), features or {})


def ranked(files: Iterable[FileHit]) -> tuple[FileHit, ...]:
    """Best first; of equal scores source before tests and the rest, then the order of paths, so that the answer is always the same."""
    return tuple(best_first(files, lambda file: (file.path_class is not PathClass.SOURCE, file.key.path, file.key.repository_id)))
