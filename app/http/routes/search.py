"""The one query interface: ``GET`` for links and curl, ``POST`` for programs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from app.domain.query import SearchRequest
from app.domain.ranking import SearchAnswer
from app.http import render
from app.http.call import Call, CurrentCall
from app.http.freshness import await_revision, is_known, not_modified, search_tag, tagged
from app.http.media import require_json
from app.http.openapi import NOT_MODIFIED, problems
from app.http.schemas.search_answer import AnswerShape
from app.http.schemas.search_request import SearchBody, SearchParameters
from app.http.searching import by_parameters, checked, log_fields, searched

router = APIRouter(tags=["search"])


@router.get(
    "/v1/search",
    operation_id="search",
    summary="Search, as a link",
    response_model=AnswerShape,
    responses={304: NOT_MODIFIED, **problems(404, 410, 422, 425, 503)},
)
async def search_by_link(parameters: Annotated[SearchParameters, Query()], call: CurrentCall, response: Response) -> AnswerShape | Response:
    """Answers a question about code with one ranked list and the evidence for every result.

    The `ETag` is the state of the index: sent back in `If-None-Match` it spares the search when nothing changed.
    """
    with by_parameters():
        asked = checked(parameters.to_domain(), call)
        if "if-none-match" in call.request.headers and not asked.min_revision:
            async with call.gates.lookups.place():
                tag = search_tag(asked, await call.service.search.scope(asked))
            if is_known(call.request, tag):
                return not_modified(tag)
        found = await _answer(asked, call)
    if not found.partial:
        response.headers.update(tagged(search_tag(asked, found.scope)))
    return render.answer(found)


@router.post(
    "/v1/search",
    operation_id="searchWithBody",
    summary="Search",
    dependencies=[Depends(require_json)],
    responses=problems(400, 404, 410, 413, 415, 422, 425, 503),
)
async def search(body: SearchBody, call: CurrentCall) -> AnswerShape:
    """Answers a question about code with one ranked list and the evidence for every result."""
    return render.answer(await _answer(checked(body.to_domain(), call), call))


async def _answer(asked: SearchRequest, call: Call) -> SearchAnswer:
    call.request.state.log = {"query_length": len(asked.query)}
    found = await _admitted(asked, call)
    call.request.state.log = log_fields(asked, found)
    return found


async def _admitted(asked: SearchRequest, call: Call) -> SearchAnswer:
    await await_revision(asked, call)
    async with call.admission.place():
        return await searched(asked, call)
