"""Files as they are indexed, and why a search does not show one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.http import render_files
from app.http.call import CurrentCall
from app.http.openapi import problems
from app.http.schemas.source_file import FileParameters, FileShape, WhyNotParameters, WhyNotShape
from app.http.searching import by_parameters, checked

router = APIRouter(tags=["search"])


@router.get("/v1/files", operation_id="readFile", summary="Read a file", responses=problems(404, 422, 425, 503))
async def read_file(parameters: Annotated[FileParameters, Query()], call: CurrentCall) -> FileShape:
    """Source as it is indexed, with the definitions in it: what a result's lines are lines of."""
    return render_files.source(await call.answer(lambda service: service.source.read(parameters.to_domain())))


@router.get("/v1/why-not", operation_id="explainAbsence", summary="Why is a file not shown?", responses=problems(404, 422, 425, 503))
async def explain_absence(parameters: Annotated[WhyNotParameters, Query()], call: CurrentCall) -> WhyNotShape:
    """Names the first gate at which a file drops out of an answer, and the smallest change of the search that would show it."""
    with by_parameters():
        asked = checked(parameters.to_domain(), call)
        call.request.state.log = {"query_length": len(asked.query)}
        found = await call.answer(lambda service: service.why_not.explain(asked, parameters.repository, parameters.path))
    return render_files.why_not(found)
