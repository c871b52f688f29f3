"""The one query interface: ``GET`` for links and curl, ``POST`` for programs."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Query, Request

from app.config import Settings
from app.domain.errors import InvalidRequest, NotIndexed, RepositoryNotFound
from app.domain.query import SearchRequest
from app.domain.ranking import SearchAnswer
from app.http import render
from app.http.admission import Admission, while_connected
from app.http.media import require_json
from app.http.openapi import problems
from app.http.schemas.search_answer import AnswerShape
from app.http.schemas.search_request import SearchBody, SearchParameters
from app.http.service import CurrentAdmission, CurrentService, CurrentSettings, Service
from app.observability import metrics

router = APIRouter(tags=["search"])


async def _utf8_query(request: Request) -> None:
    """Parameters that are no UTF-8 would otherwise be searched for as replacement characters."""
    try:
        parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        raise InvalidRequest("the query string is not percent-encoded UTF-8", field="q") from None


@router.get(
    "/v1/search",
    operation_id="search",
    summary="Search, as a link",
    dependencies=[Depends(_utf8_query)],
    responses=problems(404, 410, 422, 425, 503),
)
async def search_by_link(
    request: Request,
    parameters: Annotated[SearchParameters, Query()],
    service: CurrentService,
    settings: CurrentSettings,
    admission: CurrentAdmission,
) -> AnswerShape:
    """Answers a question about code with one ranked list and the evidence for every result."""
    return await _answer(request, _asking(parameters.to_domain(), "q"), service, settings, admission)


@router.post(
    "/v1/search",
    operation_id="searchWithBody",
    summary="Search",
    dependencies=[Depends(require_json)],
    responses=problems(400, 404, 410, 413, 415, 422, 425, 503),
)
async def search(
    request: Request,
    body: SearchBody,
    service: CurrentService,
    settings: CurrentSettings,
    admission: CurrentAdmission,
) -> AnswerShape:
    """Answers a question about code with one ranked list and the evidence for every result."""
    return await _answer(request, _asking(body.to_domain(), "query"), service, settings, admission)


def _asking(asked: SearchRequest, field: str) -> SearchRequest:
    """A request that asks for something; ``field`` is where the question stands."""
    if not asked.query and not asked.like:
        raise InvalidRequest("the query is missing or empty", field=field)
    return asked


async def _answer(request: Request, asked: SearchRequest, service: Service, settings: Settings, admission: Admission) -> AnswerShape:
    most = settings.search.max_deadline_ms
    if asked.timeout_ms is not None and asked.timeout_ms > most:
        raise InvalidRequest(f"at most {most} milliseconds are allowed", field="timeout_ms")
    request.state.log = {"query_length": len(asked.query)}
    found = await while_connected(request, _search(asked, service, admission))
    metrics.observe_search(found)
    routing = found.routing
    request.state.log |= {"intent": routing.classification.intent.value, "strategy": routing.strategy.value, "results": len(found.results)}
    return render.answer(found)


async def _search(asked: SearchRequest, service: Service, admission: Admission) -> SearchAnswer:
    async with admission.place():
        try:
            return await service.search.search(asked)
        except (RepositoryNotFound, NotIndexed) as error:
            error.field = error.field or "repositories"
            raise
