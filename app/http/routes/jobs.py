"""Index runs: how far they are, and how to stop one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field

from app.domain.index import JobState
from app.http import job_pages, render
from app.http.event_stream import MEDIA_TYPE
from app.http.job_events import events
from app.http.openapi import problems
from app.http.schemas.fields import NAME_PATTERN, StrictModel
from app.http.schemas.repository import JobId, JobList, JobShape
from app.http.service import A_LOOKUP, A_WATCHER, CurrentService

router = APIRouter(tags=["jobs"])

_EVENTS = (
    'event: progress\ndata: {"job": {"state": "running", "stage": "analyse"}, "files_per_second": 210.5, "remaining_seconds": 3.1}\n\n'
)


class JobParameters(StrictModel):
    repository: Annotated[str, Field(pattern=NAME_PATTERN, examples=["flask"])] | None = None
    """Jobs of this repository only."""
    state: JobState | None = None
    """Jobs in this state only: `failed` shows those that nobody tries again."""
    cursor: Annotated[str, Field(pattern=job_pages.PATTERN, examples=[job_pages.EXAMPLE])] | None = None
    """The `next_cursor` of the page before: jobs older than its last."""
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    """Jobs in the list at most."""


@router.get("/v1/jobs", operation_id="listJobs", summary="List jobs", dependencies=[A_LOOKUP], responses=problems(404, 422, 503))
async def list_jobs(parameters: Annotated[JobParameters, Query()], service: CurrentService) -> JobList:
    """The newest jobs first."""
    if parameters.repository is not None:
        await service.repositories.get(parameters.repository)
    after = job_pages.place(parameters.cursor) if parameters.cursor else None
    jobs = await service.jobs.list(parameters.repository, parameters.limit, parameters.state, after)
    more = len(jobs) == parameters.limit
    return JobList(jobs=[render.job(job) for job in jobs], next_cursor=job_pages.cursor(jobs[-1]) if more else None)


@router.get("/v1/jobs/{id}", operation_id="getJob", summary="Read a job", dependencies=[A_LOOKUP], responses=problems(404, 422, 503))
async def get_job(id: JobId, service: CurrentService) -> JobShape:
    """State, stage and progress of one job."""
    return render.job(await service.jobs.get(id))


@router.get(
    "/v1/jobs/{id}/events",
    operation_id="watchJob",
    summary="Watch a job",
    response_class=StreamingResponse,
    dependencies=[A_WATCHER],
    responses={
        200: {
            "content": {MEDIA_TYPE: {"example": _EVENTS}},
            "description": "Events until the job has ended, or `error` with a problem when the key counts no longer",
        },
        **problems(404, 422, 503),
    },
)
async def watch_job(id: JobId, service: CurrentService) -> StreamingResponse:
    """Server-sent events: `progress` with the job, its pace and a guess of what remains; at last `end`."""
    job = await service.jobs.get(id)
    return StreamingResponse(events(service.jobs, job), media_type=MEDIA_TYPE)


@router.delete(
    "/v1/jobs/{id}", operation_id="cancelJob", summary="Cancel a job", dependencies=[A_LOOKUP], responses=problems(404, 409, 422, 503)
)
async def cancel_job(id: JobId, service: CurrentService) -> JobShape:
    """Asks the job to stop. A running one stops at its next file; the index in use is not touched."""
    return render.job(await service.jobs.cancel(id))
