"""A connection that its client cannot hold open, or fill, for nothing.

uvicorn bounds neither the time nor the size of a request's head, nor the time that a client takes over reading an answer; whoever opens
connections and falls silent would have the service to himself.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from contextlib import suppress
from http import HTTPStatus
from typing import ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.config import HttpSettings
from app.http.middleware import SLOWEST_BYTES_PER_SECOND
from app.http.problems import ProblemResponse
from app.http.security_headers import SECURITY_HEADERS
from app.observability import metrics

HEAD_BYTES: Final = 65_536
PIPELINED: Final = 8
"""Requests that a client may send before the first of them is answered."""

LINGER_SECONDS: Final = 5.0
"""How long a connection that was ended may take over its last bytes."""


class _Refused(Exception):
    """Raised inside the parser; the connection has been answered or ended."""


class BoundedConnection(HttpToolsProtocol):
    """uvicorn's connection with bounds on what a client may leave undone."""

    limits: ClassVar[HttpSettings] = HttpSettings()

    _head_timer: asyncio.TimerHandle | None = None
    _stall_timer: asyncio.TimerHandle | None = None
    _head_is_whole = False
    _head_bytes = 0
    _running: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _bound_unread_bytes(transport, self.limits.stall_seconds)
        if len(self.connections) > self.limits.connections:
            self._refuse("full", 503, "overloaded", "Too many connections are open; try again.", {"Retry-After": "1"})
        else:
            self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timers()
        if isinstance(exc, TimeoutError):  # the kernel hung up
            metrics.count_ended_connection("slow_reader")
        # uvicorn tells only the last of several requests under way; the others would go on for nobody.
        for cycle in (self._running, *(cycle for cycle, _ in self.pipeline)):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if not self._head_is_whole:
            self._head_bytes += len(data)
        # After an answer too: the rest of a body that nobody reads would keep the connection alive.
        if self._head_timer is None and not self._busy():
            self._expect_head()
        super().data_received(data)
        if not self._head_is_whole and self._head_bytes > HEAD_BYTES:
            self._refuse_large_head()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= PIPELINED:
            metrics.count_ended_connection("pipelined")
            self.transport.abort()
            raise _Refused
        self._head_size = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count_head(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count_head(name, value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_is_whole = True
        self._stop(head=True)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._head_is_whole, self._head_bytes = False, 0

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stall_timer is None:
            seconds = self.limits.stall_seconds + self.transport.get_write_buffer_size() / SLOWEST_BYTES_PER_SECOND
            self._stall_timer = self.loop.call_later(seconds, self._stalled)

    def resume_writing(self) -> None:
        self._stop(stall=True)
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        self._end()

    def send_400_response(self, msg: str) -> None:
        self._refuse("malformed", 400, "malformed", f"This is no HTTP request: {msg}")

    def _unsupported_upgrade_warning(self) -> None:
        """A request for another protocol is answered in this one; anybody can send it, so that it is worth no line of the log."""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: object) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

    def _busy(self) -> bool:
        return self._running is not None and not self._running.response_complete

    def _expect_head(self) -> None:
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self._head_overdue)

    def _head_overdue(self) -> None:
        self._head_timer = None
        if self._busy():  # the next request may come slowly while this one is answered
            self._expect_head()
        elif self._head_bytes and not self._head_is_whole:
            self._refuse("slow_head", 408, "request_timeout", "The request took too long to arrive.")
        else:
            metrics.count_ended_connection("idle")
            self._end()

    def _count_head(self, *parts: bytes) -> None:
        self._head_size += sum(map(len, parts)) + 4  # the colon, the blank and the line end
        if self._head_size > HEAD_BYTES:
            self._refuse_large_head()
            raise _Refused

    def _refuse_large_head(self) -> None:
        self._refuse("large_head", 431, "head_too_large", f"The first line and the headers have more than {HEAD_BYTES:,} bytes.")

    def _stalled(self) -> None:
        metrics.count_ended_connection("slow_reader")
        self.transport.abort()

    def _refuse(self, reason: str, status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        """Answer in the place of the application, and hang up."""
        if self.transport.is_closing():
            return
        metrics.count_ended_connection(reason)
        sent = {**SECURITY_HEADERS, "Connection": "close", **(headers or {})}
        problem = ProblemResponse(status, code, detail, request_id=secrets.token_hex(8), headers=sent)
        head = b"".join(b"%s: %s\r\n" % header for header in problem.raw_headers)
        if not self._busy():  # else the bytes would stand in the middle of another answer
            self.transport.write(b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (status, HTTPStatus(status).phrase.encode(), head, bytes(problem.body)))
        self._end()

    def _end(self) -> None:
        self._stop_timers()
        if not self.transport.is_closing():
            self.transport.close()
            self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _stop_timers(self) -> None:
        self._stop(head=True, stall=True)

    def _stop(self, *, head: bool = False, stall: bool = False) -> None:
        if head and self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if stall and self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None


def bounded_connection(settings: HttpSettings) -> type[BoundedConnection]:
    """The class of a server's connections; uvicorn makes them without arguments of ours."""
    return type("Connection", (BoundedConnection,), {"limits": settings})


def _bound_unread_bytes(transport: asyncio.Transport, seconds: float) -> None:
    """Let the kernel hang up on a client that reads nothing, however little waits for it."""
    connected = transport.get_extra_info("socket")
    option = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux
    if connected is not None and option is not None:
        with suppress(OSError):
            connected.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1_000))
