"""Runs the API with uvicorn in this process and, beside it, a worker as a child."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import structlog
import uvicorn

from app import heap
from app.config import Settings
from app.domain.errors import ConfigurationError
from app.http.app import create_app
from app.http.connection import bounded_connection
from app.http.own_origin import own_names
from app.http.service import Service
from app.sources.address import is_loopback
from app.worker_process import running_worker

GRACE_SECONDS: Final = 4
"""How long answers under way may still take once the service is told to stop."""

GARBAGE_OBJECTS: Final = 50_000
"""An answer makes some ten thousand objects, which Python's 700 between two collections would look through again and again."""

S = TypeVar("S", bound=Service)
OnReady = Callable[[S, str], Awaitable[None]]

_log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """Leaves signals to ``serve``, which has more than HTTP to stop, and says when it accepts requests."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.accepting = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.accepting.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def serve(
    open_service: Callable[[], AbstractAsyncContextManager[S]], settings: Settings, *, worker: bool, on_ready: OnReady[S] | None = None
) -> None:
    """Serve until SIGTERM or SIGINT. ``on_ready`` runs beside the server with the open service and the URL; its errors end the service.

    Raises ConfigurationError when the port cannot be bound, before anything else is started, and when nobody could call or everybody.
    """
    listener = bind(settings.host, settings.port)
    stop = asyncio.Event()
    _on_signals(stop)
    with listener:
        async with AsyncExitStack() as stack, AsyncExitStack() as workers:  # the worker goes before the store does
            opened = asyncio.Event()
            if worker:
                await workers.enter_async_context(running_worker(ready=opened))
            service = await _unless_stopped(stack.enter_async_context(open_service()), stop)
            if service is None:
                return
            await require_keys(service, settings)
            opened.set()
            _spare_collector()
            heap.keep_small()
            await _serve_http(service, settings, listener, stop, on_ready)


async def require_keys(service: Service, settings: Settings) -> None:
    """Raises ConfigurationError for an address that others reach while there is neither a key that counts nor the word to do without."""
    if is_loopback(settings.host):
        return
    keys, now = await service.keys.list(), datetime.now(UTC)
    if settings.access.open and not keys:
        _log.warning("open to the network without authentication", host=settings.host)
    elif not any(key.is_usable(now) for key in keys):
        raise ConfigurationError(
            f"{settings.host} can be reached from other machines, and there is no key to call with: make one with "
            "`fourfold keys create NAME --scope admin`, or let everybody in with --open (FOURFOLD_ACCESS__OPEN=true)"
            if not keys
            else f"{settings.host} can be reached from other machines, and every key is revoked or has expired: make one with "
            "`fourfold keys create NAME --scope admin`"
        )


def _spare_collector() -> None:
    """What is loaded by now stays: collections that look through all of it make every tenth answer late."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)


async def _serve_http(service: S, settings: Settings, listener: socket.socket, stop: asyncio.Event, on_ready: OnReady[S] | None) -> None:
    config = uvicorn.Config(
        create_app(lambda: nullcontext(service), settings, own_names(settings)),
        http=bounded_connection(settings.http),
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    greeting = asyncio.create_task(_greet(server, service, url_of(listener), on_ready))
    waiting: set[asyncio.Task[Any]] = {serving, stopping, greeting}
    try:
        while not (serving.done() or stopping.done()):
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if greeting in waiting and greeting.done():
                waiting.discard(greeting)
                greeting.result()
    finally:
        await _cancel(greeting, stopping)
        server.should_exit = True
        await serving


async def _unless_stopped(opening: Coroutine[Any, Any, S], stop: asyncio.Event) -> S | None:
    """The opened service, or None when the signal to stop came first."""
    task = asyncio.create_task(opening)
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        await _cancel(task, stopping)


async def _cancel(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _on_signals(stop: asyncio.Event) -> None:
    """The first signal stops the service in order; a second Ctrl-C interrupts whatever that waits for."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, interrupted)


async def _greet(server: _Server, service: S, url: str, on_ready: OnReady[S] | None) -> None:
    await server.accepting.wait()
    _log.info("serving", url=url)
    if on_ready is not None:
        await on_ready(service, url)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free one. Raises ConfigurationError saying what is in the way."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except socket.gaierror as error:
        raise ConfigurationError(f"cannot resolve the host {host!r}: {error.strerror}") from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(2_048)  # claims the port at once; callers wait in line until the service is open
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(f"port {port} on {host} is in use; choose another with --port or FOURFOLD_PORT") from None
        raise ConfigurationError(f"cannot bind to {host}:{port}: {error.strerror}") from None
    return listener


def url_of(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
