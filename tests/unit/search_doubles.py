"""In-memory stand-ins for the ports of the read path, and short builders for its values."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from app.domain.code import PathClass
from app.domain.errors import CursorExpired
from app.domain.files import SkippedFile
from app.domain.query import Classification, Filters, Intent, Modality, QueryTerms, RetrievalQuery, Scope, Snapshot
from app.domain.ranking import Candidate, ChunkHit, ChunkText, Evidence, FileHit, FileKey, FileLink, LineSpan, LoadedChunks, RankedList

TERMS = QueryTerms(single=False, terms={}, words=(), identifiers=(), wholes=frozenset())


def snapshot(repository_id: int = 1, name: str = "acme", **changes: object) -> Snapshot:
    values: dict[str, object] = {
        "repository_id": repository_id,
        "repository": name,
        "branch_id": 1,
        "generation": 3,
        "revision": "9f2c",
        "indexed_at": datetime(2026, 1, 1, tzinfo=UTC),
        "stale": False,
        "files": 100,
        "skipped": 0,
        "chunks": 400,
        "embeddings_pending": 0,
        "files_by_outcome": {"indexed": 100},
    }
    return Snapshot(**(values | changes))  # type: ignore[arg-type]


def hit(
    path: str,
    *chunk_ids: int,
    modality: Modality = Modality.TEXT,
    score: float = 1.0,
    path_class: PathClass = PathClass.SOURCE,
    repository_id: int = 1,
    features: Mapping[str, float] | None = None,
    evidence: Evidence | None = None,
) -> FileHit:
    found = (evidence or Evidence(modality, score),)
    chunks = tuple(ChunkHit(chunk_id, score, found) for chunk_id in chunk_ids or (zlib.crc32(path.encode()),))
    return FileHit(FileKey(repository_id, path), 1, "python", path_class, score, chunks, features or {})


def ranked(modality: Modality, *files: FileHit | str, complete: bool = True, **changes: object) -> RankedList:
    hits = tuple(hit(file, modality=modality, score=1 / (rank + 1)) if isinstance(file, str) else file for rank, file in enumerate(files))
    return RankedList(modality, hits, complete=complete, **changes)  # type: ignore[arg-type]


def retrieval_query(
    text: str = "q",
    intent: Intent = Intent.UNDERSTAND_CODE,
    *,
    operands: tuple[str, ...] = (),
    literal: str | None = None,
    filters: Filters | None = None,
    terms: QueryTerms = TERMS,
) -> RetrievalQuery:
    classification = Classification(intent, 0.9, "rule", operands)
    return RetrievalQuery(text, classification, terms, filters or Filters(), Scope((snapshot(),)), literal, 1_000)


class ListRetriever:
    """Answers every query with one prepared list, or fails as told."""

    def __init__(self, answer: RankedList, *, error: Exception | None = None, seconds: float = 0.0) -> None:
        self.modality = answer.modality
        self.queries: list[RetrievalQuery] = []
        self._answer, self._error, self._seconds = answer, error, seconds

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        self.queries.append(query)
        await asyncio.sleep(self._seconds)
        if self._error:
            raise self._error
        return self._answer


@dataclass
class OneClassification:
    """A classifier that reads every question the same way."""

    answer: Classification

    def classify(self, query: str) -> Classification:
        return self.answer


@dataclass
class FixedSnapshots:
    scope: Scope = field(default_factory=lambda: Scope((snapshot(),)))
    files_in_filters: int = 100

    async def resolve(self, repositories: Sequence[str], revision: str | None = None) -> Scope:
        return self.scope

    async def resolve_pinned(self, generations: Mapping[int, int]) -> Scope:
        if {s.repository_id: s.generation for s in self.scope.snapshots} != dict(generations):
            raise CursorExpired
        return self.scope

    async def skipped_files(self, scope: Scope, most: int) -> tuple[Sequence[SkippedFile], int]:
        skipped = [SkippedFile(s.repository, f"skipped/{n}", "binary") for s in scope.snapshots for n in range(s.skipped)]
        return skipped[:most], len(skipped)

    async def count_files(self, scope: Scope, filters: Filters) -> int:
        return self.files_in_filters


@dataclass
class MemoryChunks:
    """Every chunk exists: ``texts`` by chunk id, one line of filler for the rest; ``missing`` ones are gone."""

    texts: Mapping[int, str] = field(default_factory=dict)
    values: Mapping[tuple[int, int], float] = field(default_factory=dict)
    missing: frozenset[int] = frozenset()
    linked: Sequence[FileLink] = ()
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    found: dict[tuple[int, int], str] = field(default_factory=dict)

    async def centralities(self, scope: Scope, chunks: Sequence[tuple[FileKey, int]]) -> Mapping[tuple[int, int], float]:
        return self.values

    async def links(self, scope: Scope, best: Sequence[Candidate], others: Sequence[Candidate]) -> Sequence[FileLink]:
        return self.linked

    async def defined_names(self, files: Sequence[Candidate]) -> Mapping[FileKey, frozenset[str]]:
        return {candidate.key: self.names.get(candidate.key.path, frozenset()) for candidate in files}

    async def load(
        self,
        scope: Scope,
        chunks: Sequence[tuple[int, int]],
        found: Mapping[tuple[int, int], str] | None = None,
        kinds: Sequence[str] = (),
        others: Sequence[tuple[int, int]] = (),
    ) -> LoadedChunks:
        self.found |= found or {}
        texts, rest = ({place: self._text(*place) for place in places if place[1] not in self.missing} for places in (chunks, others))
        return LoadedChunks(texts, {place: LineSpan(chunk.start_line, chunk.end_line) for place, chunk in rest.items()})

    def _text(self, repository_id: int, chunk_id: int) -> ChunkText:
        text = self.texts.get(chunk_id, f"chunk {chunk_id}")
        return ChunkText(repository_id, chunk_id, 1, 10, 10 + text.count("\n"), text, None)
