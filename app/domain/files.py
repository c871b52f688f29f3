"""Files of an index as they are asked for by path: what is known of one, its source, why a search does not show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.code import PathClass
from app.domain.query import Modality, SearchRequest, Snapshot
from app.domain.symbols import SymbolDetails


@dataclass(frozen=True, slots=True)
class FileEntry:
    """What an index knows of a path. ``skipped`` is the reason why the file has no content there, None for an indexed one.

    ``outcome`` tells how far an indexed file was read, ``reason`` why no further.
    """

    path: str
    language: str | None = None
    path_class: PathClass = PathClass.SOURCE
    outcome: str = ""
    reason: str | None = None
    encoding: str | None = None
    bytes: int = 0
    lines: int = 0
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not in the index, with the reason."""

    repository: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FileRequest:
    """Which lines of which file; 1-based and inclusive, to the end of the file where ``last_line`` is None."""

    repository: str
    path: str
    revision: str | None = None
    first_line: int = 1
    last_line: int | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Lines of a file as indexed, and the definitions that reach into them, outermost first."""

    entry: FileEntry
    snapshot: Snapshot
    start_line: int
    lines: Sequence[str]
    symbols: Sequence[SymbolDetails]


class Gate(StrEnum):
    """Where a file drops out of an answer, in the order in which it would."""

    NOT_INDEXED = "not_indexed"
    FILTERED = "filtered"
    NO_MATCH = "no_match"
    BELOW_CUT_OFF = "below_cut_off"
    MERGED = "merged"
    DEMOTED = "demoted"
    BELOW_PAGE = "below_page"
    SHOWN = "shown"


@dataclass(frozen=True, slots=True)
class RetrieverVerdict:
    """What one retriever says of the file. ``rank`` is 1-based; a lower bound where the list ended before the file."""

    modality: Modality
    ran: bool
    matches: bool
    rank: int | None = None
    rank_is_exact: bool = False
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """The smallest change of the request that shows the file: fields of a search and their new values."""

    description: str
    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why an answer does not show a file. ``rank`` is its 1-based place among all results, if it has one."""

    request: SearchRequest
    repository: str
    path: str
    gate: Gate
    detail: str
    rank: int | None = None
    retrievers: tuple[RetrieverVerdict, ...] = ()
    change: Change | None = None
    snapshot: Snapshot | None = None
    took_ms: float = 0.0
