"""The durable queue of index runs: a table, SKIP LOCKED and one advisory lock per running job.

A worker holds the lock of the job's repository on the connection that it works with. When the worker dies the server drops the lock, so
a running job whose lock is free is known to be abandoned without waiting for a heartbeat to age.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Final

import asyncpg

from app.domain.access import repository_not_found, require_repository, sees, visible_ids
from app.domain.errors import Conflict, JobNotFound
from app.domain.index import Job, JobPlace, JobState
from app.storage.engine import Connection
from app.storage.pool import Pool

LOCK_NAMESPACE: Final = 0x6A6F6273
CHANNEL: Final = "fourfold_jobs"
"""On which workers are told that something waits."""

MAX_ATTEMPTS: Final = 5

_COLUMNS = """
    j.id::text AS id, r.name AS repository, j.repository_id, j.state, j.stage, j.files_done, j.files_total, j.error, j.attempts, j.revision,
    j.priority,    j.created_at, j.started_at, j.finished_at, j.result
"""
_SELECT = f"SELECT {_COLUMNS} FROM job j JOIN repository r ON r.id = j.repository_id"

ENQUEUE = """
    INSERT INTO job (id, repository_id, revision, priority) VALUES ($1, $2, $3, $4)
    ON CONFLICT (repository_id) WHERE state = 'queued' DO NOTHING
    RETURNING id
"""

# A job whose repository is being indexed waits: the unique index on running jobs would refuse it.
CLAIM = """
    UPDATE job SET state = 'running', attempts = attempts + 1, started_at = COALESCE(started_at, now()), heartbeat_at = now(),
                   stage = 'start', error = NULL, files_done = 0, files_total = NULL
    WHERE id = (
        SELECT j.id FROM job j
        WHERE j.state = 'queued' AND j.run_after <= now()
          AND NOT EXISTS (SELECT 1 FROM job k WHERE k.repository_id = j.repository_id AND k.state = 'running')
        ORDER BY j.priority DESC, j.created_at
        LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id::text, repository_id
"""

ABANDONED = "SELECT id::text, repository_id, attempts FROM job WHERE state = 'running' FOR UPDATE SKIP LOCKED"


class Jobs:
    """The JobStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def enqueue(self, repository: str, revision: str | None = None, priority: int = 0) -> tuple[Job, bool]:
        """See ports.JobStore. Also joins a run in progress when it began with this very revision."""
        require_repository(repository)
        async with self._pool.owner() as connection, connection.transaction():
            repository_id = await connection.fetchval("SELECT id FROM repository WHERE name = $1", repository)
            if repository_id is None:
                raise repository_not_found(repository)
            if revision is not None:
                running = await connection.fetchval(
                    "SELECT id::text FROM job WHERE repository_id = $1 AND state = 'running' AND revision = $2", repository_id, revision
                )
                if running is not None:
                    return await _get(connection, running), True
            created = await connection.fetchval(ENQUEUE, uuid.uuid4(), repository_id, revision, priority)
            if created is None:
                waiting = await connection.fetchval(
                    "UPDATE job SET revision = COALESCE($2, revision), priority = greatest(priority, $3), "
                    "run_after = CASE WHEN $3 > 0 THEN now() ELSE run_after END "
                    "WHERE repository_id = $1 AND state = 'queued' RETURNING id::text",
                    repository_id,
                    revision,
                    priority,
                )
                if waiting is not None:
                    await connection.execute(f"NOTIFY {CHANNEL}")
                    return await _get(connection, waiting), True
                raise Conflict("the waiting job was claimed at this moment; ask again", retry_after=1)
            await connection.execute(f"NOTIFY {CHANNEL}")
            return await _get(connection, str(created)), False

    async def get(self, job_id: str) -> Job:
        """See ports.JobStore; raises JobNotFound."""
        async with self._pool.connection() as connection:
            return await _get(connection, job_id)

    async def list(
        self, repository: str | None = None, limit: int = 50, state: JobState | None = None, after: JobPlace | None = None
    ) -> Sequence[Job]:
        """The newest jobs, of one repository or of all that the caller may see, in one state or in any; those older than ``after``."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(
                f"{_SELECT} WHERE ($1::text IS NULL OR r.name = $1) AND ($3::text IS NULL OR j.state = $3) "
                "AND ($4::int[] IS NULL OR r.id = ANY($4)) AND ($5::timestamptz IS NULL OR (j.created_at, j.id) < ($5, $6::uuid)) "
                "ORDER BY j.created_at DESC, j.id DESC LIMIT $2",
                repository,
                limit,
                state and str(state),
                visible_ids(),
                *(after or (None, None)),
            )
        return [_job(row) for row in rows]

    async def cancel(self, job_id: str) -> Job:
        """Cancel a waiting job at once, a running one at its next step; a finished one raises Conflict."""
        async with self._pool.owner() as connection, connection.transaction():
            job = await _get(connection, job_id)
            if job.state is JobState.QUEUED:
                await connection.execute(
                    "UPDATE job SET state = 'cancelled', finished_at = now() WHERE id = $1::uuid AND state = 'queued'", job_id
                )
            elif job.state is JobState.RUNNING:
                await connection.execute("UPDATE job SET cancel_requested = true WHERE id = $1::uuid AND state = 'running'", job_id)
            else:
                raise Conflict(f"job {job_id} is already {job.state}")
            return await _get(connection, job_id)


class Claims:
    """The queue as a worker sees it, on the worker's own connection, which carries the repository locks."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @property
    def connection(self) -> Connection:
        """The worker's own connection."""
        return self._connection

    async def listen(self) -> asyncio.Event:
        """Set from now on whenever a job is queued; whoever waits for it clears it first. It spares a look, and replaces none."""
        queued = asyncio.Event()
        await self._connection.add_listener(CHANNEL, lambda *_: queued.set())
        return queued

    async def claim(self) -> Job | None:
        """Take the next job and the lock of its repository; None when nothing waits."""
        async with self._connection.transaction():
            row = await self._connection.fetchrow(CLAIM)
            if row is None:
                return None
            locked = await self._connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", LOCK_NAMESPACE, row["repository_id"])
            if not locked:  # another worker is just finishing this repository
                await self._connection.execute(
                    "UPDATE job SET state = 'queued', attempts = attempts - 1, run_after = now() + interval '1 second' WHERE id = $1::uuid",
                    row["id"],
                )
                return None
            return await _get(self._connection, row["id"])

    async def release(self, repository_id: int) -> None:
        """Give the repository's lock back."""
        await self._connection.execute("SELECT pg_advisory_unlock($1, $2)", LOCK_NAMESPACE, repository_id)

    async def recover_abandoned(self) -> int:
        """Queue the running jobs whose worker is gone again, or fail them after too many attempts; returns how many."""
        recovered = 0
        async with self._connection.transaction():
            for row in await self._connection.fetch(ABANDONED):
                if not await self._connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", LOCK_NAMESPACE, row["repository_id"]):
                    continue
                await self.release(row["repository_id"])
                recovered += 1
                await self._requeue(row["id"], row["repository_id"], row["attempts"])
        return recovered

    async def _requeue(self, job_id: str, repository_id: int, attempts: int) -> None:
        waiting = await self._connection.fetchval("SELECT id::text FROM job WHERE repository_id = $1 AND state = 'queued'", repository_id)
        if waiting is not None:
            await self._finish(job_id, JobState.CANCELLED, f"the worker died; job {waiting} takes over", {})
        elif attempts >= MAX_ATTEMPTS:
            await self._finish(job_id, JobState.FAILED, f"the worker died {attempts} times during this run", {})
        else:
            await self._connection.execute(
                "UPDATE job SET state = 'queued', stage = NULL, error = 'the worker died; the run starts again', run_after = now() "
                "WHERE id = $1::uuid",
                job_id,
            )

    async def give_back(self, job: Job) -> None:
        """Queue a run that its worker cannot finish because it was told to stop; this was no attempt that failed."""
        async with self._connection.transaction():
            row = await self._connection.fetchrow("SELECT repository_id FROM job WHERE id = $1::uuid AND state = 'running'", job.id)
            if row is not None:
                await self._requeue(job.id, row["repository_id"], 0)
                await self._connection.execute(
                    "UPDATE job SET attempts = attempts - 1, error = NULL WHERE id = $1::uuid AND state = 'queued'", job.id
                )

    async def retry_later(self, job: Job, error: str, seconds: float) -> None:
        """Queue a job again after a passing fault, unless a newer one waits already."""
        async with self._connection.transaction():
            row = await self._connection.fetchrow("SELECT repository_id, attempts FROM job WHERE id = $1::uuid", job.id)
            if row is None:
                return
            if row["attempts"] >= MAX_ATTEMPTS:
                await self._finish(job.id, JobState.FAILED, error, {})
                return
            await self._requeue(job.id, row["repository_id"], row["attempts"])
            await self._connection.execute(
                "UPDATE job SET error = $2, run_after = now() + make_interval(secs => $3) WHERE id = $1::uuid AND state = 'queued'",
                job.id,
                error,
                seconds,
            )

    async def finish(self, job: Job, state: JobState, error: str | None = None, result: Mapping[str, object] | None = None) -> None:
        """Record how a run ended."""
        await self._finish(job.id, state, error, result or {})

    async def _finish(self, job_id: str, state: JobState, error: str | None, result: Mapping[str, object]) -> None:
        await self._connection.execute(
            "UPDATE job SET state = $2, error = $3, result = $4, finished_at = now(), stage = NULL WHERE id = $1::uuid",
            job_id,
            str(state),
            error,
            json.dumps(result),
        )


class ProgressStore:
    """Writes a run's progress from a connection of its own and learns whether it is still wanted."""

    def __init__(self, pool: Pool, job_id: str) -> None:
        self._pool = pool
        self._job_id = job_id

    async def report(self, stage: str, done: int, total: int | None) -> bool:
        """Heartbeat with progress; false when the run was cancelled or its repository deleted."""
        async with self._pool.owner() as connection:
            cancel = await connection.fetchval(
                "UPDATE job SET stage = $2, files_done = $3, files_total = $4, heartbeat_at = now() "
                "WHERE id = $1::uuid AND state = 'running' RETURNING cancel_requested",
                self._job_id,
                stage,
                done,
                total,
            )
        return cancel is False


async def _get(connection: Connection, job_id: str) -> Job:
    try:
        key = uuid.UUID(job_id)
    except ValueError:
        raise JobNotFound(f"there is no job {job_id!r}") from None
    row = await connection.fetchrow(f"{_SELECT} WHERE j.id = $1", key)
    if row is None or not sees(row["repository"]):
        raise JobNotFound(f"there is no job {job_id!r}")
    return _job(row)


def _job(row: asyncpg.Record) -> Job:
    return Job(
        id=row["id"],
        repository=row["repository"],
        state=JobState(row["state"]),
        stage=row["stage"],
        files_done=row["files_done"],
        files_total=row["files_total"],
        error=row["error"],
        attempts=row["attempts"],
        revision=row["revision"],
        priority=row["priority"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        result=json.loads(row["result"]),
    )
