"""Index runs: how far they are, and how to stop one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from app.http import render
from app.http.openapi import problems
from app.http.schemas.fields import NAME_PATTERN, StrictModel
from app.http.schemas.repository import JobId, JobList, JobShape
from app.http.service import CurrentService

router = APIRouter(tags=["jobs"])


class JobParameters(StrictModel):
    repository: Annotated[str, Field(pattern=NAME_PATTERN, examples=["flask"])] | None = None
    """Jobs of this repository only."""
    limit: Annotated[int, Field(ge=1, le=500)] = 50
    """Jobs in the list at most."""


@router.get("/v1/jobs", operation_id="listJobs", summary="List jobs", responses=problems(404, 422, 503))
async def list_jobs(parameters: Annotated[JobParameters, Query()], service: CurrentService) -> JobList:
    """The newest jobs first."""
    if parameters.repository is not None:
        await service.repositories.get(parameters.repository)
    jobs = await service.jobs.list(parameters.repository, parameters.limit)
    return JobList(jobs=[render.job(job) for job in jobs])


@router.get("/v1/jobs/{id}", operation_id="getJob", summary="Read a job", responses=problems(404, 422, 503))
async def get_job(id: JobId, service: CurrentService) -> JobShape:
    """State, stage and progress of one job."""
    return render.job(await service.jobs.get(id))


@router.delete("/v1/jobs/{id}", operation_id="cancelJob", summary="Cancel a job", responses=problems(404, 409, 422, 503))
async def cancel_job(id: JobId, service: CurrentService) -> JobShape:
    """Asks the job to stop. A running one stops at its next file; the index in use is not touched."""
    return render.job(await service.jobs.cancel(id))
