"""The write side: repositories, jobs, coverage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


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


@dataclass(frozen=True, slots=True)
class RepositorySource:
    """Where a repository comes from: a local path (git URLs come with a later issue), and what of it is indexed."""

    path: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


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

    @property
    def stale(self) -> bool:
        return self.generation > 0 and self.known_revision is not None and self.known_revision != self.revision


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
