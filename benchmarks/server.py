"""A ``fourfold serve`` of its own, and clients that keep their connection to it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final

from app.config import Settings
from benchmarks.corpora import CHECKOUT, WORK

START_SECONDS: Final = 60.0
LOG: Final = WORK / "serve.log"


@dataclass(frozen=True, slots=True)
class Reply:
    """``ms`` from the first byte sent to the last received."""

    status: int
    body: Mapping[str, Any]
    ms: float
    headers: Mapping[str, str] = field(default_factory=dict)


class Client:
    """HTTP/1.1 over one connection: as little of its own as possible, since it shares the machine with what it measures."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def search(self, body: Mapping[str, Any]) -> Reply:
        return await self.request("POST", "/v1/search", json.dumps(body).encode())

    async def request(self, method: str, path: str, content: bytes = b"") -> Reply:
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(content)}\r\n\r\n"
        began = perf_counter()
        self._writer.write(head.encode() + content)
        status_line, *headers = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        named = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in headers)}
        answer = await self._reader.readexactly(int(named["content-length"]))
        ms = (perf_counter() - began) * 1_000
        return Reply(int(status_line.split()[1]), json.loads(answer), ms, named)


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Client(reader, writer)
    finally:
        writer.close()
        await writer.wait_closed()


@asynccontextmanager
async def serving(settings: Settings, database_url: str) -> AsyncIterator[int]:
    """The port of a service without a worker on that database, once it is ready."""
    port = _free_port()
    environment = os.environ | {"DATABASE_URL": database_url, "FOURFOLD_EMBEDDER": settings.embedder, "FOURFOLD_LOG_LEVEL": "warning"}
    command = [sys.executable, "-m", "app", "serve", "--no-worker", "--port", str(port)]
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("wb") as log:
        process = await asyncio.create_subprocess_exec(*command, env=environment, cwd=CHECKOUT, stdout=log, stderr=log)
        try:
            await _wait_until_ready(port, process)
            yield port
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def _wait_until_ready(port: int, process: asyncio.subprocess.Process) -> None:
    deadline = perf_counter() + START_SECONDS
    while process.returncode is None and perf_counter() < deadline:
        try:
            async with client(port) as opened:
                if (await opened.request("GET", "/readyz")).status == 200:
                    return
        except OSError:
            pass
        await asyncio.sleep(0.2)
    raise RuntimeError(f"the service was not ready within {START_SECONDS:.0f} s (exit status {process.returncode}); see {LOG}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
