"""What a change reaches, on the wire."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field

from app.domain.code import EdgeClass, PathClass
from app.domain.symbols import ImpactRequest, IndexedSide
from app.http.schemas.fields import JsonModel, Text, storable
from app.http.schemas.search_answer import Shape
from app.http.schemas.symbol import BOOT, FRESH, PARSE_CONFIG, BriefShape, Fresh, Repository, RepositoryParameter


class ReportFormat(StrEnum):
    """JSON for programs, Markdown for a comment, SARIF 2.1.0 for code scanning."""

    JSON = "json"
    MARKDOWN = "markdown"
    SARIF = "sarif"


Depth = Annotated[int, Field(ge=1, le=10)]
Limit = Annotated[int, Field(ge=1, le=1_000)]
Diff = Annotated[str, AfterValidator(storable)]
Commit = Annotated[str, Field(max_length=250, pattern=r"^[^\s\x00-][^\s\x00]*$", examples=["main"]), AfterValidator(storable)]


class ImpactParameters(RepositoryParameter):
    depth: Depth = 5
    """Edges on a path at most."""
    limit: Limit = 100
    """Entries of each list at most; the intervals count all."""
    format: ReportFormat = ReportFormat.JSON
    """How to answer."""


DIFF_EXAMPLE: Final = (
    "--- a/app/config.py\n+++ b/app/config.py\n@@ -13,3 +13,3 @@\n     text = path.read_text()\n-    return Config(loads(text))\n"
    "+    return Config(loads(text), path)\n \n"
)


class ImpactBody(JsonModel):
    """A difference: its text, or two commits of a repository whose source is a git work tree."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"repository": "api", "diff": DIFF_EXAMPLE}, {"repository": "api", "base": "main", "head": "9f2c4e1", "depth": 3}]
        }
    )

    repository: Repository | None = None
    """The repository that the difference is of; needed where there are several."""
    revision: Annotated[Text, Field(max_length=300)] | None = None
    """The branch, tag or indexed commit whose lines the difference is compared with; the default branch when absent."""
    diff: Diff | None = None
    """A unified diff, as `git diff` writes it."""
    base: Commit | None = None
    """A commit, branch or tag; what was changed there since `head` left it is no part of the difference."""
    head: Commit | None = None
    """The commit, branch or tag to compare with `base`."""
    indexed: IndexedSide | None = None
    """Which side of the difference the index holds; found out by its lines when absent."""
    depth: Depth = 5
    """Edges on a path at most."""
    limit: Limit = 100
    """Entries of each list at most; the intervals count all."""
    format: ReportFormat = ReportFormat.JSON
    """How to answer."""

    def to_domain(self) -> ImpactRequest:
        return ImpactRequest(
            repository=self.repository,
            diff=self.diff,
            base=self.base,
            head=self.head,
            indexed=self.indexed,
            depth=self.depth,
            limit=self.limit,
            revision=self.revision,
        )


class HopShape(Shape):
    """A step of a path: the symbol uses the next one on this line."""

    model_config = ConfigDict(populate_by_name=True)

    id: str
    qualified: str
    path: str
    line: int
    relation: str
    """The edge's kind; `contains` leads from a member to its type, `constructs` from a class to its constructor, `overridden` from a method
    to one that overrides it."""
    edge_class: EdgeClass = Field(alias="class", description="How far this step can be trusted.")


class AffectedShape(Shape):
    """A symbol that the change reaches."""

    model_config = ConfigDict(populate_by_name=True)

    symbol: BriefShape
    distance: int
    edge_class: EdgeClass = Field(alias="class", description="The weakest step of its path.")
    changed: str
    """The id of the changed symbol at the end of its path."""
    hops: list[HopShape]
    """The path from this symbol to the changed one."""


class AffectedFileShape(Shape):
    """A file with affected symbols, the nearest twenty by name."""

    model_config = ConfigDict(populate_by_name=True)

    path: str
    path_class: PathClass
    language: str | None
    distance: int
    edge_class: EdgeClass = Field(alias="class", description="The class of its nearest symbol.")
    symbol_count: int
    symbols: list[str]


class BlindSpotShape(Shape):
    """A place in an affected or changed symbol where what is used is decided at run time: edges may be missing there."""

    kind: str
    """`reflection`, `dynamic_import` or `evaluation`."""
    path: str
    line: int
    name: str
    symbol: str | None


class IntervalShape(Shape):
    """The truth lies between: `certain` counts what resolved edges reach, `at_most` what unresolved names reach besides."""

    certain: int
    at_most: int


class SummaryShape(Shape):
    symbols: IntervalShape
    files: IntervalShape
    """Files other than tests."""
    tests: IntervalShape
    """Test files."""


class ChangedShape(Shape):
    """A changed symbol with the lines that are touched, on the indexed side."""

    symbol: BriefShape
    lines: list[int]


class ChangedFileShape(Shape):
    path: str
    status: str
    """`added`, `deleted`, `modified` or `renamed`."""
    indexed: bool
    """Whether the indexed side of the difference has it, and the index too."""
    symbols: int


_BOOT_CALLS: Final[dict[str, Any]] = {
    "id": BOOT["id"],
    "qualified": "boot",
    "path": "app/boot.py",
    "line": 44,
    "relation": "calls",
    "class": "exact",
}
IMPACT_EXAMPLE: Final[dict[str, Any]] = FRESH | {
    "indexed": "base",
    "changed": [{"symbol": PARSE_CONFIG, "lines": [14]}],
    "changed_files": [{"path": "app/config.py", "status": "modified", "indexed": True, "symbols": 1}],
    "summary": {
        "symbols": {"certain": 1, "at_most": 1},
        "files": {"certain": 1, "at_most": 1},
        "tests": {"certain": 0, "at_most": 0},
    },
    "certain": [{"symbol": BOOT, "distance": 1, "class": "exact", "changed": PARSE_CONFIG["id"], "hops": [_BOOT_CALLS]}],
    "possible": [],
    "files": [
        {
            "path": "app/boot.py",
            "path_class": "source",
            "language": "python",
            "distance": 1,
            "class": "exact",
            "symbol_count": 1,
            "symbols": ["boot"],
        }
    ],
    "tests": [],
    "blind_spots": [{"kind": "reflection", "path": "app/boot.py", "line": 50, "name": "getattr", "symbol": "boot"}],
    "depth": 5,
    "complete": True,
    "truncated": [],
}


class ImpactShape(Fresh):
    """What a change reaches, as an interval: over resolved edges for certain, over unresolved names besides possibly."""

    model_config = ConfigDict(json_schema_extra={"examples": [IMPACT_EXAMPLE]})

    indexed: IndexedSide | None
    """The side of the difference that the index holds; null for a symbol."""
    changed: list[ChangedShape]
    changed_files: list[ChangedFileShape]
    summary: SummaryShape
    certain: list[AffectedShape]
    """The nearest first, then the surest, source before tests, the most central first."""
    possible: list[AffectedShape]
    """Reached over one step by name alone, or through a base's method that is overridden."""
    files: list[AffectedFileShape]
    tests: list[AffectedFileShape]
    blind_spots: list[BlindSpotShape]
    depth: int
    complete: bool
    """Whether the walk saw everything up to `depth`."""
    truncated: list[str]
    """What was cut: `depth` (what was reached last may be used further out), `breadth` (a level had too many edges), `names` (some names
    are too common to follow)."""
