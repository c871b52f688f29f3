"""Symbols on the wire: what they are, who uses them, what they use."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Path
from pydantic import ConfigDict, Field

from app.domain.code import EdgeClass, PathClass
from app.domain.symbols import NameMatch, SymbolsRequest, UsesRequest
from app.http.schemas.fields import ID_PATTERN, NAME_PATTERN, Kinds, Repeated, StrictModel, Text, TextList
from app.http.schemas.search_answer import CountShape, IndexShape, Shape, WarningShape

SymbolId = Annotated[str, Path(pattern=ID_PATTERN, description="the symbol's id", examples=["5d41402abc4b2a76"])]
Repository = Annotated[str, Field(pattern=NAME_PATTERN, examples=["flask"])]
Classes = Annotated[tuple[EdgeClass, ...], Field(max_length=10), Repeated]


class RepositoryParameter(StrictModel):
    repository: Repository | None = None
    """The repository that holds the symbol; needed only where copies of a repository share its id."""
    revision: Text | None = None
    """A branch, a tag or an indexed commit; the default branch when absent."""


class SymbolsParameters(StrictModel):
    """Which definitions to list."""

    name: Annotated[Text, Field(examples=["Flask.route"])] | None = None
    """The name, with its parents where that helps (`Flask.route`, `net::Conn`); `*` stands for any characters. Without a name the most
    central definitions come first. Where nothing of the repository bears it, the names of libraries that it uses are looked through."""
    match: NameMatch = NameMatch.EXACT
    """`exact`: as written, and in another case only where nobody bears it as written; `prefix`; `fuzzy`: similar spelling."""
    kind: Annotated[Kinds, Repeated] = ()
    """Kinds of definitions, such as `class`."""
    languages: Annotated[TextList, Repeated] = ()
    """Languages by name, such as `python`; a leading `!` excludes."""
    paths: Annotated[TextList, Repeated] = ()
    """Path globs, git's way; a leading `!` excludes."""
    repositories: Annotated[TextList, Repeated] = ()
    """Repositories to look in, by name; all of them when absent."""
    revision: Text | None = None
    """A branch, a tag or an indexed commit; each repository's default branch when absent."""
    limit: Annotated[int, Field(ge=1, le=100)] = 20
    """Definitions on this page."""
    cursor: Text | None = None
    """`next_cursor` of the page before."""

    def to_domain(self) -> SymbolsRequest:
        return SymbolsRequest(
            name=self.name,
            match=self.match,
            kinds=tuple(kind.value for kind in self.kind),
            languages=self.languages,
            paths=self.paths,
            repositories=self.repositories,
            limit=self.limit,
            cursor=self.cursor,
            revision=self.revision,
        )


class UsesParameters(RepositoryParameter):
    """Which uses of a symbol to list."""

    classes: Classes = ()
    """Only edges of these classes: `exact`, `likely`, `possible`; all when absent."""
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    """Entries on this page."""
    cursor: Text | None = None
    """`next_cursor` of the page before."""

    def to_domain(self, symbol_id: str) -> UsesRequest:
        return UsesRequest(symbol_id, self.repository, self.classes, self.limit, self.cursor, revision=self.revision)


class BriefShape(Shape):
    """A symbol in a list. A file stands for its module: kind `module`, its path as `qualified`. What a library defines has kind `external`
    and no path."""

    id: str
    name: str
    qualified: str
    kind: str
    signature: str
    path: str | None
    path_class: PathClass | None
    start_line: int | None
    end_line: int | None


class ContainerShape(Shape):
    id: str
    qualified: str


class DefinitionShape(BriefShape):
    """A symbol with all that is known of it. `centrality` is PageRank over the repository's edges and sums to 1."""

    repository: str | None
    language: str | None
    name_line: int | None
    doc: str
    exported: bool
    centrality: float
    container: ContainerShape | None
    """The definition around it."""


class SiteShape(Shape):
    """A line that uses a symbol."""

    model_config = ConfigDict(populate_by_name=True)

    line: int
    relation: str
    """How: calls, instantiates, imports, inherits, overrides, references, decorates; for a use by name alone call, inherit, decorate, type,
    read."""
    edge_class: EdgeClass = Field(alias="class", description="How far the edge can be trusted: exact, likely or possible.")
    text: str
    """The line as indexed."""


class UseShape(SiteShape):
    """One reference."""

    path: str
    path_class: PathClass
    language: str | None
    symbol: BriefShape
    """The innermost definition around the line, or the file's module."""


class RelativeShape(Shape):
    """A caller or a callee with the lines of its calls."""

    model_config = ConfigDict(populate_by_name=True)

    symbol: BriefShape
    edge_class: EdgeClass = Field(alias="class", description="The class of its surest call.")
    site_count: int
    sites: list[SiteShape]
    """At most the first hundred."""


class UnresolvedShape(Shape):
    """A call whose target is not known. `candidates` counts the definitions of that name in the repository; 0 for what a library or the
    language itself defines."""

    name: str
    receiver: str | None
    line: int
    candidates: int


class CountsShape(CountShape):
    """Entries of the whole list, before paging, and how many there are of each class."""

    exact: int
    likely: int
    possible: int
    """Only of these there may be more."""


class Fresh(Shape):
    """What every answer about symbols says of itself."""

    index: list[IndexShape]
    warnings: list[WarningShape]
    took_ms: float


class UsesShape(Fresh):
    """A page about one symbol."""

    symbol: BriefShape
    total: CountsShape
    complete: bool
    """Whether the counts are all there is."""
    next_cursor: str | None
    """Pass as `cursor` for the next page; null on the last one."""


_INDEX: Final[list[dict[str, Any]]] = [
    {
        "repository": "api",
        "revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345",
        "generation": 12,
        "indexed_at": "2025-01-31T12:00:00Z",
        "stale": False,
    }
]
PARSE_CONFIG: Final[dict[str, Any]] = {
    "id": "5d41402abc4b2a76",
    "name": "parse_config",
    "qualified": "parse_config",
    "kind": "function",
    "signature": "def parse_config(path: Path) -> Config",
    "path": "app/config.py",
    "path_class": "source",
    "start_line": 12,
    "end_line": 30,
}
BOOT: Final[dict[str, Any]] = {
    "id": "0b6f7a52d1e24c0f",
    "name": "boot",
    "qualified": "boot",
    "kind": "function",
    "signature": "def boot(path: Path) -> App",
    "path": "app/boot.py",
    "path_class": "source",
    "start_line": 41,
    "end_line": 58,
}
_DEFINITION: Final[dict[str, Any]] = PARSE_CONFIG | {
    "repository": "api",
    "language": "python",
    "name_line": 12,
    "doc": "Reads a configuration file.",
    "exported": True,
    "centrality": 0.0041,
    "container": None,
}
_SITE: Final[dict[str, Any]] = {"line": 44, "relation": "calls", "class": "exact", "text": "    config = parse_config(path)"}
FRESH: Final[dict[str, Any]] = {"index": _INDEX, "warnings": [], "took_ms": 2.7}
_ONE: Final[dict[str, Any]] = {"results": 1, "relation": "exact"}
_PAGE: Final[dict[str, Any]] = FRESH | {
    "symbol": PARSE_CONFIG,
    "total": _ONE | {"exact": 1, "likely": 0, "possible": 0},
    "complete": True,
    "next_cursor": None,
}


class SymbolListShape(Fresh):
    """Definitions: as written before other spellings, source before tests, then the most central."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [FRESH | {"symbols": [_DEFINITION], "total": _ONE, "fuzzy": False, "next_cursor": None}]}
    )

    symbols: list[DefinitionShape]
    total: CountShape
    fuzzy: bool
    """The names are similar ones, not the one asked for."""
    next_cursor: str | None


class SymbolAnswerShape(Fresh):
    """One symbol."""

    model_config = ConfigDict(json_schema_extra={"examples": [FRESH | {"symbol": _DEFINITION, "members": []}]})

    symbol: DefinitionShape
    members: list[BriefShape]
    """The definitions directly inside it, in the order of their lines; at most five hundred."""


class ReferencesShape(UsesShape):
    """The lines that use a symbol: by class, source before tests, then by path and line."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                _PAGE
                | {
                    "references": [_SITE | {"path": "app/boot.py", "path_class": "source", "language": "python", "symbol": BOOT}],
                    "possible": [],
                }
            ]
        }
    )

    references: list[UseShape]
    """Resolved ones."""
    possible: list[UseShape]
    """Uses of the name that could not be resolved: they may mean another symbol of that name. They follow after all resolved ones."""


class CallersShape(UsesShape):
    """The definitions that call or instantiate a symbol: by class, then the most central first."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [_PAGE | {"callers": [{"symbol": BOOT, "class": "exact", "site_count": 1, "sites": [_SITE]}], "possible": []}]
        }
    )

    callers: list[RelativeShape]
    """Resolved ones."""
    possible: list[RelativeShape]
    """Callers by name alone: they may call another symbol of that name. They follow after all resolved ones."""


class CalleesShape(UsesShape):
    """What the lines of a symbol call or instantiate, in the order of the first call."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                _PAGE
                | {
                    "symbol": BOOT,
                    "callees": [{"symbol": PARSE_CONFIG, "class": "exact", "site_count": 1, "sites": [_SITE]}],
                    "unresolved": [{"name": "start", "receiver": "app", "line": 52, "candidates": 3}],
                }
            ]
        }
    )

    callees: list[RelativeShape]
    unresolved: list[UnresolvedShape]
    """Calls whose target is not known, with every page; at most two hundred."""
