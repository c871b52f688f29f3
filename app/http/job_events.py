"""The progress of a job as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import monotonic
from typing import Final

from app.domain.index import Job, JobState
from app.http import render
from app.http.event_stream import event
from app.http.schemas.repository import JobProgress
from app.ports import JobStore

POLL_SECONDS: Final = 0.3
BEAT_SECONDS: Final = 15.0
_ENDED: Final = frozenset({JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED})


async def events(jobs: JobStore, job: Job) -> AsyncIterator[bytes]:
    """``progress`` whenever the job moved, and ``end`` with its last state; a comment now and then keeps proxies from hanging up."""
    pace = _Pace()
    told, told_at = "", monotonic()
    while True:
        progress = pace.progress(job)
        # The guesses change all the time; only what they are made of makes an event.
        state = progress.job.model_dump_json()
        if job.state in _ENDED:
            yield event("end", progress.model_dump_json())
            return
        if state != told:
            yield event("progress", progress.model_dump_json())
            told, told_at = state, monotonic()
        elif monotonic() - told_at > BEAT_SECONDS:
            yield b": still here\n\n"
            told_at = monotonic()
        await asyncio.sleep(POLL_SECONDS)
        job = await jobs.get(job.id)


@dataclass(slots=True)
class _Pace:
    """How fast a stage goes, from when it was first seen."""

    stage: str | None = None
    since: float = 0.0
    first: int = 0

    def progress(self, job: Job) -> JobProgress:
        if job.stage != self.stage or job.files_done < self.first:
            self.stage, self.since, self.first = job.stage, monotonic(), job.files_done
        seconds, files = monotonic() - self.since, job.files_done - self.first
        rate = files / seconds if seconds > 0 and files > 0 else None
        left = (job.files_total - job.files_done) / rate if rate and job.files_total is not None else None
        return JobProgress(
            job=render.job(job),
            files_per_second=None if rate is None else round(rate, 1),
            remaining_seconds=None if left is None else round(left, 1),
        )
