"""Up to fifty searches in one call, for what would otherwise be fifty round trips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

from fastapi import APIRouter, Depends
from pydantic import ValidationError

from app.domain.errors import FourfoldError, Overloaded
from app.http import render
from app.http.access import take_further
from app.http.call import Call, CurrentCall
from app.http.freshness import await_revision
from app.http.media import require_json
from app.http.openapi import problems
from app.http.problems import from_error, invalid, problem_of
from app.http.schemas.batch import BatchAnswer, BatchBody, BatchEntry
from app.http.schemas.search_request import SearchBody
from app.http.searching import checked, searched

router = APIRouter(tags=["search"])

LONGEST_FACTOR: Final = 3
"""A batch may take so many times the longest deadline of a search."""


@router.post(
    "/v1/search/batch",
    operation_id="searchBatch",
    summary="Search many times",
    dependencies=[Depends(require_json)],
    responses=problems(400, 413, 415, 422, 503),
)
async def search_batch(body: BatchBody, call: CurrentCall) -> BatchAnswer:
    """Answers searches one after the other, as one client among others.

    What is wrong with one of them, a field that is not valid too, is told in its entry and does not keep the others from their answers.
    """
    call.request.state.log = {"searches": len(body.searches)}
    take_further(call.request, len(body.searches) - 1)
    return await _answered(body.searches, call)


async def _answered(searches: Sequence[Mapping[str, Any]], call: Call) -> BatchAnswer:
    began = perf_counter()
    last = began + LONGEST_FACTOR * call.settings.search.max_deadline_ms / 1_000
    async with call.admission.place():
        answers = [await _entry(search, call, late=perf_counter() > last) for search in searches]
    return BatchAnswer(answers=answers, took_ms=round((perf_counter() - began) * 1_000, 2))


async def _entry(search: Mapping[str, Any], call: Call, *, late: bool) -> BatchEntry:
    request_id = call.request.state.request_id
    try:
        asked = checked(SearchBody.model_validate(search).to_domain(), call)
        if late:
            raise Overloaded("the time of the batch was over before this search; ask it again", retry_after=1)
        await await_revision(replace(asked, wait=0.0), call)  # the place is not for waiting in
        return BatchEntry(status=200, answer=render.answer(await searched(asked, call)), problem=None)
    except ValidationError as error:
        problem = problem_of(invalid([{**item, "loc": ("body", *item["loc"])} for item in error.errors()], request_id, SearchBody))
    except FourfoldError as error:
        problem = problem_of(from_error(error, request_id))
    return BatchEntry(status=problem.status, answer=None, problem=problem)
