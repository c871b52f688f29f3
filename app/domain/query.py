"""What is asked: the request, its classification and the index it is answered from."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from app.domain.once import Once

if TYPE_CHECKING:  # numpy and re2, which a parser process has no use for
    from app.domain.expression import Expression
    from app.domain.vectors import VectorSet


class Modality(StrEnum):
    """The four ways to find code."""

    SEMANTIC = "semantic"
    TEXT = "text"
    STRUCTURAL = "structural"
    GRAPH = "graph"


class Intent(StrEnum):
    """What a question wants."""

    FIND_DEFINITION = "find_definition"
    FIND_REFERENCES = "find_references"
    UNDERSTAND_CODE = "understand_code"
    FIND_SIMILAR = "find_similar"
    IMPACT_ANALYSIS = "impact_analysis"
    EXACT_MATCH = "exact_match"


class Preset(StrEnum):
    """How much work a search may do."""

    QUICK = "quick"
    BALANCED = "balanced"
    THOROUGH = "thorough"


class Strategy(StrEnum):
    """How the answer's list came about."""

    SINGLE = "single"
    DIRECT = "direct"
    WEIGHTED_RRF = "weighted_rrf"


class Dedupe(StrEnum):
    """One result per file, one per distinct content, or every chunk."""

    FILE = "file"
    CONTENT = "content"
    NONE = "none"


class Relation(StrEnum):
    """A kind of use that a question asks for: who inherits from X, and not who uses it in whatever way."""

    CALLS = "calls"
    INHERITS = "inherits"
    IMPLEMENTS = "implements"
    OVERRIDES = "overrides"
    IMPORTS = "imports"
    INSTANTIATES = "instantiates"
    DECORATES = "decorates"


@dataclass(frozen=True, slots=True)
class Classification:
    """The classifier's reading of a query. ``operands`` are in order of importance; retrievers get the first.

    ``outgoing``: of a question for uses, whether it asks what the operand uses, instead of what uses it.
    """

    intent: Intent
    confidence: float
    rule: str
    operands: tuple[str, ...] = ()
    operand_missing: bool = False
    relation: Relation | None = None
    outgoing: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    """What a result must satisfy. Globs are git's; in a list of paths, languages or repositories a leading ``!`` excludes.

    ``include_*`` lift the demotion of a class. ``without``: strings that the chunk of a result must not hold, in any case unless ``case``.
    ``case``: True in the case given, False in any; None in the case given, and in any where a question's string occurs in no other.
    """

    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    include_tests: bool = False
    include_docs: bool = False
    include_vendor: bool = False
    case: bool | None = None
    regex: bool = False
    word: bool = False
    without: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search as the caller asked for it, already validated."""

    query: str
    repositories: tuple[str, ...] = ()
    preset: Preset = Preset.BALANCED
    modalities: tuple[Modality, ...] = ()
    literal: bool = False
    filters: Filters = field(default_factory=Filters)
    limit: int = 10
    cursor: str | None = None
    dedupe: Dedupe = Dedupe.FILE
    snippet_lines: int | None = None
    max_bytes: int | None = None
    timeout_ms: int | None = None
    explain: bool = False
    rescore: bool = True
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    scope: str | None = None
    min_revision: str | None = None
    """Answer only from an index that contains this revision; ``wait`` seconds for it."""
    wait: float = 0.0


GenerationKey: TypeAlias = tuple[int, int, int]
"""Repository id, branch id, generation."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One published generation of one branch of one repository; every read of an answer is bound to it.

    ``chunks`` and ``files`` are the counts that BM25 and file-level rarity need.
    """

    repository_id: int
    repository: str
    branch_id: int
    generation: int
    revision: str
    indexed_at: datetime
    stale: bool
    files: int
    skipped: int
    chunks: int
    embeddings_pending: int
    files_by_outcome: Mapping[str, int]
    embeddings_failed: int = 0
    embeddings_withheld: int = 0
    ref: str = ""
    """The branch, tag or commit that the generation shows, as people write it."""
    url: str | None = None
    """The remote that the repository was cloned from."""

    @property
    def key(self) -> GenerationKey:
        """Names the generation; what is kept of it in memory is found by it."""
        return self.repository_id, self.branch_id, self.generation


@dataclass(frozen=True, slots=True)
class Scope:
    """Where an answer comes from: the snapshots and the vectors that serve, resolved once per request."""

    snapshots: tuple[Snapshot, ...]
    vectors: VectorSet | None = None

    @property
    def columns(self) -> tuple[list[int], list[int], list[int]]:
        """Repository ids, branch ids and generations of the snapshots, in their order, as statements take them."""
        return (
            [snapshot.repository_id for snapshot in self.snapshots],
            [snapshot.branch_id for snapshot in self.snapshots],
            [snapshot.generation for snapshot in self.snapshots],
        )


@dataclass(frozen=True, slots=True)
class Translated:
    """A word of a question as it is written there, and the English words that stand for it in code."""

    word: str
    english: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The words of a question, analysed (7-ranking.md, "Query").

    ``terms`` → weight feed BM25 (stems, joined wholes, CJK bigrams); ``words`` are the stems alone; ``identifiers`` are names
    as written with their last segment; ``wholes`` are joined lower-case compounds. ``only_stop_words``: no word tells what is meant.
    ``cut``: there are more words than are looked for. ``translations``: word of another language → the English ones that stand beside it.
    """

    single: bool
    terms: Mapping[str, float]
    words: tuple[str, ...]
    identifiers: tuple[tuple[str, str], ...]
    wholes: frozenset[str]
    only_stop_words: bool = False
    cut: bool = False
    translations: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def asked(self) -> frozenset[str]:
        """The words as they were asked for: without those that only translate others."""
        return frozenset(self.words) - frozenset().union(*self.translations.values()) | self.translations.keys()

    def said_in(self, words: Set[str]) -> frozenset[str]:
        """What of ``asked`` is among these words, in English too."""
        return frozenset(word for word in self.asked if word in words or not self.translations.get(word, frozenset()).isdisjoint(words))


@dataclass(frozen=True, slots=True)
class Position:
    """How far a list in the order of repositories and paths has come: files up to this one are done.

    ``results`` and ``lines`` were listed so far; ``any_case``: the list takes its literal in any case.
    """

    repository_id: int
    path: str
    results: int = 0
    lines: int = 0
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """What a retriever is handed: the same for all four. ``after``: where a list of every match in path order goes on.

    ``results`` files were asked for. ``like`` and ``unlike`` are ids of chunks and symbols.
    ``expression`` is what exact search looks for instead of ``literal``, which then holds its words. ``translated`` are words of
    another language.
    """

    text: str
    classification: Classification
    terms: QueryTerms
    filters: Filters
    scope: Scope
    literal: str | None
    deadline_ms: int
    every_match: bool = False
    after: Position | None = None
    results: int = 10
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    expression: Expression | None = None
    translated: tuple[Translated, ...] = ()
    once: Once = field(default_factory=Once, compare=False, repr=False)

    @property
    def english(self) -> tuple[str, ...]:
        """What its words of other languages are in English, each once."""
        return tuple(dict.fromkeys(word for said in self.translated for word in said.english))

    @property
    def meaning(self) -> str:
        """The question as it is embedded. The original stays: embedders of many languages know it, and not every word has a translation."""
        return f"{self.text}\n{' '.join(self.english)}" if self.translated else self.text
