"""What a search answers with. A field that does not apply is null, never absent."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.domain.code import EdgeClass, PathClass
from app.domain.query import Intent, Modality, Preset, Relation, Strategy


class Shape(BaseModel):
    """Part of an answer: attribute docstrings are its descriptions."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ParsedQuery(Shape):
    """What was understood of the query text."""

    text: str
    """The question without its filters."""
    expression: str | None = None
    """The boolean expression, with all its parentheses, where the query is one."""
    filters: dict[str, Any]
    """The filters in force, from the text and the request; only those that differ from the default."""


class ModalityShape(Shape):
    """One retriever's share. `hits` and `took_ms` are null in a classification, which runs none."""

    name: Modality
    weight: float
    hits: int | None
    took_ms: float | None


class DegradedShape(Shape):
    """A retriever that failed or ran out of time while the others answered."""

    modality: Modality
    reason: str


class RoutingShape(Shape):
    """How the question was read and which way it went."""

    intent: Intent
    confidence: float
    rule: str
    """The rule that fired."""
    operands: list[str]
    """The symbols or literals found in the question; retrievers get the first."""
    operand_missing: bool
    """The intent needs an operand and the question names none."""
    relation: Relation | None
    """The one kind of use that the question asks for. Where the index knows of none, all uses are listed."""
    outgoing: bool
    """The question asks what the operand uses, instead of what uses it."""
    fusion_strategy: Strategy
    fallback_from: Strategy | None
    """The strategy that found nothing before this one was tried."""
    rescored: bool
    preset: Preset
    modalities: list[ModalityShape]
    degraded: list[DegradedShape]
    unavailable: list[Modality]
    """Retrievers that would have been asked and that this service does not have: `semantic` where no embedder is configured."""


class SymbolShape(Shape):
    """The definition a result shows; its id survives re-indexing."""

    id: str
    name: str
    kind: str
    signature: str
    qualified: str
    start_line: int
    end_line: int


class HighlightShape(Shape):
    """A match: 1-based line; start and end are 0-based, half-open, in code points of that line."""

    line: int
    start: int
    end: int


class EvidenceShape(Shape):
    """Why a retriever returned this result."""

    model_config = ConfigDict(populate_by_name=True)

    modality: Modality
    relation: str | None
    edge_class: EdgeClass | None = Field(alias="class", description="How far a graph edge can be trusted: exact, likely or possible.")
    line: int | None
    distance: int | None
    score: float
    symbol: str | None
    fuzzy: bool
    via: list[str]


class SpanShape(Shape):
    start_line: int
    end_line: int


class CopyShape(Shape):
    """Another file that holds the same text as the chunk shown."""

    repository: str
    path: str


class ResultShape(Shape):
    """One result: the best chunk of a file."""

    chunk_id: str
    """Names the chunk in `like` and `unlike`; the same until the file changes."""
    repository: str
    revision: str
    path: str
    language: str | None
    path_class: PathClass
    start_line: int
    end_line: int
    symbol: SymbolShape | None
    snippet: str
    snippet_start_line: int
    snippet_truncated: bool
    permalink: str
    """These lines as they were indexed: at the forge of the repository's remote if that is known, else at `/v1/files` of this service."""
    highlights: list[HighlightShape]
    score: float
    score_kind: str
    """Whose score this is: `fusion`, `rescoring`, or the retriever whose order the list keeps. Different kinds do not compare."""
    evidence: list[EvidenceShape]
    more_in_file: list[SpanShape]
    copies: list[CopyShape]
    """With `dedupe: content`, the files whose results were merged into this one."""
    explanation: Mapping[str, Any] | None
    """Every rank, weight, contribution, boost and demotion, when asked for by `explain`."""


class CountShape(Shape):
    """Entries of the whole list, before paging."""

    results: int
    relation: Literal["exact", "lower_bound"]
    """`lower_bound`: there may be more."""


class TotalShape(CountShape):
    """Results before paging; matching lines for a literal or a regex."""

    lines: int | None


class IndexShape(Shape):
    """The published index that this answer was read from; stale when a newer revision is known."""

    repository: str
    revision: str
    generation: int
    indexed_at: datetime
    stale: bool


class CoverageShape(Shape):
    """What the searched indexes hold and what they left out."""

    files: int
    skipped: int
    embeddings_pending: int
    """Chunks that the search by meaning does not see yet."""
    embeddings_failed: int
    """Chunks that could not be embedded."""
    embeddings_withheld: int
    """Chunks that hold a secret and were not sent to a provider; the other retrievers find them."""
    by_outcome: dict[str, int]


class WarningShape(Shape):
    code: str
    message: str


_ROUTING_EXAMPLE: Final[dict[str, Any]] = {
    "intent": "find_references",
    "confidence": 0.9,
    "rule": "who_calls",
    "operands": ["parse_config"],
    "operand_missing": False,
    "relation": None,
    "outgoing": False,
    "fusion_strategy": "direct",
    "fallback_from": None,
    "rescored": False,
    "preset": "balanced",
    "modalities": [{"name": "graph", "weight": 0.5, "hits": 7, "took_ms": 2.1}],
    "degraded": [],
    "unavailable": [],
}

CLASSIFY_EXAMPLE: Final[dict[str, Any]] = _ROUTING_EXAMPLE | {
    "modalities": [{"name": "graph", "weight": 0.5, "hits": None, "took_ms": None}]
}

ANSWER_EXAMPLE: Final[dict[str, Any]] = {
    "query": "who calls parse_config",
    "parsed_query": {"text": "who calls parse_config", "expression": None, "filters": {}},
    "routing": _ROUTING_EXAMPLE,
    "results": [
        {
            "chunk_id": "c7-1234",
            "repository": "api",
            "revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345",
            "path": "app/boot.py",
            "language": "python",
            "path_class": "source",
            "start_line": 41,
            "end_line": 58,
            "symbol": {
                "id": "5d41402abc4b2a76",
                "name": "boot",
                "kind": "function",
                "signature": "def boot(path: Path) -> App",
                "qualified": "boot",
                "start_line": 41,
                "end_line": 58,
            },
            "snippet": "def boot(path: Path) -> App:\n    settings = load()\n\n    config = parse_config(path)",
            "snippet_start_line": 41,
            "snippet_truncated": False,
            "permalink": "/v1/files?repository=api&path=app%2Fboot.py&revision=9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345&lines=41-58",
            "highlights": [{"line": 44, "start": 13, "end": 25}],
            "score": 1.0,
            "score_kind": "graph",
            "evidence": [
                {
                    "modality": "graph",
                    "relation": "calls",
                    "class": "exact",
                    "line": 44,
                    "distance": 1,
                    "score": 1.0,
                    "symbol": "boot",
                    "fuzzy": False,
                    "via": [],
                }
            ],
            "more_in_file": [{"start_line": 90, "end_line": 97}],
            "copies": [],
            "explanation": None,
        }
    ],
    "total": {"results": 1, "lines": None, "relation": "exact"},
    "relevance": "strong",
    "partial": False,
    "next_cursor": None,
    "index": [
        {
            "repository": "api",
            "revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345",
            "generation": 12,
            "indexed_at": "2025-01-31T12:00:00Z",
            "stale": False,
        }
    ],
    "coverage": {
        "files": 412,
        "skipped": 3,
        "embeddings_pending": 0,
        "embeddings_failed": 0,
        "embeddings_withheld": 1,
        "by_outcome": {"indexed": 398, "text_only": 14},
    },
    "absence": None,
    "warnings": [],
    "took_ms": 3.4,
}


class ClassifyAnswer(RoutingShape):
    """The reading of a question and the route that a search would take."""

    model_config = ConfigDict(json_schema_extra={"examples": [CLASSIFY_EXAMPLE]})


class AnswerShape(Shape):
    """The whole answer to a search."""

    model_config = ConfigDict(json_schema_extra={"examples": [ANSWER_EXAMPLE]})

    query: str
    parsed_query: ParsedQuery
    routing: RoutingShape
    results: list[ResultShape]
    total: TotalShape
    relevance: str
    """`none`, `weak` or `strong`: how much evidence the best result has."""
    partial: bool
    """A deadline cut the search short."""
    next_cursor: str | None
    """Pass as `cursor` for the next page; null on the last one."""
    index: list[IndexShape]
    coverage: CoverageShape
    absence: Mapping[str, Any] | None
    """For an empty answer: whether absence is proven, and over how many files."""
    warnings: list[WarningShape]
    took_ms: float
