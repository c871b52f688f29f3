"""What is indexed, and from where."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated

import anyio.to_thread
from fastapi import APIRouter, Body, Depends, Query, Request, Response

from app.config import Settings
from app.domain import access
from app.domain.errors import NotAllowed
from app.domain.index import CoverageRequest, Priority, RepositorySource, SourceKind
from app.domain.query import Scope
from app.http import render
from app.http.freshness import is_known, not_modified, tagged, weak_tag
from app.http.media import require_json, require_json_if_any
from app.http.openapi import NOT_MODIFIED, problems
from app.http.schemas.repository import (
    CoverageParameters,
    FileCoverageList,
    FileCoverageShape,
    IndexBody,
    JobAccepted,
    RepositoryBody,
    RepositoryList,
    RepositoryName,
    RepositoryShape,
)
from app.http.service import A_LOOKUP, CurrentGates, CurrentService, CurrentSettings, Service
from app.http.source_paths import checked_directory

router = APIRouter(tags=["repositories"])


def _checked_source(body: RepositoryBody, service: Service, settings: Settings) -> RepositorySource:
    """The source that a body describes, its path or address resolved and found allowed. Blocking."""
    asked = body.source
    source = RepositorySource(include=body.include, exclude=body.exclude, poll_seconds=asked.poll_seconds, kind=SourceKind.ARCHIVE)
    if asked.path is not None:
        path = checked_directory(asked.path, settings)
        return replace(source, kind=SourceKind.DIRECTORY, path=path, respect_ignore=body.respect_ignore)
    if asked.url is not None:
        url = service.remotes.check(asked.url, asked.credential).url
        return replace(source, kind=SourceKind.GIT, url=url, refs=asked.refs, credential=asked.credential, submodules=asked.submodules)
    return source


async def _check_ownership(name: str, body: RepositoryBody, service: Service) -> None:
    """Raises NotAllowed where a limited key names what may be another's; what the repository has already it may repeat."""
    if access.caller().reach is None:
        return
    access.require_repository(name)
    asked = body.source
    url = asked.url if asked.url is not None and asked.url.lower().startswith("file:") else None
    stored = next((known.source for known in await service.repositories.list() if known.name == name), None)
    had = (None, None, None) if stored is None else (stored.path or None, stored.credential, stored.url)
    for field, value, known in zip(("path", "credential", "url"), (asked.path, asked.credential, url), had, strict=True):
        if value is not None and value != known:
            raise NotAllowed("a key that is limited to some repositories cannot name this", field=f"source.{field}")


@router.get(
    "/v1/repositories", operation_id="listRepositories", summary="List repositories", dependencies=[A_LOOKUP], responses=problems(503)
)
async def list_repositories(service: CurrentService) -> RepositoryList:
    """All repositories with the state of their index."""
    return RepositoryList(repositories=[render.repository(stored) for stored in await service.repositories.list()])


@router.get(
    "/v1/repositories/{name}",
    operation_id="getRepository",
    summary="Read a repository",
    response_model=RepositoryShape,
    dependencies=[A_LOOKUP],
    responses={304: NOT_MODIFIED, **problems(404, 422, 503)},
)
async def get_repository(name: RepositoryName, request: Request, response: Response, service: CurrentService) -> RepositoryShape | Response:
    """Source, status, coverage and freshness of one repository."""
    shown = render.repository(await service.repositories.get(name))
    tag = weak_tag(shown.model_dump_json())
    if is_known(request, tag):
        return not_modified(tag)
    response.headers.update(tagged(tag))
    return shown


@router.get(
    "/v1/repositories/{name}/coverage",
    operation_id="getCoverage",
    summary="Which files are searchable?",
    dependencies=[A_LOOKUP],
    responses=problems(404, 410, 422, 425, 503),
)
async def get_coverage(
    name: RepositoryName, parameters: Annotated[CoverageParameters, Query()], service: CurrentService
) -> FileCoverageList:
    """Every file of the index with what became of it, or one `path` and why it is, or is not, searchable."""
    page = await service.coverage.read(CoverageRequest(name, **parameters.model_dump()))
    return FileCoverageList(
        files=[FileCoverageShape(**asdict(file)) for file in page.files],
        next_cursor=page.next_cursor,
        left_out=render.left_out(page.left_out),
        index=render.index(Scope((page.snapshot,))),
    )


@router.put(
    "/v1/repositories/{name}",
    operation_id="putRepository",
    summary="Create or update a repository",
    dependencies=[Depends(require_json)],
    responses={201: {"model": RepositoryShape, "description": "Created"}, **problems(400, 404, 409, 413, 415, 422, 503)},
)
async def put_repository(
    name: RepositoryName,
    body: RepositoryBody,
    response: Response,
    service: CurrentService,
    settings: CurrentSettings,
    gates: CurrentGates,
) -> RepositoryShape:
    """Says where the repository comes from and what of it is indexed; `POST …/index` then indexes it.

    A name that has another source already is a conflict. Directories, stored secrets and `file:` addresses are the operator's: a key
    that is limited to some repositories cannot name them.
    """
    await _check_ownership(name, body, service)
    async with gates.waiting.place():  # names may be resolved slowly
        source = await anyio.to_thread.run_sync(_checked_source, body, service, settings)
    async with gates.lookups.place():
        stored, created = await service.repositories.put(name, source)
    if created:
        response.status_code = 201
        response.headers["Location"] = f"/v1/repositories/{name}"
    return render.repository(stored)


@router.delete(
    "/v1/repositories/{name}",
    operation_id="deleteRepository",
    summary="Delete a repository",
    status_code=204,
    dependencies=[A_LOOKUP],
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
    dependencies=[Depends(require_json_if_any), A_LOOKUP],
    responses=problems(400, 404, 409, 413, 415, 422, 503),
)
async def index_repository(
    name: RepositoryName, response: Response, service: CurrentService, body: Annotated[IndexBody | None, Body()] = None
) -> JobAccepted:
    """Queues an index run, or joins the one that waits already. The index in use stays until the new one is published."""
    asked = body or IndexBody()
    job, joined = await service.jobs.enqueue(name, asked.revision, Priority[asked.priority.upper()])
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return render.accepted(job, joined=joined)
