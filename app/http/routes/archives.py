"""Archives that CI uploads instead of a remote that could be fetched."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from app.http import render
from app.http.openapi import problems
from app.http.schemas.fields import StrictModel
from app.http.schemas.repository import ArchiveAccepted, RepositoryName
from app.http.service import CurrentGates, CurrentService

router = APIRouter(tags=["repositories"])

_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "A tar.gz or a zip.",
        "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in ("application/gzip", "application/zip")},
    }
}


class ArchiveParameters(StrictModel):
    revision: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[\x21-\x7e]+$", examples=["9f2c4e1a7b3d"])]
    """What answers call this state of the files, a commit's id for instance."""
    strip: Annotated[int, Field(ge=0, le=20)] = 0
    """Leading folders to take off every name: 1 for archives in which all lies in one folder."""


@router.put(
    "/v1/repositories/{name}/archive",
    operation_id="putArchive",
    summary="Upload an archive",
    status_code=202,
    openapi_extra=_BODY,
    responses=problems(400, 404, 409, 413, 415, 422, 503),
)
async def put_archive(
    name: RepositoryName,
    parameters: Annotated[ArchiveParameters, Query()],
    request: Request,
    response: Response,
    service: CurrentService,
    gates: CurrentGates,
) -> ArchiveAccepted:
    """Lets a tar.gz or a zip be all that the repository holds, and queues its index run. The repository is created if there is none.

    Links are reported and not followed; names that are absolute, lead upwards or into `.git` are left out and told. Until the new index
    is published the old one answers.
    """
    async with gates.uploads.place():
        job, joined, imported = await service.archives.put(name, request.stream(), parameters.revision, parameters.strip)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return ArchiveAccepted(
        job=render.accepted(job, joined=joined),
        files=imported.files,
        bytes=imported.unpacked_bytes,
        left_out=dict(imported.left_out),
        left_out_names=list(imported.names),
    )
