"""Clients that connect and fall silent, send too much, too slowly or read nothing: over real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from uvicorn.loops.auto import auto_loop_factory

from app.config import HttpSettings, SearchSettings, Settings
from app.http.connection import HEAD_BYTES, PIPELINED
from app.http.security_headers import SECURITY_HEADERS
from app.http.serve import serve
from app.observability import metrics

from .twins import MemoryService, factory

pytestmark = pytest.mark.anyio

GET = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
SEARCH = b"GET /v1/search?q=x&repositories=api HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """The loop that ``fourfold serve`` runs on, whose connections are others than asyncio's own."""
    return "asyncio", {"loop_factory": auto_loop_factory()}


@asynccontextmanager
async def serving(service: MemoryService, **bounds: Any) -> AsyncIterator[int]:
    """The port of a service with these bounds."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def on_ready(_service: MemoryService, url: str) -> None:
        ready.set_result(int(url.rpartition(":")[2]))

    settings = Settings(port=0, http=HttpSettings(**bounds), search=SearchSettings(admission_ms=50))
    running = asyncio.create_task(serve(factory(service), settings, worker=False, on_ready=on_ready))
    try:
        yield await asyncio.wait_for(ready, 20)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class Client:
    """A connection that is written to byte by byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the next answer."""
        head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 10)
        first, *lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines if line)
        return int(first.split()[1]), headers, await self.reader.readexactly(int(headers.get("content-length", "0")))

    async def is_ended(self) -> bool:
        """Wait until the service hangs up."""
        try:
            return await asyncio.wait_for(self.reader.read(), 10) == b""
        except ConnectionError:
            return True


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


def ended(reason: str) -> float:
    for line in metrics.render()[0].decode().splitlines():
        if line.startswith(f'fourfold_connections_ended_total{{reason="{reason}"}}'):
            return float(line.rpartition(" ")[2])
    return 0.0


async def repeated(client: Client, data: bytes, times: int) -> None:
    for _ in range(times):
        await client.send(data)
        await asyncio.sleep(0.05)


async def refused(client: Client, status: int, code: str) -> dict[str, str]:
    """The connection is answered with a problem and ended; the headers of the answer."""
    got, headers, body = await client.answer()
    problem = json.loads(body)
    assert (got, problem["status"], problem["type"]) == (status, status, f"urn:fourfold:problem:{code}")
    assert headers["content-type"] == "application/problem+json"
    assert headers["connection"] == "close"
    assert {name: headers[name.lower()] for name in SECURITY_HEADERS} == {name: text.lower() for name, text in SECURITY_HEADERS.items()}
    assert await client.is_ended()
    return headers


async def test_a_connection_that_says_nothing_is_ended(service: MemoryService) -> None:
    async with serving(service, head_seconds=0.2) as port, connected(port) as client:
        assert await client.is_ended()


async def test_a_head_that_never_ends_is_told_and_ended(service: MemoryService) -> None:
    async with serving(service, head_seconds=0.4) as port, connected(port) as client:
        before = ended("slow_head")
        await client.send(b"GET /livez HTTP/1.1\r\n")
        for number in range(2):
            await asyncio.sleep(0.1)
            await client.send(b"X-Slow-%d: 1\r\n" % number)
        await refused(client, 408, "request_timeout")
        assert ended("slow_head") == before + 1


async def test_empty_lines_between_requests_do_not_keep_a_connection(service: MemoryService) -> None:
    async with serving(service, head_seconds=0.4) as port, connected(port) as client:
        await client.send(GET)
        assert (await client.answer())[0] == 200
        with pytest.raises(ConnectionError):
            await repeated(client, b"\r\n", 40)


async def test_a_request_under_way_is_answered_however_slowly_the_next_one_comes(service: MemoryService) -> None:
    service.search.block = asyncio.Event()
    async with serving(service, head_seconds=0.2) as port, connected(port) as client:
        await client.send(SEARCH + b"GET /livez HT")
        await service.search.entered.wait()
        await asyncio.sleep(0.5)
        service.search.block.set()
        assert (await client.answer())[0] == 200


@pytest.mark.parametrize("size", [HEAD_BYTES + 10, 3_000_000])
@pytest.mark.parametrize("head", [b"GET /livez HTTP/1.1\r\nX-Long: %s", b"GET /livez?%s", b"GET /livez HTTP/1.1\r\nX-%s: 1"])
async def test_a_large_head_is_told_and_ended(service: MemoryService, head: bytes, size: int) -> None:
    async with serving(service) as port, connected(port) as client:
        sending = asyncio.create_task(client.send(head % (b"a" * size) + b" HTTP/1.1\r\n\r\n"))
        try:
            await refused(client, 431, "head_too_large")
        except ConnectionError:  # hung up on while it was still sending
            assert size > 1_000_000
        await asyncio.gather(sending, return_exceptions=True)


async def test_many_small_headers_are_a_large_head(service: MemoryService) -> None:
    async with serving(service) as port, connected(port) as client:
        await client.send(b"GET /livez HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n")
        await refused(client, 431, "head_too_large")


async def test_what_is_no_request_is_told_as_a_problem(service: MemoryService) -> None:
    async with serving(service) as port, connected(port) as client:
        await client.send(b"\x16\x03\x01 this is TLS\r\n\r\n")
        await refused(client, 400, "malformed")


async def test_a_body_that_comes_too_slowly_is_told(service: MemoryService) -> None:
    async with serving(service, stall_seconds=0.3) as port, connected(port) as client:
        await client.send(b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n")
        for _ in range(2):
            await client.send(b" ")
            await asyncio.sleep(0.1)
        await refused(client, 408, "request_timeout")


async def test_a_whole_body_may_be_answered_slowly(service: MemoryService) -> None:
    service.search.block = asyncio.Event()
    async with serving(service, stall_seconds=0.1) as port, connected(port) as client:
        body = b'{"query": "x", "repositories": ["api"]}'
        head = b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        await client.send(head % len(body) + body)
        await service.search.entered.wait()
        await asyncio.sleep(0.4)
        service.search.block.set()
        assert (await client.answer())[0] == 200


async def test_more_connections_than_there_are_places_are_sent_away(service: MemoryService) -> None:
    async with serving(service, connections=2) as port, connected(port) as first, connected(port) as second:
        for client in (first, second):
            await client.send(GET)
            assert (await client.answer())[0] == 200
        async with connected(port) as third:
            assert (await refused(third, 503, "overloaded"))["retry-after"] == "1"
        first.writer.transport.abort()
        await asyncio.sleep(0.1)
        async with connected(port) as fourth:
            await fourth.send(GET)
            assert (await fourth.answer())[0] == 200


async def test_a_client_that_reads_nothing_is_ended(service: MemoryService) -> None:
    async with serving(service, stall_seconds=0.5) as port, connected(port) as client:
        before = ended("slow_reader") + ended("pipelined")
        client.writer.transport.get_extra_info("socket").setsockopt(1, 8, 4_096)  # a small receive buffer
        client.reader._transport.pause_reading()  # type: ignore[attr-defined]
        ask = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: identity\r\n\r\n"
        with pytest.raises(ConnectionError):
            await repeated(client, ask, 200)
        assert ended("slow_reader") + ended("pipelined") == before + 1


async def test_a_heap_of_requests_in_advance_is_not_taken(service: MemoryService) -> None:
    service.search.block = asyncio.Event()
    async with serving(service) as port, connected(port) as client:
        before = ended("pipelined")
        await client.send(SEARCH * (PIPELINED + 2))
        assert await client.is_ended()
        assert ended("pipelined") == before + 1


async def test_all_requests_of_a_connection_end_with_it(service: MemoryService) -> None:
    service.search.block = asyncio.Event()
    async with serving(service) as port:
        async with connected(port) as client:
            await client.send(SEARCH + SEARCH)
            await service.search.entered.wait()
        for _ in range(100):
            if service.search.cancelled:
                break
            await asyncio.sleep(0.05)
        assert service.search.cancelled == 1


async def test_no_other_protocol_is_spoken(service: MemoryService) -> None:
    async with serving(service) as port, connected(port) as client:
        await client.send(
            b"GET /v1/search?q=x&repositories=api HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        )
        assert (await client.answer())[0] == 200
