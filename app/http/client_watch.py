"""Ends the answer to a question when its client has gone: nobody would read it."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.access import only_reads

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})
"""Methods whose body means nothing (RFC 9110, 9.3.1); what a client sends as one is dropped."""


class EndsWithClient:
    """Cancels calls that only read, with their statements, when their client leaves. What changes something is done to its end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(receive, send, has_body=scope["method"] not in _WITHOUT_BODY)
        work = asyncio.ensure_future(self._app(scope, exchange.receive, exchange.send))
        watch = asyncio.ensure_future(exchange.watch())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not (work.done() or exchange.is_answered) and only_reads(scope):
                return
            await work
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)


class _Exchange:
    """One request and its answer, as the application sees them."""

    def __init__(self, receive: Receive, send: Send, *, has_body: bool) -> None:
        self._receive = receive
        self._send = send
        self._whole = asyncio.Event()
        self._gone = asyncio.Event()
        self._begun = has_body
        self.is_answered = False
        if not has_body:
            self._whole.set()

    async def receive(self) -> Message:
        if not self._whole.is_set():
            message = await self._receive()
            if message["type"] != "http.request" or not message.get("more_body", False):
                self._whole.set()
            return message
        if not self._begun:
            self._begun = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        # The server calls a connection gone also when its answer is whole.
        self.is_answered = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def watch(self) -> None:
        """Return when the client has gone."""
        await self._whole.wait()  # who reads a body sees for himself whether it ends
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone.set()
