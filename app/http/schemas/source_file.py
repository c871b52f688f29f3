"""Source as indexed, on the wire; and why a search does not show a file."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field

from app.domain.code import PathClass
from app.domain.files import FileRequest, Gate
from app.domain.query import Modality
from app.http.schemas.fields import LINES_PATTERN, PathText, StrictModel, Text
from app.http.schemas.search_answer import IndexShape, Shape
from app.http.schemas.search_request import SearchParameters
from app.http.schemas.symbol import BOOT, FRESH, BriefShape, Repository

Path = Annotated[PathText, Field(examples=["app/boot.py"])]


def _forwards(lines: str) -> str:
    first, _, last = lines.partition("-")
    if last and int(last) < int(first):
        raise ValueError(f"the lines end at {last}, before they begin at {first}")
    return lines


Lines = Annotated[str, Field(pattern=LINES_PATTERN, examples=["40-60"]), AfterValidator(_forwards)]


class FileParameters(StrictModel):
    """Which lines of which file."""

    repository: Repository
    """The repository, by name."""
    path: Path
    """The file's path in the repository."""
    revision: Text | None = None
    """A branch, a tag or an indexed commit; the default branch when absent."""
    lines: Lines | None = None
    """`12`, `40-60` or `40-`; the whole file when absent."""

    def to_domain(self) -> FileRequest:
        first, dash, last = (self.lines or "1-").partition("-")
        return FileRequest(self.repository, self.path, self.revision, int(first), int(last) if last else None if dash else int(first))


class FileShape(Shape):
    """Lines of a file as indexed."""

    model_config = ConfigDict(json_schema_extra={"examples": []})

    path: str
    language: str | None
    path_class: PathClass
    encoding: str | None
    """How the bytes were decoded."""
    outcome: str
    """`indexed`, or how far the file was read."""
    reason: str | None
    """Why it was read no further."""
    bytes: int
    total_lines: int
    start_line: int
    end_line: int
    """The last line of `text`; before `start_line` when the file is empty."""
    text: str
    """The lines, joined by line feeds."""
    symbols: list[BriefShape]
    """The definitions that reach into these lines, outermost first."""
    index: list[IndexShape]


FILE_EXAMPLE: Final[dict[str, Any]] = {
    "path": "app/boot.py",
    "language": "python",
    "path_class": "source",
    "encoding": "utf-8",
    "outcome": "indexed",
    "reason": None,
    "bytes": 2114,
    "total_lines": 71,
    "start_line": 41,
    "end_line": 42,
    "text": "def boot(path: Path) -> App:\n    settings = load()",
    "symbols": [BOOT],
    "index": FRESH["index"],
}
FileShape.model_config["json_schema_extra"] = {"examples": [FILE_EXAMPLE]}


class WhyNotParameters(SearchParameters):
    """A search, and the file that it does not show."""

    repository: Repository
    """The repository that holds the file."""
    path: Path
    """The file's path in the repository."""


class VerdictShape(Shape):
    """What one retriever says of the file."""

    modality: Modality
    ran: bool
    """Whether the search asked this retriever."""
    matches: bool
    rank: int | None
    """The file's 1-based rank in this retriever's list."""
    rank_is_exact: bool
    """False: the list ended before the file, and its rank is this or further down."""
    score: float | None


class ChangeShape(Shape):
    """The smallest change that shows the file."""

    description: str
    fields: dict[str, Any]
    """Fields of the search with their new values; null takes a filter away."""


WHY_NOT_EXAMPLE: Final[dict[str, Any]] = {
    "query": "how are settings loaded",
    "repository": "api",
    "path": "tests/test_settings.py",
    "gate": "demoted",
    "detail": "it is demoted to rank 14 (test); otherwise its rank would be 3",
    "rank": 14,
    "retrievers": [{"modality": "text", "ran": True, "matches": True, "rank": 3, "rank_is_exact": True, "score": 0.0046}],
    "change": {"description": "do not demote such files", "fields": {"filters": {"include_tests": True}}},
    "index": FRESH["index"],
    "took_ms": 41.2,
}


class WhyNotShape(Shape):
    """The first gate at which the file drops out of the answer."""

    model_config = ConfigDict(json_schema_extra={"examples": [WHY_NOT_EXAMPLE]})

    query: str
    repository: str
    path: str
    gate: Gate
    detail: str
    rank: int | None
    """The file's 1-based place among all results of the search, if it has one."""
    retrievers: list[VerdictShape]
    change: ChangeShape | None
    index: list[IndexShape]
    took_ms: float
