"""A search as server-sent events: the route at once, each retriever's list when it arrives, the whole answer at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Final

import structlog
from fastapi import APIRouter, Depends
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from app.domain.errors import FourfoldError
from app.domain.query import RetrievalQuery, SearchRequest
from app.domain.ranking import Degradation, RankedList, Routing, SearchAnswer
from app.http import problems, render
from app.http.call import Call, CurrentCall
from app.http.event_stream import MEDIA_TYPE, event
from app.http.freshness import await_revision
from app.http.media import require_json
from app.http.openapi import problems as documented
from app.http.schemas.search_request import SearchBody
from app.http.schemas.search_stream import EVENT_SCHEMA, EVENTS_EXAMPLE
from app.http.searching import checked, log_fields, searched

_log = structlog.get_logger("app.http")

router = APIRouter(tags=["search"])

_DONE: Final = "done"

STREAM: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": (
            "Events: `routing` (the answer's field of that name, nothing run yet), `results` (a `StreamedList`) for each retriever, "
            "`done` (the whole answer) or `error` (a problem) at the end"
        ),
        "content": {MEDIA_TYPE: {"schema": EVENT_SCHEMA, "example": EVENTS_EXAMPLE}},
    }
}


class _Events:
    """The Progress of one search, as a queue of events."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[str, BaseModel | None]] = asyncio.Queue()

    def routed(self, routing: Routing) -> None:
        self.queue.put_nowait(("routing", render.classification(routing)))

    def answered(self, outcome: RankedList | Degradation, query: RetrievalQuery) -> None:
        self.queue.put_nowait(("results", render.streamed_list(outcome, query)))


@router.post(
    "/v1/search/stream",
    operation_id="searchStream",
    summary="Search, step by step",
    response_class=StreamingResponse,
    dependencies=[Depends(require_json)],
    responses=STREAM | documented(400, 404, 410, 413, 415, 422, 425, 503),
)
async def search_stream(body: SearchBody, call: CurrentCall) -> StreamingResponse:
    """Answers as `POST /v1/search` does, and tells on the way what each retriever found.

    What is wrong with the request is a problem with its status, as ever; what fails later is an `error` event.
    """
    asked = checked(body.to_domain(), call)
    events = _Events()
    search = asyncio.create_task(_search(asked, call, events))
    try:
        first = await events.queue.get()
        if first[0] == _DONE:  # it ended before it had a route
            search.result()
    except BaseException:
        await _ended(search)
        raise
    return _SearchStream(_written(first, events, search, asked, call), search)


class _SearchStream(StreamingResponse):
    """Ends its search with itself, also when the client has gone before anything was written."""

    def __init__(self, events: AsyncIterator[bytes], search: asyncio.Task[SearchAnswer]) -> None:
        super().__init__(events, media_type=MEDIA_TYPE, headers={"X-Accel-Buffering": "no"})
        self._search = search

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await _ended(self._search)


async def _ended(search: asyncio.Task[SearchAnswer]) -> None:
    search.cancel()
    await asyncio.gather(search, return_exceptions=True)


async def _search(asked: SearchRequest, call: Call, events: _Events) -> SearchAnswer:
    try:
        await await_revision(asked, call)
        async with call.admission.place():
            return await searched(asked, call, events)
    finally:
        events.queue.put_nowait((_DONE, None))


async def _written(
    first: tuple[str, BaseModel | None], events: _Events, search: asyncio.Task[SearchAnswer], asked: SearchRequest, call: Call
) -> AsyncIterator[bytes]:
    name, data = first
    while name != _DONE:
        yield event(name, data.model_dump_json(by_alias=True) if data is not None else "")
        name, data = await events.queue.get()
    yield _last(search, asked, call)


def _last(search: asyncio.Task[SearchAnswer], asked: SearchRequest, call: Call) -> bytes:
    try:
        found = search.result()
    except FourfoldError as error:
        return event("error", bytes(problems.from_error(error, call.request.state.request_id).body).decode())
    except Exception:  # noqa: BLE001  the status is sent; without this event the client would see a connection that broke
        _log.exception("request failed")
        return event("error", bytes(problems.internal(call.request.state.request_id).body).decode())
    call.request.state.log = log_fields(asked, found)
    return event(_DONE, render.answer(found).model_dump_json(by_alias=True))
