"""Runs the queue: claim → run → finish or retry; between jobs it embeds what is pending and looks whether local trees moved on."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter
from collections.abc import Coroutine, Mapping
from dataclasses import asdict
from math import inf
from time import monotonic
from typing import Any, Final

import structlog

from app.bootstrap import Backend, backend
from app.config import Settings
from app.domain.errors import (
    ConfigurationError,
    Conflict,
    EmbedderUnavailable,
    FourfoldError,
    InvalidRequest,
    RepositoryNotFound,
    SourceRefused,
    SourceUnavailable,
    StoreBusy,
    StoreUnavailable,
)
from app.domain.index import Job, JobState, Repository, SourceKind, short_name
from app.indexing.embed_sets import VectorSets
from app.indexing.indexed_definitions import DefinitionMemory
from app.indexing.parse import ParsePool, extractor_version
from app.indexing.pipeline import IndexRun
from app.indexing.refresh import Refreshed, Refresher
from app.indexing.remember import read_ahead, remember
from app.indexing.seen import SeenRepositories
from app.observability import metrics
from app.ports import EmbeddingFailed
from app.sources import git
from app.sources.git import GitError
from app.storage.engine import CONNECTION_ERRORS, GIVEN_UP, Connection, connection
from app.storage.jobs import Claims, ProgressStore
from app.storage.newest import newest_index
from app.storage.retention import forget
from app.storage.sweep import Swept, due, sweep
from app.storage.writer import known_digests, stored_versions

NICENESS: Final = 5
IDLE_SECONDS: Final = 0.5
RECONNECT_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 5.0
PROGRESS_SECONDS: Final = 0.25
SWEEP_SECONDS: Final = 10.0
MOST_GIVEN_WAY: Final = 8
"""Times in a row that the sweep of a repository ends for a job: what is dead adds up, and slows every answer."""

FORGET_SECONDS: Final = 3_600.0
LOOK_SECONDS: Final = 1.0
EMBED_STOP_SECONDS: Final = 4.0
EMBED_WAIT_SECONDS: Final = 10.0
EMBED_RETRY_SECONDS: Final = 60.0
LONGEST_EMBED_RETRY_SECONDS: Final = 600.0

STORE_LOST: Final = (StoreUnavailable, *CONNECTION_ERRORS)

STORE_FAILED: Final[tuple[type[Exception], ...]] = (*STORE_LOST, StoreBusy, *GIVEN_UP)
"""What the worker outlives. A run that only gave a statement up is tried again, as after any other fault, and not for ever."""

READ_FAILED: Final[tuple[type[Exception], ...]] = (*STORE_FAILED, RepositoryNotFound, OSError)
"""What reading ahead may come to: the run that wants it reads for itself."""

_log = structlog.get_logger(__name__)


class Cancelled(Exception):
    """The job was cancelled or its repository deleted."""


class Worker:
    """One worker; several may serve one database."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._settings = backend.settings
        self._memory = DefinitionMemory()
        self._seen = SeenRepositories()
        self._remembering: asyncio.Task[None] | None = None
        self._beginning: tuple[asyncio.Task[None], ...] = ()
        self._remembers: str | None = None
        self._vector_sets = VectorSets(backend.connect, backend.embedders, backend.settings.embedding)
        self._indexing = False
        self._swept_at = 0.0
        self._given_way: Counter[int] = Counter()
        self._forgot_at = -inf

    async def run(self, stop: asyncio.Event) -> None:
        """Serve the queue until ``stop``; a lost database is waited for."""
        embedding = asyncio.create_task(self._keep_embedding(stop))
        looking = asyncio.create_task(self._keep_looking(stop))
        self._begin_remembering(stop)
        try:
            with ParsePool(self._settings.index) as pool:
                pool.warm()
                while not stop.is_set():
                    try:
                        await _until(stop, self._serve(pool, stop))
                    except STORE_FAILED as error:
                        _log.warning("store_lost", error=str(error))
                        await self._backend.ensure_store()
                        await _sleep(stop, RECONNECT_SECONDS)
        finally:
            stop.set()
            self._backend.embedders.interrupt()
            git.interrupt()
            await asyncio.wait({embedding, looking}, timeout=EMBED_STOP_SECONDS)
            tasks = (embedding, looking, *self._beginning)
            for task in tasks:
                task.cancel()  # the index of a large vector set takes minutes to build
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, pool: ParsePool, stop: asyncio.Event) -> None:
        async with connection(self._backend.dsn, application_name="fourfold worker") as own:
            queued = await Claims(own).listen()
            while not stop.is_set():
                queued.clear()
                if await self._next_job(own, pool) or await asyncio.to_thread(self._memory.prepare):
                    continue
                await self._sweep(own, queued)
                await _sleep(queued, IDLE_SECONDS)

    async def step(self, pool: ParsePool) -> bool:
        """Run the next job, if one waits."""
        async with connection(self._backend.dsn, application_name="fourfold worker") as own:
            return await self._next_job(own, pool)

    async def _next_job(self, own: Connection, pool: ParsePool) -> bool:
        claims = Claims(own)
        await claims.recover_abandoned()
        job = await claims.claim()
        if job is None:
            return False
        self._indexing = True
        await self._settle_memory(job)
        try:
            await self._run_job(claims, pool, job)
        except asyncio.CancelledError:  # the worker stops: another one, or the next start, goes on
            await claims.give_back(job)
            raise
        finally:
            self._indexing = False
        return True

    def _begin_remembering(self, stop: asyncio.Event) -> None:
        """Learn what the first run will need, beside whatever else there is to do."""
        self._remembering = asyncio.create_task(self._remember())
        self._memory.fill(self._remembering)
        self._beginning = (self._remembering, asyncio.create_task(self._read_ahead(self._remembering, stop)))

    async def _remember(self) -> None:
        try:
            async with connection(self._backend.dsn, application_name="fourfold worker") as own:
                newest = await newest_index(own, extractor_version(self._settings.index))
                if newest is not None:
                    self._remembers = newest.name
                    await remember(own, newest, self._memory)
        except STORE_FAILED as error:
            _log.warning("remembering_interrupted", error=str(error))

    async def _read_ahead(self, remembering: asyncio.Task[None], stop: asyncio.Event) -> None:
        """Then the files of that repository, until a run begins: it reads the others itself."""
        await asyncio.wait([remembering])
        if self._remembers is None or self._indexing:
            return
        try:
            repository = await self._backend.repositories.get(self._remembers)
            if repository.source.kind is SourceKind.DIRECTORY:
                seen = self._seen.of((repository.id, repository.created_at))
                settings = self._settings.index
                async with connection(self._backend.dsn, application_name="fourfold worker") as own:
                    stored = await stored_versions(own, repository.id, extractor_version(settings))
                known = known_digests(stored)
                await asyncio.to_thread(read_ahead, repository.source, settings, seen, known, lambda: self._indexing or stop.is_set())
        except READ_FAILED as error:
            _log.warning("reading_ahead_interrupted", error=str(error))

    async def _settle_memory(self, job: Job) -> None:
        """A run of the repository that is being remembered would read the same; one of another does not wait for it."""
        if self._remembering is not None and not self._remembering.done() and self._remembers != job.repository:
            self._remembering.cancel()
            await asyncio.wait([self._remembering])

    async def _run_job(self, claims: Claims, pool: ParsePool, job: Job) -> None:
        try:
            repository = await self._backend.repositories.get(job.repository)
        except RepositoryNotFound:
            return  # deleted since the claim, and the job with it
        log = _log.bind(job=job.id, repository=job.repository, attempt=job.attempts)
        log.info("index_started")
        try:
            done = await self._index(claims, pool, job, repository)
        except (Cancelled, RepositoryNotFound):
            await self._finish(claims, job, JobState.CANCELLED, "cancelled on request")
            log.info("index_cancelled")
        except (FileNotFoundError, NotADirectoryError, PermissionError, InvalidRequest, SourceRefused, ConfigurationError) as error:
            reason = error.message if isinstance(error, FourfoldError) else error.strerror or error
            message = f"cannot read {repository.source.location}: {reason}; the last index stays in place"
            await self._backend.repositories.looked(repository.id, {}, message)
            await self._finish(claims, job, JobState.FAILED, message)
            log.warning("index_failed", error=message)
        except (SourceUnavailable, GitError) as error:  # passing faults of a remote
            await self._backend.repositories.looked(repository.id, {}, str(error))
            metrics.count_source("failed")
            log.warning("source_unavailable", error=str(error))
            await claims.retry_later(job, f"{error}; the last index stays in place", RETRY_SECONDS * 2 ** (job.attempts - 1))
        except STORE_LOST:
            raise
        except Exception as error:
            log.exception("index_failed")
            await claims.retry_later(job, f"{type(error).__name__}: {error}", RETRY_SECONDS * job.attempts)
        else:
            await self._finish(claims, job, JobState.SUCCEEDED, None, _result(done))
            for ref, run in done.runs.items():
                _observe(run)
                log.info(
                    "index_published",
                    ref=ref,
                    generation=run.generation,
                    analysed=run.analysed,
                    unchanged=run.unchanged,
                    seconds=run.seconds,
                )
                for notice in run.coverage.notices:
                    log.warning("index_notice", ref=ref, notice=notice)
        finally:
            await claims.release(repository.id)

    async def _finish(
        self, claims: Claims, job: Job, state: JobState, error: str | None = None, result: Mapping[str, object] | None = None
    ) -> None:
        await claims.finish(job, state, error, result)
        metrics.count_job(str(state))

    async def _index(self, claims: Claims, pool: ParsePool, job: Job, repository: Repository) -> Refreshed:
        progress = _Progress(ProgressStore(self._backend.pool, job.id))
        await self._vector_sets.serving(claims.connection)  # the run counts what has no vector in it yet
        refresher = Refresher(claims.connection, self._backend.mirrors, pool, self._settings.index, self._memory, self._seen)
        done = await refresher.refresh(repository, progress.report)
        await self._backend.repositories.looked(repository.id, {})
        return done

    async def _keep_embedding(self, stop: asyncio.Event) -> None:
        """Embed whatever waits while no index run needs the machine; a provider, model or store that fails is tried again later."""
        while self._backend.embedders.target is not None and not stop.is_set():
            try:
                async with connection(self._backend.dsn, application_name="fourfold embedding") as own:
                    await self._embed(own, stop)
                pause = 0.0
            except STORE_FAILED as error:
                _log.warning("embedding_interrupted", error=str(error))
                pause = RECONNECT_SECONDS
            except EmbedderUnavailable as error:
                pause = min(error.retry_after or EMBED_WAIT_SECONDS, LONGEST_EMBED_RETRY_SECONDS)
                _log.warning("embedding_waits", error=error.message, retry_seconds=pause)
            except (EmbeddingFailed, ConfigurationError) as error:
                _log.error("embedding_failed", error=str(error), retry_seconds=EMBED_RETRY_SECONDS)
                pause = EMBED_RETRY_SECONDS
            await _sleep(stop, pause)

    async def _embed(self, own: Connection, stop: asyncio.Event) -> None:
        while not stop.is_set():
            done = 0 if self._indexing else await self._vector_sets.round(own, lambda: stop.is_set() or self._indexing)
            await _sleep(stop, 0.0 if done else IDLE_SECONDS)

    async def _sweep(self, own: Connection, queued: asyncio.Event) -> None:
        """Remove replaced content, one repository at a time, until a job is queued.

        On another connection: one in a transaction is not told of jobs.
        """
        if monotonic() - self._swept_at < SWEEP_SECONDS:
            return
        self._swept_at = monotonic()
        for repository_id in await due(own, self._settings.index.grace_seconds):
            async with connection(self._backend.dsn, application_name="fourfold sweep") as sweeping:
                work = asyncio.create_task(sweep(sweeping, repository_id, self._settings.index.grace_seconds, _count_swept))
                await self._give_way(work, repository_id, queued)
            if work.cancelled():
                return
            swept = work.result()
            if swept is not None:
                metrics.count_sweep("done")
                _log.info("swept", repository_id=repository_id, **asdict(swept))
        await self._forget(own)

    async def _give_way(self, work: asyncio.Task[Swept | None], repository_id: int, queued: asyncio.Event) -> None:
        """Let a sweep end, or cancel it when a job is queued; one that was cancelled often goes on, since what is dead adds up."""
        waiting = asyncio.create_task(queued.wait())
        try:
            given_way = self._given_way[repository_id] >= MOST_GIVEN_WAY
            tasks: set[asyncio.Task[Any]] = {work} if given_way else {work, waiting}
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
            if not work.done():
                work.cancel()
                await asyncio.wait({work})
        if not work.cancelled():
            self._given_way.pop(repository_id, None)
            return
        self._given_way[repository_id] += 1
        _log.info("sweep_gave_way", repository_id=repository_id, times=self._given_way[repository_id])
        metrics.count_sweep("gave_way")

    async def _forget(self, own: Connection) -> None:
        """Remove what is kept for a time only."""
        if monotonic() - self._forgot_at < FORGET_SECONDS:
            return
        self._forgot_at = monotonic()
        kept = self._settings.retention
        forgotten = dict(await forget(own, kept.job_days, kept.blob_days, kept.audit_days))
        forgotten["copy"] = await asyncio.to_thread(self._backend.mirrors.sweep)
        for kind, removed in forgotten.items():
            metrics.count_removed(kind, removed)
        if any(forgotten.values()):
            _log.info("forgotten", **forgotten)

    async def _keep_looking(self, stop: asyncio.Event) -> None:
        """Learn the newest revisions of sources whose time has come, so that answers can say ``stale``; have moved ones indexed.

        Beside the jobs: a remote that does not answer holds up nothing but other looks.
        """
        while not stop.is_set():
            try:
                for name in await self._backend.repositories.due(self._settings.index.poll_seconds, self._settings.git.poll_seconds):
                    with contextlib.suppress(RepositoryNotFound, Conflict):
                        await self._backend.requests.look(await self._backend.repositories.get(name))
            except STORE_FAILED as error:
                _log.warning("looking_interrupted", error=str(error))
            await _sleep(stop, LOOK_SECONDS)


class _Progress:
    """Writes progress at most a few times a second and stops a run that is no longer wanted."""

    def __init__(self, store: ProgressStore) -> None:
        self._store = store
        self._stage = ""
        self._told_at = 0.0

    async def report(self, stage: str, done: int, total: int | None) -> None:
        if stage == self._stage and monotonic() - self._told_at < PROGRESS_SECONDS:
            return
        self._stage, self._told_at = stage, monotonic()
        if not await self._store.report(stage, done, total):
            raise Cancelled


def _count_swept(swept: Swept) -> None:
    for kind, removed in (("generation", swept.generations), ("file", swept.files), ("library", swept.libraries)):
        metrics.count_removed(kind, removed)


def _observe(run: IndexRun) -> None:
    for stage, seconds in run.seconds.items():
        metrics.observe_stage(stage, seconds)
    for (language, outcome), files in run.handled.items():
        metrics.count_files(language, outcome, files)
    for reason, files in run.parse_failures.items():
        metrics.count_parse_failures(reason, files)


def _result(done: Refreshed) -> dict[str, object]:
    """Of the default ref's run in full, of the others by name."""
    runs = {short_name(ref): _run_result(run) for ref, run in done.runs.items()}
    first: dict[str, object] = next(iter(runs.values()), {})
    return first | {"refs": runs, "current": [short_name(ref) for ref in done.current], "failed": done.failed}


def _run_result(run: IndexRun) -> dict[str, object]:
    return {
        "generation": run.generation,
        "revision": run.revision,
        "files": run.coverage.files,
        "skipped": run.coverage.skipped,
        "analysed": run.analysed,
        "unchanged": run.unchanged,
        "seconds": run.seconds,
        "left_out": asdict(run.coverage.left_out),
        "notices": list(run.coverage.notices),
    }


async def _until(stop: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    """Run ``work`` to its end, or cancel it when ``stop`` is set."""
    tasks = [asyncio.create_task(work), asyncio.create_task(stop.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _sleep(end: asyncio.Event, seconds: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(end.wait(), seconds)


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """A worker on the store that the settings name, until ``stop``; it gives way to searches."""
    os.nice(NICENESS)
    async with backend(settings) as opened:
        await Worker(opened).run(stop)
