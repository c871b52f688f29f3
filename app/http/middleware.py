"""What surrounds every request: its id, its log line, its metrics, the last net for faults, HEAD, and the largest body."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Mapping
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.access import NOBODY, acting
from app.http import problems
from app.http.security_headers import SECURITY_HEADERS
from app.observability import metrics

SLOWEST_BYTES_PER_SECOND: Final = 16_000

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_QUIET: Final = frozenset({"/livez", "/readyz", "/metrics"})

_log = structlog.get_logger("app.http")


class RequestContext:
    """Gives a request its id, writes its one log line and counts it; a fault becomes a problem without a traceback.

    Inside of it nobody sees anything until the gate says for whom the request is.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                headers.update(scope["state"].get("headers", {}))
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id), acting(NOBODY):
            try:
                await self._app(scope, receive, send_with_id)
            except Exception:
                _log.exception("request failed")
                if status:
                    raise
                await problems.internal(request_id)(scope, receive, send_with_id)
            finally:
                _finish(scope, status or 499, time.perf_counter() - started)


def _finish(scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", "unmatched")
    method = scope["method"] if scope["method"] in _METHODS else "OTHER"
    metrics.observe_request(route, method, status, seconds)
    write = _log.debug if route in _QUIET else _log.info
    extra = ({"key": scope["state"]["key"]} if "key" in scope["state"] else {}) | scope["state"].get("log", {})
    write("request", method=method, route=route, status=status, ms=round(seconds * 1_000, 1), **extra)


def _request_id(headers: Headers) -> str:
    """The caller's own id where it is fit to be logged, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


class HeadAsGet:
    """Answers HEAD wherever GET is answered, with the same headers and no body (RFC 9110, 9.3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_without_body(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        asked = {**scope, "method": "GET"}
        try:
            await self._app(asked, receive, send_without_body)
        finally:
            scope["route"] = asked.get("route")  # for the log line and the metrics


class BodyLimit:
    """Refuses a body larger than ``limit`` bytes, declared or streamed; ``larger`` has other limits, by patterns of the path.

    And one that comes too slowly: its client may take ``stall_seconds`` beside a second for each 16 kB.
    """

    def __init__(self, app: ASGIApp, limit: int, larger: Mapping[str, int] | None = None, stall_seconds: float = 30.0) -> None:
        self._app = app
        self._limit = limit
        self._stall_seconds = stall_seconds
        self._larger = {re.compile(pattern): most for pattern, most in (larger or {}).items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = Headers(scope=scope).get("content-length", "")
        received, waited, whole = 0, 0.0, False
        limit = next((most for pattern, most in self._larger.items() if pattern.fullmatch(scope["path"])), self._limit)

        async def receive_limited() -> Message:
            nonlocal received, waited, whole
            # Raised where the application reads the body, so that its handler for HTTPException answers.
            if declared.isdecimal() and (len(declared) > 15 or int(declared) > limit):
                raise _too_large(limit)
            if whole:  # what is waited for now is the end of the connection
                return await receive()
            began = time.monotonic()
            try:
                async with asyncio.timeout(self._stall_seconds + received / SLOWEST_BYTES_PER_SECOND - waited):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "The body took too long to arrive.", {"Connection": "close"}) from None
            waited += time.monotonic() - began
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                whole = not message.get("more_body", False)
                if received > limit:
                    raise _too_large(limit)
            return message

        await self._app(scope, receive_limited, send)


def _too_large(limit: int) -> HTTPException:
    return HTTPException(413, f"The body is larger than {limit:,} bytes.")
