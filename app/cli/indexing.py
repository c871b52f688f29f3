"""Indexes a repository and shows how far it is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from app.cli.access_commands import record
from app.cli.printing import err, safe
from app.domain.errors import FourfoldError, InvalidRequest
from app.domain.index import Job, JobState, RepositorySource, SourceKind
from app.http.schemas.fields import NAME_PATTERN
from app.ports import Remotes
from app.sources.address import parse_address
from app.worker_process import running_worker

if TYPE_CHECKING:
    from app.http.service import Service

_POLL_SECONDS: Final = 0.2
_PATIENCE_SECONDS: Final = 1.5
_WORKER_ATTEMPTS: Final = 3
_ENDED: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be indexed, as the command line says it: a directory or a remote's address, and what of it."""

    place: str
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    refs: Sequence[str] = ()
    credential: str | None = None
    submodules: bool = False
    no_ignore: bool = False

    @property
    def is_remote(self) -> bool:
        """Whether the place is an address: ``https://…``, or git's short form ``git@host:path``."""
        return bool(re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://|[\w.-]+@[\w.-]+:", self.place))

    def source(self, remotes: Remotes | None = None) -> RepositorySource:
        """The source; raises InvalidRequest. An address is looked up only when ``remotes`` are given."""
        include, exclude = tuple(self.include), tuple(self.exclude)
        if not self.is_remote:
            if self.refs or self.credential or self.submodules:
                raise InvalidRequest("--ref, --credential and --submodules belong to a git remote", field="path")
            return RepositorySource(_directory(self.place), include, exclude, respect_ignore=not self.no_ignore)
        if self.no_ignore:
            raise InvalidRequest("--no-ignore belongs to a directory; what is committed is indexed anyway", field="path")
        url = remotes.check(self.place, self.credential).url if remotes else parse_address(self.place).url
        refs, kind = tuple(self.refs), SourceKind.GIT
        return RepositorySource("", include, exclude, url, refs, self.credential, self.submodules, kind=kind)

    def name(self, name: str | None) -> str:
        """The given name, or the last part of the place; raises InvalidRequest when that is no slug."""
        own = (
            re.split(r"[/:]", self.place.rstrip("/"))[-1].removesuffix(".git")
            if self.is_remote
            else Path(self.place).expanduser().resolve().name
        )
        chosen = name or own
        if not re.fullmatch(NAME_PATTERN, chosen):
            raise InvalidRequest(f"{chosen!r} is no repository name (letters, digits, '.', '_', '-'); choose one with --name", field="name")
        return chosen


def _directory(place: str) -> str:
    resolved = Path(place).expanduser().resolve()
    if not resolved.is_dir():
        raise InvalidRequest(f"{place} is no directory", field="path")
    try:
        str(resolved).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(f"the path {place} is not UTF-8", field="path") from None
    return str(resolved)


async def start_job(service: Service, name: str, wanted: Wanted, revision: str | None = None) -> Job:
    """Create or update the repository and queue an index run, or join the one that waits."""
    await service.repositories.put(name, await asyncio.to_thread(wanted.source, service.remotes))
    job, _ = await service.jobs.enqueue(name, revision)
    await record(service, "index", name, 202)
    return job


async def finished(service: Service, job: Job, *, own_worker: bool) -> Job:
    """Wait for the job behind a progress bar; raises FourfoldError when it fails.

    With ``own_worker`` a worker is started here when nobody else takes the job soon.
    """
    async with AsyncExitStack() as stack:
        show = await stack.enter_async_context(_progress(job.repository))
        waited = 0.0
        worker: asyncio.Task[None] | None = None
        while job.state not in _ENDED:
            if own_worker and worker is None and job.state is JobState.QUEUED and waited >= _PATIENCE_SECONDS:
                worker = await stack.enter_async_context(running_worker(attempts=_WORKER_ATTEMPTS))
            if worker is not None and worker.done():
                worker.result()
            await asyncio.sleep(_POLL_SECONDS)
            waited += _POLL_SECONDS
            job = await service.jobs.get(job.id)
            show.report(job)
    if job.state is not JobState.SUCCEEDED:
        raise FourfoldError(f"indexing {job.repository} {job.state}: {job.error or 'no reason given'}")
    return job


class _Shown:
    """One line of progress, redrawn on a terminal and printed per stage elsewhere."""

    def __init__(self, progress: Progress, repository: str) -> None:
        self._progress = progress
        self._stage: str | None = None
        self._task = progress.add_task("waiting for a worker", total=None, repository=repository)

    def report(self, job: Job) -> None:
        stage = job.stage or job.state.value
        self._progress.update(self._task, description=safe(stage), completed=job.files_done, total=job.files_total)
        if stage != self._stage and not err.is_terminal:
            err.print(f"indexing {job.repository}: {safe(stage)}", markup=False)
        self._stage = stage


@asynccontextmanager
async def _progress(repository: str) -> AsyncIterator[_Shown]:
    columns = (
        SpinnerColumn(),
        TextColumn("indexing {task.fields[repository]}: {task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        yield _Shown(progress, repository)
