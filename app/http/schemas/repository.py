"""Repositories and their index jobs on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from fastapi import Path
from pydantic import ConfigDict, Field

from app.domain.index import JobState
from app.http.schemas.fields import NAME_PATTERN, StrictModel, Text, TextList
from app.http.schemas.search_answer import Shape

RepositoryName = Annotated[str, Path(pattern=NAME_PATTERN, description="the repository's name, a slug", examples=["flask"])]
JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9-]{1,64}$", description="the job's id")]


class LocalSource(StrictModel):
    path: Annotated[Text, Field(max_length=4_096, examples=["/srv/checkouts/flask"])]
    """An absolute path to a directory on the service's machine, under one of its allowed roots."""


class RepositoryBody(StrictModel):
    """Where a repository comes from and what of it is indexed."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"source": {"path": "/srv/checkouts/flask"}, "include": ["src/flask/**"], "exclude": []}]}
    )

    source: LocalSource
    include: TextList = ()
    """Path globs to index; everything when empty."""
    exclude: TextList = ()
    """Path globs to leave out."""


class SourceShape(Shape):
    path: str


class RepositoryCoverage(Shape):
    """What the current index holds and what it left out, with the reasons."""

    files: int
    skipped: int
    embeddings_pending: int
    embeddings_failed: int
    embeddings_withheld: int
    """Chunks that hold a secret and are not sent to a provider of embeddings."""
    by_outcome: dict[str, int]
    by_reason: dict[str, int]
    by_language: dict[str, int]


REPOSITORY_EXAMPLE: Final[dict[str, Any]] = {
    "name": "flask",
    "source": {"path": "/srv/checkouts/flask"},
    "include": ["src/flask/**"],
    "exclude": [],
    "status": "indexed",
    "generation": 3,
    "revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345",
    "known_revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345",
    "stale": False,
    "created_at": "2025-01-31T11:58:00Z",
    "indexed_at": "2025-01-31T12:00:00Z",
    "coverage": {
        "files": 24,
        "skipped": 1,
        "embeddings_pending": 0,
        "embeddings_failed": 0,
        "embeddings_withheld": 0,
        "by_outcome": {"indexed": 24, "skipped": 1},
        "by_reason": {"binary": 1},
        "by_language": {"python": 24},
    },
}


class RepositoryShape(Shape):
    """A repository and the state of its index."""

    model_config = ConfigDict(json_schema_extra={"examples": [REPOSITORY_EXAMPLE]})

    name: str
    source: SourceShape
    include: list[str]
    exclude: list[str]
    status: Literal["not_indexed", "indexed", "stale"]
    generation: int
    """Counts publications; 0 before the first."""
    revision: str | None
    """The revision that is searchable."""
    known_revision: str | None
    """The newest revision that was seen at the source."""
    stale: bool
    created_at: datetime
    indexed_at: datetime | None
    coverage: RepositoryCoverage


class RepositoryList(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [{"repositories": [REPOSITORY_EXAMPLE]}]})

    repositories: list[RepositoryShape]


JOB_EXAMPLE: Final[dict[str, Any]] = {
    "id": "0b9e5c1e-7a57-4c38-9d59-4b8d4d7c5a10",
    "repository": "flask",
    "state": "running",
    "stage": "parse",
    "files_done": 12,
    "files_total": 24,
    "error": None,
    "attempts": 1,
    "revision": None,
    "created_at": "2025-01-31T11:59:58Z",
    "started_at": "2025-01-31T11:59:59Z",
    "finished_at": None,
    "result": {},
}


class JobShape(Shape):
    """One index run."""

    model_config = ConfigDict(json_schema_extra={"examples": [JOB_EXAMPLE]})

    id: str
    repository: str
    state: JobState
    stage: str | None
    files_done: int
    files_total: int | None
    """Null until the source tree has been read."""
    error: str | None
    attempts: int
    revision: str | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result: dict[str, Any]


class JobAccepted(JobShape):
    """A job that was queued, or joined because it was waiting already."""

    model_config = ConfigDict(json_schema_extra={"examples": [JOB_EXAMPLE | {"state": "queued", "stage": None, "joined": False}]})

    joined: bool


class JobList(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [{"jobs": [JOB_EXAMPLE]}]})

    jobs: list[JobShape]
