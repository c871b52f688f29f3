"""What index runs are asked for: by callers, and by the clock that looks at sources."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import Final

import structlog

from app.domain.errors import FourfoldError, InvalidRequest
from app.domain.index import WORK_TREE, Job, JobPlace, JobState, Priority, RefKind, Repository, SourceKind
from app.indexing.discover import revision as revision_of
from app.observability import metrics
from app.sources.git import GitError
from app.sources.mirrors import Mirrors
from app.storage import refs
from app.storage.engine import Connection
from app.storage.jobs import Jobs
from app.storage.repositories import Repositories

SUBMODULE_RETRY: Final = timedelta(hours=1)

_log = structlog.get_logger(__name__)


class IndexRequests:
    """The JobStore as callers see it: a request carries the revision that a directory has now, so that equal requests are one."""

    def __init__(
        self, repositories: Repositories, jobs: Jobs, mirrors: Mirrors, connect: Callable[[], AbstractAsyncContextManager[Connection]]
    ) -> None:
        self._repositories = repositories
        self._jobs = jobs
        self._mirrors = mirrors
        self._connect = connect

    async def enqueue(self, repository: str, revision: str | None = None, priority: Priority = Priority.INTERACTIVE) -> tuple[Job, bool]:
        """See ports.JobStore. A tree that cannot be read is queued all the same: the run then fails with the reason."""
        known = await self._repositories.get(repository)
        if revision is not None:
            await self._request(known, revision)
        if known.source.kind is not SourceKind.DIRECTORY:
            return await self._jobs.enqueue(repository, priority=priority)
        try:
            now = await asyncio.to_thread(revision_of, known.source)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return await self._jobs.enqueue(repository, priority=priority)
        await self._repositories.looked(known.id, {WORK_TREE: now})
        return await self._jobs.enqueue(repository, now, priority)

    async def _request(self, repository: Repository, revision: str) -> None:
        """Have the next run index a commit too; a ref that is followed is indexed by every run."""
        if any(revision in (ref.name, ref.short_name) for ref in repository.refs):
            return
        if repository.source.kind is not SourceKind.GIT:
            raise InvalidRequest("only a repository with a git URL has other revisions than its newest", field="revision")
        if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", revision):
            followed = ", ".join(ref.short_name for ref in repository.refs) or "none yet"
            raise InvalidRequest(f"give the full id of a commit, or a ref that is followed ({followed})", field="revision")
        async with self._connect() as own:
            await refs.request_commit(own, repository.id, revision)

    async def get(self, job_id: str) -> Job:
        """See ports.JobStore."""
        return await self._jobs.get(job_id)

    async def cancel(self, job_id: str) -> Job:
        """See ports.JobStore."""
        return await self._jobs.cancel(job_id)

    async def list(
        self, repository: str | None = None, limit: int = 50, state: JobState | None = None, after: JobPlace | None = None
    ) -> Sequence[Job]:
        """See ports.JobStore."""
        return await self._jobs.list(repository, limit, state, after)

    async def look(self, repository: Repository) -> None:
        """Learn a source's newest revisions; queue a run where it moved on and is to be followed. A source that cannot be read is noted."""
        source = repository.source
        try:
            known = await asyncio.to_thread(self._newest, repository)
        except (OSError, FourfoldError, GitError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            await self._repositories.looked(repository.id, {}, f"cannot read {source.location}: {reason}")
            metrics.count_source("failed")
            _log.warning("source_unavailable", repository=repository.name, error=reason)
            return
        await self._repositories.looked(repository.id, known)
        shown = {ref.name: ref.revision for ref in repository.refs if ref.kind is not RefKind.COMMIT}
        metrics.count_source("current" if shown == known else "moved")
        if source.submodules and await self._lacks_submodules(repository.name):
            await self._jobs.enqueue(repository.name, priority=Priority.BULK)
        if shown != known and (source.kind is SourceKind.GIT or source.poll_seconds is not None):
            await self._jobs.enqueue(repository.name, priority=Priority.BULK)

    async def _lacks_submodules(self, repository: str) -> bool:
        """Whether the last run could not have one, and that was long enough ago to try again."""
        for job in await self._jobs.list(repository, 1, JobState.SUCCEEDED):
            return bool(job.result.get("failed")) and job.finished_at is not None and job.finished_at < datetime.now(UTC) - SUBMODULE_RETRY
        return False

    def _newest(self, repository: Repository) -> Mapping[str, str]:
        if repository.source.kind is SourceKind.GIT:
            seen, _ = self._mirrors.mirror(repository).list_refs().chosen(repository.source.refs)
            return {name: commit for name, (_, commit) in seen.items()}
        return {WORK_TREE: revision_of(repository.source)}
