"""What is indexed, and from where."""

from __future__ import annotations

import anyio.to_thread
from fastapi import APIRouter, Depends, Response

from app.domain.errors import FourfoldError
from app.domain.index import RepositorySource
from app.http import render
from app.http.media import require_json
from app.http.openapi import problems
from app.http.schemas.repository import JobAccepted, RepositoryBody, RepositoryList, RepositoryName, RepositoryShape
from app.http.service import CurrentService, CurrentSettings
from app.http.source_paths import checked_directory

router = APIRouter(tags=["repositories"])


@router.get("/v1/repositories", operation_id="listRepositories", summary="List repositories", responses=problems(503))
async def list_repositories(service: CurrentService) -> RepositoryList:
    """All repositories with the state of their index."""
    return RepositoryList(repositories=[render.repository(stored) for stored in await service.repositories.list()])


@router.get("/v1/repositories/{name}", operation_id="getRepository", summary="Read a repository", responses=problems(404, 422, 503))
async def get_repository(name: RepositoryName, service: CurrentService) -> RepositoryShape:
    """Source, status, coverage and freshness of one repository."""
    return render.repository(await service.repositories.get(name))


@router.put(
    "/v1/repositories/{name}",
    operation_id="putRepository",
    summary="Create or update a repository",
    dependencies=[Depends(require_json)],
    responses={201: {"model": RepositoryShape, "description": "Created"}, **problems(400, 409, 413, 415, 422, 503)},
)
async def put_repository(
    name: RepositoryName, body: RepositoryBody, response: Response, service: CurrentService, settings: CurrentSettings
) -> RepositoryShape:
    """Says where the repository comes from and what of it is indexed; `POST …/index` then indexes it.

    A name that has another source already is a conflict.
    """
    path = await anyio.to_thread.run_sync(checked_directory, body.source.path, settings)
    source = RepositorySource(path=path, include=body.include, exclude=body.exclude)
    try:
        stored, created = await service.repositories.put(name, source)
    except FourfoldError as error:
        if error.status == 409:
            error.field = error.field or "name"
        raise
    if created:
        response.status_code = 201
        response.headers["Location"] = f"/v1/repositories/{name}"
    return render.repository(stored)


@router.delete(
    "/v1/repositories/{name}",
    operation_id="deleteRepository",
    summary="Delete a repository",
    status_code=204,
    responses=problems(404, 422, 503),
)
async def delete_repository(name: RepositoryName, service: CurrentService) -> None:
    """Forgets the repository and its index; the source is not touched."""
    await service.repositories.delete(name)


@router.post(
    "/v1/repositories/{name}/index",
    operation_id="indexRepository",
    summary="Index a repository",
    status_code=202,
    responses=problems(404, 409, 422, 503),
)
async def index_repository(name: RepositoryName, response: Response, service: CurrentService) -> JobAccepted:
    """Queues an index run, or joins the one that waits already. The index in use stays until the new one is published."""
    job, joined = await service.jobs.enqueue(name)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return render.accepted(job, joined=joined)
