"""The gate before every call: nothing of a request is read, its body least of all, before it is known who sends it.

What is sent for minutes, event after event, ends when its key counts no longer.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Final

import structlog
from fastapi import Request
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.errors import FourfoldError, NotAuthenticated
from app.http import problems
from app.http.access import Guard, let_in
from app.http.call import searches
from app.http.event_stream import MEDIA_TYPE, event

STILL_COUNTS_SECONDS: Final = 1.0
"""How often the key of a stream is looked at."""

_log = structlog.get_logger("app.http")


class Gate:
    """Lets requests in, each for its caller. What has no route is answered by the application: there is nothing to protect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _routed(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        with ExitStack() as held:
            try:
                caller = await let_in(request, held)
                if searches(scope["route"]):
                    scope["app"].state.gates.searches.check()
            except FourfoldError as error:
                await problems.of_fourfold(request, error)(scope, receive, send)
                return
            if caller.key_id is None:
                await self._app(scope, receive, send)
            else:
                await _Keyed(self._app, request).answer(scope, receive, send)


def _routed(scope: Scope) -> bool:
    """Finds the route of a request and notes it, as the router will do again."""
    for route in scope["app"].state.routes:
        match, found = route.matches(scope)
        if match is Match.FULL:
            scope.update(found)
            return True
    return False


class _Keyed:
    """The answer to one request that came with a key."""

    def __init__(self, app: ASGIApp, request: Request) -> None:
        self._app = app
        self._request = request

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        looking: asyncio.Task[NotAuthenticated] | None = None
        is_answered = False

        async def send_and_look(message: Message) -> None:
            nonlocal looking
            if message["type"] == "http.response.start" and Headers(raw=message["headers"]).get("content-type", "").startswith(MEDIA_TYPE):
                looking = asyncio.create_task(self._counts_no_longer())
                looking.add_done_callback(end)
            await send(message)

        def end(looked: asyncio.Task[NotAuthenticated]) -> None:
            if not (looked.cancelled() or is_answered):
                bound.reschedule(0.0)

        try:
            async with asyncio.timeout(None) as bound:
                await self._app(scope, receive, send_and_look)
                is_answered = True
        except TimeoutError:
            if looking is None or not looking.done():
                raise
            problem = problems.from_error(looking.result(), scope["state"]["request_id"])
            await send({"type": "http.response.body", "body": event("error", bytes(problem.body).decode())})
        finally:
            if looking is not None:
                looking.cancel()

    async def _counts_no_longer(self) -> NotAuthenticated:
        """Returns when the key is revoked or has expired, with what its holder is told."""
        guard: Guard = self._request.app.state.guard
        while True:
            await asyncio.sleep(STILL_COUNTS_SECONDS)
            try:
                await guard.authenticated(self._request, self._request.app.state.service)
            except NotAuthenticated as error:
                return error
            except FourfoldError as error:  # the store is down for a moment, or busy
                _log.warning("key_not_looked_at", reason=error.code)
