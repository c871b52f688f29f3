"""The write side: repositories, jobs, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from app.domain.left_out import LeftOut, RulePlace, notices

if TYPE_CHECKING:
    from app.domain.query import Snapshot


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Priority(IntEnum):
    """Whose job goes first: what somebody waits for before what a clock or a forge asked for."""

    BULK = 0
    INTERACTIVE = 10


class SkipReason(StrEnum):
    """Why a file is not searchable, or only as text."""

    BINARY = "binary"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    SYMLINK = "symlink"
    SPECIAL_FILE = "special_file"
    SUBMODULE = "submodule"
    EXCLUDED = "excluded"
    MINIFIED = "minified"
    NO_PARSER = "no_parser"
    PARSE_TIMEOUT = "parse_timeout"
    PARSE_CRASH = "parse_crash"
    PARSE_ERROR = "parse_error"
    LFS_POINTER = "lfs_pointer"


class SourceKind(StrEnum):
    """Where a repository's files are: a directory of this machine, a git remote, or archives that are uploaded."""

    DIRECTORY = "directory"
    GIT = "git"
    ARCHIVE = "archive"


class RefKind(StrEnum):
    """What a name in a repository's history stands for."""

    WORK_TREE = "work_tree"
    BRANCH = "branch"
    TAG = "tag"
    COMMIT = "commit"
    ARCHIVE = "archive"


WORK_TREE: Final = "work tree"
"""The one ref of a directory."""

ARCHIVE: Final = "archive"
"""The one ref of a repository whose archives are uploaded."""


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """Where a repository comes from, and what of it is indexed.

    ``path`` is set for a directory and ``url`` for a git remote, whose ``refs`` are globs over branches and tags (the remote's HEAD when
    empty); ``credential`` is the name of a secret, never the secret. ``poll_seconds`` None: the service's own interval.
    ``respect_ignore`` False: a directory's files are indexed whatever its ignore files say.
    """

    path: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    url: str | None = None
    refs: tuple[str, ...] = ()
    credential: str | None = None
    submodules: bool = False
    poll_seconds: float | None = None
    kind: SourceKind = SourceKind.DIRECTORY
    respect_ignore: bool = True

    @property
    def location(self) -> str:
        """The path or the address, for people."""
        return self.path or self.url or "uploaded archives"


@dataclass(frozen=True, slots=True)
class Ref:
    """A branch, tag or commit that is followed. ``name`` is git's full one (``refs/heads/main``), or a commit's id.

    ``generation`` is the published index that shows it, None before the first; ``known_revision`` the newest commit that was seen.
    """

    name: str
    kind: RefKind
    is_default: bool
    generation: int | None
    revision: str | None
    known_revision: str | None
    indexed_at: datetime | None

    @property
    def short_name(self) -> str:
        """As people write it: ``main``."""
        return short_name(self.name)


def short_name(name: str) -> str:
    """``refs/heads/main`` → ``main``; any other name as it is."""
    return name.removeprefix("refs/heads/").removeprefix("refs/tags/")


@dataclass(frozen=True, slots=True)
class Coverage:
    """What an index holds and what it left out."""

    files: int = 0
    skipped: int = 0
    embeddings_pending: int = 0
    embeddings_failed: int = 0
    embeddings_withheld: int = 0
    by_outcome: Mapping[str, int] = field(default_factory=dict)
    by_reason: Mapping[str, int] = field(default_factory=dict)
    by_language: Mapping[str, int] = field(default_factory=dict)
    left_out: LeftOut = field(default_factory=LeftOut)

    @property
    def notices(self) -> tuple[str, ...]:
        """What whoever had it indexed should know."""
        return notices(self.files, self.skipped, self.left_out)


@dataclass(frozen=True, slots=True)
class FileCoverage:
    """What became of one path: ``indexed``, ``text_only``, ``skipped`` or ``absent``, and why if not ``indexed``.

    ``rule``: of one that is ``ignored``, what decides it.
    """

    path: str
    outcome: str
    reason: str | None
    language: str | None
    path_class: str | None
    rule: RulePlace | None = None


@dataclass(frozen=True, slots=True)
class CoverageRequest:
    """Which files of an index are to be told about; all conditions hold at once."""

    repository: str
    revision: str | None = None
    path: str | None = None
    outcome: str | None = None
    reason: str | None = None
    cursor: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class CoveragePage:
    """Files by path, and where the next page begins."""

    files: tuple[FileCoverage, ...]
    next_cursor: str | None
    snapshot: Snapshot
    left_out: LeftOut = field(default_factory=LeftOut)


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository and the state of its index; ``generation`` is 0 before the first publication."""

    id: int
    name: str
    source: RepositorySource
    created_at: datetime
    generation: int
    revision: str | None
    known_revision: str | None
    indexed_at: datetime | None
    coverage: Coverage
    refs: tuple[Ref, ...] = ()
    reconfigured: bool = False
    """Whether what is to be indexed was changed since."""
    source_error: str | None = None
    """Why the source could not be read when it was last looked at; the index that there is stays."""

    @property
    def stale(self) -> bool:
        moved = self.known_revision is not None and self.known_revision != self.revision
        return self.generation > 0 and (moved or self.reconfigured)


class JobPlace(NamedTuple):
    """Where a job stands in a list of jobs."""

    created_at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class Job:
    """One index run. ``files_total`` is None until the tree has been read."""

    id: str
    repository: str
    state: JobState
    stage: str | None
    files_done: int
    files_total: int | None
    error: str | None
    attempts: int
    revision: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result: Mapping[str, object] = field(default_factory=dict)
    priority: int = Priority.INTERACTIVE
