"""Repositories and their index jobs on the wire."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, Self

from fastapi import Path
from pydantic import ConfigDict, Field, model_validator

from app.domain.code import PathClass
from app.domain.index import JobState, RefKind, SkipReason, SourceKind
from app.http.schemas.fields import NAME_PATTERN, JsonModel, PathText, StrictModel, Text, TextList
from app.http.schemas.search_answer import ANSWER_EXAMPLE, IndexShape, Shape

RepositoryName = Annotated[str, Path(pattern=NAME_PATTERN, description="the repository's name, a slug", examples=["flask"])]
PriorityName = Literal["interactive", "bulk"]
JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9-]{1,64}$", description="the job's id")]


class SourceBody(JsonModel):
    """One of `path`, `url` and `archive`."""

    path: Annotated[PathText, Field(examples=["/srv/checkouts/flask"])] | None = None
    """An absolute path to a directory on the service's machine, under one of its allowed roots."""
    url: Annotated[Text, Field(max_length=2_048, examples=["https://github.com/pallets/flask"])] | None = None
    """A git remote: `https://`, `ssh://` or `file://`, without user name and password."""
    archive: bool = False
    """Files come by `PUT …/archive`."""
    refs: TextList = ()
    """Globs over branches and tags of a git remote, such as `main` or `release/*`; its HEAD when empty."""
    credential: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,64}$", examples=["forge"])] | None = None
    """The name of a secret among the service's settings, for a git remote."""
    submodules: bool = False
    """Index the files of submodules too, at the commits that are pinned."""
    poll_seconds: Annotated[float, Field(ge=0, le=31_536_000)] | None = None
    """How often the source is looked at; it is indexed when it moved on. 0: never.

    By default remotes are followed, and directories only compared."""

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.path is not None) + (self.url is not None) + self.archive != 1:
            raise ValueError("exactly one of path, url and archive says where the files are")
        if self.url is None and (self.refs or self.credential or self.submodules):
            raise ValueError("refs, credential and submodules belong to a git remote")
        return self


class RepositoryBody(JsonModel):
    """Where a repository comes from and what of it is indexed."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"source": {"path": "/srv/checkouts/flask"}, "include": ["src/flask/**"], "exclude": []},
                {"source": {"url": "https://github.com/pallets/flask", "refs": ["main", "3.*"], "credential": "github"}},
            ]
        }
    )

    source: SourceBody
    include: TextList = ()
    """Path globs to index; everything when empty."""
    exclude: TextList = ()
    """Path globs to leave out."""
    respect_ignore: bool = True
    """Whether the ignore files of a directory decide what of it is indexed. False indexes what they leave out too."""

    @model_validator(mode="after")
    def _only_of_directories(self) -> Self:
        if not self.respect_ignore and self.source.path is None:
            raise ValueError("respect_ignore=false belongs to a directory: what is committed or uploaded is indexed anyway")
        return self


class SourceShape(Shape):
    kind: SourceKind
    path: str | None
    url: str | None
    refs: list[str]
    credential: str | None
    """The name of the secret, never the secret."""
    submodules: bool
    poll_seconds: float | None


class RefShape(Shape):
    """A branch, tag or commit that is followed."""

    name: str
    kind: RefKind
    is_default: bool
    """Whether it answers where no revision is asked for."""
    generation: int | None
    """The published index that shows it; null before the first."""
    revision: str | None
    known_revision: str | None
    stale: bool
    indexed_at: datetime | None


class IndexBody(JsonModel):
    """How an index run is asked for; all of it may be absent."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345", "priority": "bulk"}]}
    )

    revision: Annotated[Text, Field(max_length=300)] | None = None
    """The full id of a commit to index beside the branches and tags that are followed; git remotes only."""
    priority: PriorityName = "interactive"
    """Bulk runs wait for those that somebody waits for."""


class RulePlaceShape(Shape):
    """A line of an ignore file."""

    file: str
    line: int
    pattern: str


class IgnoreRuleShape(RulePlaceShape):
    entries: int
    """Files and folders that this line leaves out."""


class LeftOutShape(Shape):
    """What ignore files and globs leave out. An ignored folder is not looked into and counts as one."""

    ignored_files: int
    ignored_folders: int
    ignore_rules: list[IgnoreRuleShape]
    """Those that leave out most."""
    excluded: int
    """Files that `include` and `exclude` leave out."""
    unmatched_include: list[str]
    """Globs of `include` that no path matches."""


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
    left_out: LeftOutShape
    notices: list[str]
    """That nothing was indexed, or less than was left out, and what would change that."""


LEFT_OUT_EXAMPLE: Final[dict[str, Any]] = {
    "ignored_files": 3,
    "ignored_folders": 1,
    "ignore_rules": [
        {"file": ".gitignore", "line": 2, "pattern": "*.pyc", "entries": 3},
        {"file": ".gitignore", "line": 5, "pattern": "/build/", "entries": 1},
    ],
    "excluded": 207,
    "unmatched_include": [],
}

REPOSITORY_EXAMPLE: Final[dict[str, Any]] = {
    "name": "flask",
    "source": {
        "kind": "directory",
        "path": "/srv/checkouts/flask",
        "url": None,
        "refs": [],
        "credential": None,
        "submodules": False,
        "poll_seconds": None,
    },
    "refs": [
        {
            "name": "work tree",
            "kind": "work_tree",
            "is_default": True,
            "generation": 3,
            "revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345",
            "known_revision": "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345",
            "stale": False,
            "indexed_at": "2025-01-31T12:00:00Z",
        }
    ],
    "source_error": None,
    "include": ["src/flask/**"],
    "exclude": [],
    "respect_ignore": True,
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
        "left_out": LEFT_OUT_EXAMPLE,
        "notices": [],
    },
}


class RepositoryShape(Shape):
    """A repository and the state of its index."""

    model_config = ConfigDict(json_schema_extra={"examples": [REPOSITORY_EXAMPLE]})

    name: str
    source: SourceShape
    refs: list[RefShape]
    source_error: str | None
    """Why the source could not be read when it was last looked at; the index stays as it is."""
    include: list[str]
    exclude: list[str]
    respect_ignore: bool
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
    "priority": "interactive",
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
    priority: PriorityName
    """`interactive` goes first: what somebody waits for, before what a clock or a forge asked for."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result: dict[str, Any]


class JobAccepted(JobShape):
    """A job that was queued, or joined because it was waiting already."""

    model_config = ConfigDict(json_schema_extra={"examples": [JOB_EXAMPLE | {"state": "queued", "stage": None, "joined": False}]})

    joined: bool


class JobList(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [{"jobs": [JOB_EXAMPLE], "next_cursor": None}]})

    jobs: list[JobShape]
    """The newest first."""
    next_cursor: str | None
    """Null on the last page."""


class JobProgress(Shape):
    """A job as an event tells it, with guesses from the pace of its stage."""

    job: JobShape
    files_per_second: float | None
    remaining_seconds: float | None
    """Of the present stage; null while it cannot be guessed."""


class ArchiveAccepted(Shape):
    """What was taken over of an archive, and the job that indexes it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "job": JOB_EXAMPLE | {"state": "queued", "stage": None, "joined": False},
                    "files": 412,
                    "bytes": 3_811_204,
                    "left_out": {"unsafe_name": 1},
                    "left_out_names": ["../escape.py"],
                }
            ]
        }
    )

    job: JobAccepted
    files: int
    bytes: int
    """Of the files, unpacked."""
    left_out: dict[str, int]
    """Members that were not taken over, by reason."""
    left_out_names: list[str]
    """The first of their names."""


class WebhookAnswer(Shape):
    """What a delivery led to."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "queued", "jobs": ["0b9e5c1e-7a57-4c38-9d59-4b8d4d7c5a10"]}]})

    status: Literal["queued", "seen", "ignored", "unknown"]
    """`seen`: this very delivery came before; `ignored`: it moves no branch or tag; `unknown`: no repository has that remote."""
    jobs: list[str]


class CoverageParameters(StrictModel):
    revision: Annotated[Text, Field(max_length=300)] | None = None
    """The branch, tag or indexed commit; the default branch when absent."""
    path: PathText | None = None
    """This file only."""
    outcome: Literal["indexed", "text_only", "skipped"] | None = None
    """Files with this outcome only."""
    reason: SkipReason | None = None
    """Files with this reason only."""
    cursor: Text | None = None
    """`next_cursor` of the page before."""
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    """Files on this page."""


class FileCoverageShape(Shape):
    path: str
    outcome: Literal["indexed", "text_only", "skipped", "absent"]
    """`text_only`: found by its text and meaning, without symbols; `absent`: no index run met it."""
    reason: str | None
    """Why it is not indexed in full; for an absent one `excluded` by the repository's globs, `ignored` by a rule,
    `not_in_tree`, or, where the tree is not at hand, `not_in_revision_or_ignored`."""
    language: str | None
    path_class: PathClass | None
    rule: RulePlaceShape | None
    """Of an ignored path the line that decides it."""


class FileCoverageList(Shape):
    """Files by path, with what became of them."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "files": [
                        {
                            "path": "assets/logo.png",
                            "outcome": "skipped",
                            "reason": "binary",
                            "language": None,
                            "path_class": None,
                            "rule": None,
                        }
                    ],
                    "next_cursor": None,
                    "left_out": LEFT_OUT_EXAMPLE,
                    "index": ANSWER_EXAMPLE["index"],
                }
            ]
        }
    )

    files: list[FileCoverageShape]
    next_cursor: str | None
    left_out: LeftOutShape
    """What is not in the list, since the run that made this index did not meet it."""
    index: list[IndexShape]
