"""Keeps clients to the time that they were told to wait.

A client that asks again at once costs as much with every refusal as a short answer does, and takes it from the clients that are let in. So
when it comes early it is sent away again, but not before the time is over, and nothing of its request is read.
"""

from __future__ import annotations

import asyncio
from typing import Final, NamedTuple, TypeAlias

from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http import problems
from app.http.admission import NoPlace, Places
from app.observability import metrics

MOST_SECONDS: Final = 1.0
"""How long a request is kept at most, whatever its client was told."""

_REMEMBERED: Final = 1_000
"""Above so many, those whose time is over are forgotten."""

Asker: TypeAlias = tuple[tuple[str, int] | None, str, str, bytes]
"""A client's address, its port with it, and the method, path and query that it sent. Behind a proxy that tells no ports, several clients
are one; of those only the next that comes is kept."""


class KeepsRetryAfter:
    """Remembers who was sent away because there was no place, for as long as he was told to stay away."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._sent_away: dict[Asker, _SentAway] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        asker: Asker = scope.get("client"), scope["method"], scope["path"], scope["query_string"]
        earlier = self._sent_away.pop(asker, None)
        if earlier is not None and await earlier.comes_early():
            metrics.count_early_request()
            scope["route"] = earlier.route  # for the log line and the metrics
            await problems.from_error(NoPlace(earlier.by), scope["state"]["request_id"])(scope, receive, send)
            return

        async def send_and_remember(message: Message) -> None:
            refusal = scope["state"].get("refusal")
            if refusal is not None and message["type"] == "http.response.start":  # before the client knows, and asks again
                self._remember(asker, refusal, scope.get("route"))
            await send(message)

        await self._app(scope, receive, send_and_remember)

    def _remember(self, asker: Asker, refusal: NoPlace, route: BaseRoute | None) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._sent_away) >= _REMEMBERED:
            self._sent_away = {other: sent for other, sent in self._sent_away.items() if sent.until > now}
        self._sent_away[asker] = _SentAway(refusal.places, now + min(refusal.retry_after or 0, MOST_SECONDS), route)


class _SentAway(NamedTuple):
    """By which places somebody was sent away, until when on the loop's clock, and from what."""

    by: Places
    until: float
    route: BaseRoute | None

    async def comes_early(self) -> bool:
        """Whether there was no place at once, nor when the time was over."""
        left = self.until - asyncio.get_running_loop().time()
        if left <= 0 or self.by.is_free:
            return False
        await asyncio.sleep(left)
        return not self.by.is_free
