"""What comes back: hits of retrievers, fused files, results with their evidence.

What an answer has hundreds of is a named tuple: made and copied in a third of the time of a frozen dataclass. Where hundreds are made or
changed at once that is done by ``_make``, in columns: a call by names takes three times as long, ``_replace`` eight times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, repeat
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from app.domain.code import PathClass
from app.domain.query import Classification, Filters, Modality, Position, Preset, Scope, Strategy

NO_FEATURES: Final[Mapping[str, float]] = MappingProxyType({})


class FileKey(NamedTuple):
    """The identity over which evidence adds up."""

    repository_id: int
    path: str


class Evidence(NamedTuple):
    """Why a retriever returned a chunk. Only the fields that the modality knows are set."""

    modality: Modality
    score: float
    relation: str | None = None
    edge_class: str | None = None
    line: int | None = None
    distance: int | None = None
    symbol: str | None = None
    fuzzy: bool = False
    via: tuple[str, ...] = ()

    @classmethod
    def column(cls, modality: Modality, scores: Iterable[float], relation: str) -> Iterator[Evidence]:
        """One for each score, of which nothing else is known."""
        return map(cls._make, zip(repeat(modality), scores, repeat(relation), *map(repeat, (None, None, None, None, False, ()))))


class ChunkHit(NamedTuple):
    """One chunk found by one retriever, with the lines it matched."""

    chunk_id: int
    score: float
    evidence: tuple[Evidence, ...]

    @classmethod
    def column(cls, chunk_ids: Iterable[int], scores: Iterable[float], evidence: Iterable[Evidence]) -> Iterator[ChunkHit]:
        """One for each, with one piece of evidence."""
        return map(cls._make, zip(chunk_ids, scores, zip(evidence, strict=True), strict=True))


class FileHit(NamedTuple):
    """One file in a retriever's list: its chunks, best first, and the raw features that rescoring reads."""

    key: FileKey
    file_id: int
    language: str | None
    path_class: PathClass
    score: float
    chunks: tuple[ChunkHit, ...]
    features: Mapping[str, float] = NO_FEATURES


@dataclass(frozen=True, slots=True)
class RankedList:
    """What one retriever hands over: files best first. ``complete`` is false when more matched than were read.

    ``resume``: where the rest begins, when the files are a part of a list in path order.
    """

    modality: Modality
    files: tuple[FileHit, ...]
    took_ms: float = 0.0
    complete: bool = True
    total_files: int | None = None
    total_lines: int | None = None
    warnings: tuple[str, ...] = ()
    resume: Position | None = None


@dataclass(frozen=True, slots=True)
class Degradation:
    """A retriever that failed or ran out of time; the others still answer."""

    modality: Modality
    reason: str


class Contribution(NamedTuple):
    """One modality's part in a file's fused score: ``weight / (k + rank + 1) × boost``."""

    modality: Modality
    rank: int
    weight: float
    value: float

    @classmethod
    def column(cls, modality: Modality, weight: float, values: Iterable[float]) -> list[Contribution]:
        """Those of a list, in its order."""
        return list(map(cls._make, zip(repeat(modality), count(), repeat(weight), values)))


class Candidate(NamedTuple):
    """A file on its way through fusion, boost, demotion and de-duplication. ``chunks`` are best first."""

    key: FileKey
    file_id: int
    language: str | None
    path_class: PathClass
    score: float
    chunks: Sequence[ChunkHit]
    contributions: tuple[Contribution, ...] = ()
    centrality: float = 0.0
    boost: float = 1.0
    demotion: float = 1.0
    demotion_reason: str | None = None
    features: Mapping[str, float] = NO_FEATURES
    rescored: float | None = None

    @classmethod
    def column(cls, hits: Sequence[FileHit], contributions: Sequence[Contribution]) -> list[Candidate]:
        """Files as one list has found them, neither boosted nor demoted yet, each with what that list contributes."""
        if not hits:
            return []
        keys, file_ids, languages, path_classes, _, chunks, features = zip(*hits, strict=True)
        scores = [contribution.value for contribution in contributions]
        found = (keys, file_ids, languages, path_classes, scores, chunks, zip(contributions, strict=True))
        return list(map(cls._make, zip(*found, *map(repeat, (0.0, 1.0, 1.0, None)), features, repeat(None))))

    def boosted(self, centrality: float, factor: float) -> Candidate:
        """With a score that is ``factor`` times as high, and all that it is made of."""
        contributions = tuple([Contribution._make((*part[:3], part.value * factor)) for part in self.contributions])
        return Candidate._make((*self[:4], self.score * factor, self.chunks, contributions, centrality, factor, *self[9:]))

    @classmethod
    def demoted(cls, candidates: Iterable[Candidate], factors: Iterable[float], reasons: Iterable[str | None]) -> list[Candidate]:
        """Each with a score that is its factor times as high, and why."""
        pairs = zip(candidates, factors, reasons, strict=True)
        return [
            c if reason is None else cls._make((*c[:4], c.score * factor, *c[5:9], factor, reason, *c[11:])) for c, factor, reason in pairs
        ]

    def with_rescored(self, features: Mapping[str, float], rescored: float) -> Candidate:
        """With the features that were summed, and their sum."""
        return Candidate._make((*self[:11], features, rescored))


Scored = TypeVar("Scored", FileHit, Candidate)
_SCORE: Final = attrgetter("score")


def best_first(found: Iterable[Scored], otherwise: Callable[[Scored], Any]) -> list[Scored]:
    """By score; those of equal score by ``otherwise``, of which few are asked: paths are slow to compare."""
    ordered = sorted(found, key=_SCORE, reverse=True)
    start = 0
    for equal in Counter(map(_SCORE, ordered)).values():  # in the order of the list
        if equal > 1:
            ordered[start : start + equal] = sorted(ordered[start : start + equal], key=otherwise)
        start += equal
    return ordered


class FileLink(NamedTuple):
    """How many edges of the dependency graph lead from one file to another of the same repository."""

    source: FileKey
    target: FileKey
    edges: int


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A chunk as stored, for display. ``symbol`` is the definition the chunk shows best."""

    repository_id: int
    chunk_id: int
    file_id: int
    start_line: int
    end_line: int
    text: str
    symbol: SymbolSummary | None


@dataclass(frozen=True, slots=True)
class SymbolSummary:
    """The definition a result shows. ``id`` is stable over re-indexing (16 hex digits)."""

    id: str
    name: str
    qualified: str
    kind: str
    signature: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Highlight:
    """A matched span: 1-based line; start and end are 0-based, half-open, in code points of that line."""

    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LineSpan:
    start_line: int
    end_line: int


class LoadedChunks(NamedTuple):
    """Chunks by (repository_id, chunk_id): those that are shown, and the lines of those of which nothing else is."""

    texts: Mapping[tuple[int, int], ChunkText]
    spans: Mapping[tuple[int, int], LineSpan]


@dataclass(frozen=True, slots=True)
class FileCopy:
    """Another file whose chunk has the same text as the one shown."""

    repository: str
    path: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """One entry of the answer."""

    chunk_id: str
    repository: str
    revision: str
    path: str
    language: str | None
    path_class: PathClass
    start_line: int
    end_line: int
    symbol: SymbolSummary | None
    snippet: str
    snippet_start_line: int
    snippet_truncated: bool
    highlights: tuple[Highlight, ...]
    score: float
    evidence: tuple[Evidence, ...]
    more_in_file: tuple[LineSpan, ...]
    copies: tuple[FileCopy, ...] = ()
    explanation: Mapping[str, object] | None = None
    permalink: str = ""
    """Where these lines can be read as they were indexed."""


@dataclass(frozen=True, slots=True)
class ModalityRun:
    """What one retriever did for this answer."""

    modality: Modality
    weight: float
    hits: int
    took_ms: float


@dataclass(frozen=True, slots=True)
class Routing:
    """How the answer was found."""

    classification: Classification
    strategy: Strategy
    preset: Preset
    modalities: tuple[ModalityRun, ...]
    fallback_from: Strategy | None = None
    rescored: bool = False
    degraded: tuple[Degradation, ...] = ()
    unavailable: tuple[Modality, ...] = ()
    """Retrievers that this service does not have, and that would have been asked."""


@dataclass(frozen=True, slots=True)
class Total:
    """How many results there are before paging; ``exact`` is false when that is a lower bound."""

    results: int
    lines: int | None
    exact: bool


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning of the answer: a stable code and a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The whole answer; the HTTP and CLI layers only render it. ``in_english``: words of the question were looked for in English, too."""

    query: str
    text: str
    filters: Filters
    routing: Routing
    results: tuple[SearchResult, ...]
    total: Total
    relevance: str
    partial: bool
    next_cursor: str | None
    scope: Scope
    warnings: tuple[Notice, ...]
    absence: Mapping[str, object] | None
    took_ms: float
    expression: str | None = None
    in_english: bool = False
