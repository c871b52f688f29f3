"""Symbols as they are asked for by id: their details, their uses, what a change to them reaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar

from app.domain.code import EdgeClass, PathClass
from app.domain.query import Scope, Snapshot
from app.domain.ranking import Notice

T = TypeVar("T")


class NameMatch(StrEnum):
    """How a name is looked for: as a whole (in the given case, else in any), by its beginning, or by similar spelling."""

    EXACT = "exact"
    PREFIX = "prefix"
    FUZZY = "fuzzy"


class IndexedSide(StrEnum):
    """Which side of a difference the index holds: what was there before it, or after."""

    BASE = "base"
    HEAD = "head"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a symbol is defined. Lines are 1-based and inclusive."""

    repository: str
    path: str
    path_class: PathClass
    language: str | None
    start_line: int
    end_line: int
    name_line: int


@dataclass(frozen=True, slots=True)
class SymbolDetails:
    """One definition, or a file as the module that it is (kind ``module``, the path as its qualified name).

    ``id`` are 16 hex digits and survive re-indexing. ``place`` is None for a name of a library, which has kind ``external``.
    ``centrality`` is PageRank and sums to 1 over the repository.
    """

    id: str
    name: str
    qualified: str
    kind: str
    signature: str
    doc: str
    exported: bool
    centrality: float
    place: Place | None
    container: str | None = None
    container_id: str | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A line that uses a symbol. ``text`` is the line as indexed, cut where it is very long."""

    line: int
    relation: str
    edge_class: EdgeClass
    text: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """One reference. ``symbol`` is the innermost definition around it, or the file's module."""

    path: str
    path_class: PathClass
    language: str | None
    symbol: SymbolDetails
    site: Site


@dataclass(frozen=True, slots=True)
class Relative:
    """A caller or a callee with the lines of its calls, ``site_count`` in all. ``edge_class`` is that of its surest call."""

    symbol: SymbolDetails
    edge_class: EdgeClass
    sites: tuple[Site, ...]
    site_count: int


@dataclass(frozen=True, slots=True)
class UnresolvedCall:
    """A call of a symbol's body whose target is not known. ``candidates`` counts the repository's definitions of that name."""

    name: str
    receiver: str | None
    line: int
    candidates: int


@dataclass(frozen=True, slots=True)
class ListPart(Generic[T]):
    """A part of a list in order: the surest first, ``possible`` ones after all others.

    ``counts`` are those of the whole list by class; lower bounds unless ``complete``.
    """

    items: tuple[T, ...]
    counts: Mapping[EdgeClass, int]
    complete: bool

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True)
class SymbolsRequest:
    """Which definitions to list. Globs are git's; a leading ``!`` excludes. Without a name the most central come first."""

    name: str | None = None
    match: NameMatch = NameMatch.EXACT
    kinds: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    limit: int = 20
    cursor: str | None = None
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class UsesRequest:
    """Which relatives of which symbol to list. ``classes``: only edges of these classes; all when empty.

    ``listing`` is set by whoever answers, so that the cursor of one list is none of another.
    """

    symbol_id: str
    repository: str | None = None
    classes: tuple[EdgeClass, ...] = ()
    limit: int = 50
    cursor: str | None = None
    listing: str = ""
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class SymbolPage:
    """Definitions in order. ``total`` counts them before paging."""

    symbols: tuple[SymbolDetails, ...]
    total: int
    fuzzy: bool
    next_cursor: str | None
    scope: Scope
    warnings: tuple[Notice, ...]
    took_ms: float


@dataclass(frozen=True, slots=True)
class SymbolAnswer:
    """One symbol and the definitions directly inside it."""

    symbol: SymbolDetails
    members: tuple[SymbolDetails, ...]
    snapshot: Snapshot
    warnings: tuple[Notice, ...]
    took_ms: float


@dataclass(frozen=True, slots=True)
class UsesPage(Generic[T]):
    """A page of uses, callers or callees of one symbol. ``unresolved`` belongs to callees alone and is not paged."""

    symbol: SymbolDetails
    part: ListPart[T]
    next_cursor: str | None
    snapshot: Snapshot
    warnings: tuple[Notice, ...]
    took_ms: float
    unresolved: tuple[UnresolvedCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: ``symbol`` uses the next one, or at last the changed one, on this line."""

    symbol: SymbolDetails
    path: str
    line: int
    relation: str
    edge_class: EdgeClass


@dataclass(frozen=True, slots=True)
class Affected:
    """A symbol that a change reaches, over ``hops`` from itself to the changed symbol ``changed_id``.

    ``edge_class`` is the weakest of the hops: ``exact`` and ``likely`` are certain as far as resolution can be, ``possible`` is not.
    """

    symbol: SymbolDetails
    distance: int
    edge_class: EdgeClass
    changed_id: str
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class AffectedFile:
    """A file that holds an affected symbol. ``symbols`` are the qualified names of its nearest ones; ``count`` counts all."""

    path: str
    path_class: PathClass
    language: str | None
    distance: int
    edge_class: EdgeClass
    symbols: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class BlindSpot:
    """A place on the way where what is used is decided at run time, so that edges may be missing there."""

    kind: str
    path: str
    line: int
    name: str
    symbol: str | None


@dataclass(frozen=True, slots=True)
class Interval:
    """A count whose true value lies between: reached over resolved edges alone, and over names that were not resolved as well."""

    certain: int
    at_most: int


@dataclass(frozen=True, slots=True)
class Impact:
    """What a change to some symbols of one snapshot reaches.

    ``certain`` and ``possible`` are the nearest and most central first, each cut to the limit as is ``files``, which leaves out test files,
    and ``tests``, which are those; the intervals count all that was reached.
    ``truncated``: ``depth`` when symbols at the last level may be used further out, ``breadth`` when a level had too many edges,
    ``names`` when some names were too common to follow by name.
    """

    certain: tuple[Affected, ...]
    possible: tuple[Affected, ...]
    files: tuple[AffectedFile, ...]
    tests: tuple[AffectedFile, ...]
    symbol_count: Interval
    file_count: Interval
    test_count: Interval
    blind_spots: tuple[BlindSpot, ...]
    truncated: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedSymbol:
    """A symbol that a difference touches, with the lines that it touches there, on the indexed side."""

    symbol: SymbolDetails
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ImpactRequest:
    """What to compute the impact of: one symbol, or a difference (``diff``, or the commits ``base`` and ``head``).

    ``indexed``: which side of the difference the index holds; None finds out. ``limit`` bounds each list of the answer.
    """

    repository: str | None = None
    symbol_id: str | None = None
    diff: str | None = None
    base: str | None = None
    head: str | None = None
    indexed: IndexedSide | None = None
    depth: int = 5
    limit: int = 100
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class ImpactAnswer:
    """``changed`` and what it reaches. ``indexed`` is None for a symbol that was named by id."""

    changed: tuple[ChangedSymbol, ...]
    impact: Impact
    depth: int
    snapshot: Snapshot
    warnings: tuple[Notice, ...]
    took_ms: float
    indexed: IndexedSide | None = None
    changed_files: tuple[ChangedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of a difference. ``status``: added, deleted, modified or renamed; ``indexed`` is false for what the index does not hold."""

    path: str
    status: str
    indexed: bool
    symbols: int = 0


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file of a snapshot with its lines and its definitions, outermost first."""

    path: str
    module: SymbolDetails
    lines: Sequence[str]
    symbols: Sequence[SymbolDetails]
    import_lines: frozenset[int] = field(default_factory=frozenset)
