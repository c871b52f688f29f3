"""Runs the queue: claim → run → finish or retry; between jobs it embeds what is pending and looks whether local trees moved on."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from time import monotonic
from typing import Final

import structlog

from app.bootstrap import Backend, backend
from app.config import Settings
from app.domain.errors import StoreUnavailable
from app.domain.index import Job, JobState, Repository
from app.indexing.discover import revision
from app.indexing.embed import embed_pending
from app.indexing.parse import ParsePool
from app.indexing.pipeline import IndexRun, index_tree
from app.observability import metrics
from app.storage.engine import CONNECTION_ERRORS, connection
from app.storage.jobs import Claims, ProgressStore
from app.storage.repositories import MAIN_BRANCH
from app.storage.vectors import refresh_counts
from app.storage.writer import IndexWriter

IDLE_SECONDS: Final = 0.5
RECONNECT_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 5.0
PROGRESS_SECONDS: Final = 0.25
EMBED_SECONDS: Final = 5.0
"""How long embedding may go on before the queue is looked at again."""

_log = structlog.get_logger(__name__)


class Cancelled(Exception):
    """The job was cancelled or its repository deleted."""


class Worker:
    """One worker; several may serve one database."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._settings = backend.settings
        self._looked_at = 0.0

    async def run(self, stop: asyncio.Event) -> None:
        """Serve the queue until ``stop``; a lost database is waited for."""
        with ParsePool(self._settings.index) as pool:
            while not stop.is_set():
                try:
                    await self._serve(pool, stop)
                except (StoreUnavailable, *CONNECTION_ERRORS) as error:
                    _log.warning("store_lost", error=str(error))
                    await self._backend.ensure_store()
                    await _sleep(stop, RECONNECT_SECONDS)

    async def _serve(self, pool: ParsePool, stop: asyncio.Event) -> None:
        async with connection(self._backend.dsn, application_name="fourfold worker") as own:
            claims = Claims(own)
            while not stop.is_set():
                await claims.recover_abandoned()
                job = await claims.claim()
                if job is not None:
                    await self._run_job(claims, pool, job)
                    continue
                await self._look_for_changes()
                if not await self._embed(stop):
                    await _sleep(stop, IDLE_SECONDS)

    async def _run_job(self, claims: Claims, pool: ParsePool, job: Job) -> None:
        repository = await self._backend.repositories.get(job.repository)
        log = _log.bind(job=job.id, repository=job.repository, attempt=job.attempts)
        log.info("index_started")
        try:
            run = await self._index(claims, pool, job, repository)
        except Cancelled:
            await claims.finish(job, JobState.CANCELLED, "cancelled on request")
            log.info("index_cancelled")
        except (FileNotFoundError, NotADirectoryError, PermissionError) as error:
            message = f"cannot read {repository.source.path}: {error.strerror or error}; the last index stays in place"
            await claims.finish(job, JobState.FAILED, message)
            log.warning("index_failed", error=message)
        except (StoreUnavailable, *CONNECTION_ERRORS):
            raise
        except Exception as error:
            log.exception("index_failed")
            await claims.retry_later(job, f"{type(error).__name__}: {error}", RETRY_SECONDS * job.attempts)
        else:
            await claims.finish(job, JobState.SUCCEEDED, None, _result(run))
            _observe(run)
            log.info("index_published", generation=run.generation, analysed=run.analysed, unchanged=run.unchanged, seconds=run.seconds)
        finally:
            await claims.release(repository.id)

    async def _index(self, claims: Claims, pool: ParsePool, job: Job, repository: Repository) -> IndexRun:
        writer = IndexWriter(claims.connection, repository.id, MAIN_BRANCH, pool.extractor)
        progress = _Progress(ProgressStore(self._backend.pool, job.id), job.revision)
        run = await index_tree(repository.source, writer, pool, self._settings.index, progress.report)
        if self._backend.embedder is not None:
            await refresh_counts(claims.connection, repository.id, self._backend.embedder.name)
        return run

    async def _embed(self, stop: asyncio.Event) -> bool:
        """Embed for a while; true when there was something to do."""
        embedder = self._backend.embedder
        if embedder is None:
            return False
        deadline = monotonic() + EMBED_SECONDS
        embedded = 0
        for repository in await self._backend.repositories.list():
            if repository.coverage.embeddings_pending and not stop.is_set():
                embedded += await embed_pending(
                    self._backend.connect,
                    embedder,
                    repository.id,
                    should_stop=lambda: stop.is_set() or monotonic() > deadline,
                )
        return embedded > 0

    async def _look_for_changes(self) -> None:
        """Learn the revisions of local trees, so that answers can say ``stale``."""
        if monotonic() - self._looked_at < self._settings.index.poll_seconds:
            return
        self._looked_at = monotonic()
        for repository in await self._backend.repositories.list():
            if repository.generation:
                with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
                    now = await asyncio.to_thread(revision, Path(repository.source.path))
                    await self._backend.repositories.set_known_revision(repository.id, now)


class _Progress:
    """Writes progress at most a few times a second and stops a run that is no longer wanted."""

    def __init__(self, store: ProgressStore, revision: str | None) -> None:
        self._store = store
        self._revision = revision
        self._stage = ""
        self._told_at = 0.0

    async def report(self, stage: str, done: int, total: int | None) -> None:
        if stage == self._stage and monotonic() - self._told_at < PROGRESS_SECONDS:
            return
        self._stage, self._told_at = stage, monotonic()
        if not await self._store.report(stage, done, total, self._revision):
            raise Cancelled


def _observe(run: IndexRun) -> None:
    for stage, seconds in run.seconds.items():
        metrics.observe_stage(stage, seconds)
    metrics.count_job(str(JobState.SUCCEEDED))


def _result(run: IndexRun) -> dict[str, object]:
    return {
        "generation": run.generation,
        "revision": run.revision,
        "files": run.coverage.files,
        "skipped": run.coverage.skipped,
        "analysed": run.analysed,
        "unchanged": run.unchanged,
        "seconds": run.seconds,
    }


async def _sleep(stop: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), seconds)


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """A worker on the store that the settings name, until ``stop``."""
    async with backend(settings) as opened:
        await Worker(opened).run(stop)
