"""A request that was given up, by its client or by its deadline, leaves no statement running and no connection taken.

Another session locks the tables that retrievers read, so that every statement of a request is caught waiting; it would go on for the
statement timeout, which is far away.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import SecretStr

from app import bootstrap
from app.config import SearchSettings, Settings
from app.http.serve import serve
from app.indexing.embed_sets import VectorSets
from app.indexing.parse import ParsePool
from tests.integration.conftest import Bench

pytestmark = pytest.mark.anyio

PLACES: Final = 8
ROUNDS: Final = 8
"""Of each kind of request, as many at a time as there are places: 24 kinds are 192 requests given up."""

LOCKED: Final = (
    "chunk",
    "symbol",
    "edge",
    "file",
    "reference",
    "posting",
    "segment",
    "embedding",
    "centrality",
    "name_word",
    "skipped_file",
)
LISTED: Final = {
    "repositories": "repository",
    "repository": "repository",
    "jobs": "job",
    "scopes": "saved_scope",
    "keys": "api_key",
    "audit": "audit",
}
"""Lists, and the table that each is read from; the other kinds of request read the tables above."""

OVERLOADED: Final = "urn:fourfold:problem:overloaded"
LONG: Final = SearchSettings(deadline_ms=10_000, max_deadline_ms=60_000, retriever_deadline_ms=60_000, concurrency=PLACES)
WAITING: Final = """
    SELECT state || ' since ' || (clock_timestamp() - state_change) || ': ' || left(query, 200) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'fourfold' AND state <> 'idle'
"""


@dataclass(frozen=True)
class Running:
    """A service on a port, and a session of one's own in its database."""

    bench: Bench
    port: int
    symbol: str
    chunk: str


@pytest.fixture(name="running")
async def running_service(database_url: str, parse_pool: ParsePool, shop: Path) -> AsyncIterator[Running]:
    settings = Settings(database_url=SecretStr(database_url), embedder="static", search=LONG, port=0)
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def on_ready(_service: object, url: str) -> None:
        ready.set_result(int(url.rpartition(":")[2]))

    async with bootstrap.backend(settings) as backend:
        bench = Bench(backend, bootstrap.compose(backend), parse_pool)
        await bench.index(shop)
        async with backend.connect() as own:
            while await VectorSets(backend.connect, backend.embedders, settings.embedding).round(own, lambda: False):
                pass
            chunk = await own.fetchrow("SELECT repository_id, chunk_id FROM chunk LIMIT 1")
        assert chunk is not None
        serving = asyncio.create_task(serve(lambda: nullcontext(bootstrap.compose(backend)), settings, worker=False, on_ready=on_ready))
        port = await asyncio.wait_for(ready, 20)
        found = json.loads(await answer_of(port, get("/v1/symbols?name=add_tax")))
        running = Running(bench, port, found["symbols"][0]["id"], f"c{chunk['repository_id']}-{chunk['chunk_id']}")
        for request in REQUESTS.values():  # what is read once for all requests belongs to none of them, and is read by now
            await answer_of(port, request(running))
        try:
            yield running
        finally:
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()


def post(path: str, body: dict[str, Any]) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(content)}"
    )
    return f"{head}\r\n\r\n".encode() + content


async def _whole(port: int, request: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    head, _, body = (await asyncio.wait_for(reader.read(), 60)).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


async def asked(port: int, request: bytes) -> tuple[int, dict[str, Any]]:
    """Status and body of an answer in JSON."""
    status, body = await _whole(port, request)
    return status, json.loads(body)


async def answer_of(port: int, request: bytes) -> bytes:
    """The body of an answer with status 200."""
    status, body = await _whole(port, request)
    assert status == 200, body
    return body


def _search(modality: str, query: str) -> dict[str, Any]:
    return {"query": query, "modalities": [modality], "repositories": ["shop"]}


DIFF: Final = (
    "--- a/shop/money.py\n+++ b/shop/money.py\n@@ -1 +1 @@\n"
    "-def add_tax(amount: int) -> int:\n+def add_tax(amount: int, rate: int) -> int:\n"
)
REQUESTS: Final[dict[str, Callable[[Running], bytes]]] = {
    "semantic": lambda r: post("/v1/search", _search("semantic", "how is value added tax computed")),
    "text words": lambda r: post("/v1/search", _search("text", "how is value added tax computed")),
    "text literal": lambda r: post("/v1/search", _search("text", '"add_tax("')),
    "text regex": lambda r: post("/v1/search", _search("text", r"regex:/add_\w+/")),
    "structural": lambda r: post("/v1/search", _search("structural", "where is add_tax defined")),
    "graph": lambda r: post("/v1/search", _search("graph", "who calls add_tax")),
    "thorough": lambda r: post("/v1/search", {"query": "how is value added tax computed", "preset": "thorough"}),
    "like": lambda r: post("/v1/search", {"like": [r.chunk]}),
    "link": lambda r: get("/v1/search?q=how+is+tax+computed&preset=thorough"),
    "stream": lambda r: post("/v1/search/stream", {"query": "how is value added tax computed", "preset": "thorough"}),
    "batch": lambda r: post("/v1/search/batch", {"searches": [_search("text", '"add_tax("'), _search("graph", "who calls add_tax")]}),
    "symbols": lambda r: get("/v1/symbols?name=add*"),
    "callers": lambda r: get(f"/v1/symbols/{r.symbol}/callers"),
    "impact": lambda r: get(f"/v1/symbols/{r.symbol}/impact?depth=3"),
    "difference": lambda r: post("/v1/impact", {"repository": "shop", "diff": DIFF}),
    "file": lambda r: get("/v1/files?repository=shop&path=shop/money.py"),
    "coverage": lambda r: get("/v1/repositories/shop/coverage"),
    "repositories": lambda r: get("/v1/repositories"),
    "repository": lambda r: get("/v1/repositories/shop"),
    "jobs": lambda r: get("/v1/jobs"),
    "scopes": lambda r: get("/v1/scopes"),
    "keys": lambda r: get("/v1/keys"),
    "why not": lambda r: get("/v1/why-not?q=add_tax&repository=shop&path=shop/money.py"),
}


@asynccontextmanager
async def locked(running: Running, *tables: str) -> AsyncIterator[Callable[[], Any]]:
    """No other session reads the tables; gives a function that lists the statements of the service that run."""
    async with running.bench.backend.connect() as holder, running.bench.backend.connect() as watcher:
        transaction = holder.transaction()
        await transaction.start()
        await holder.execute(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE")
        try:
            yield lambda: watcher.fetch(WAITING)
        finally:
            await transaction.rollback()


async def until(some: bool, running: Callable[[], Any], what: str) -> None:
    """Returns when there are statements, or none; fails when it stays otherwise."""
    for _ in range(400):
        if bool(await running()) is some:
            return
        await asyncio.sleep(0.025)
    raise AssertionError(f"{what}: {[row[0] for row in await running()]}")


async def all_answer(running: Running) -> None:
    """Places and connections are there as before."""
    for request in REQUESTS.values():
        await asyncio.gather(*(answer_of(running.port, request(running)) for _ in range(PLACES)))


async def test_clients_that_leave_leave_nothing_running(running: Running) -> None:
    for tables in (LOCKED, *((table,) for table in sorted(set(LISTED.values())))):
        kinds = {kind: request for kind, request in REQUESTS.items() if LISTED.get(kind, "chunk") in tables}
        async with locked(running, *tables) as statements:
            for kind, request in kinds.items():
                opened = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(ROUNDS)]
                for _, writer in opened:
                    writer.write(request(running))
                await until(True, statements, f"{kind} did not reach the database")
                await asyncio.sleep(0.1)  # some wait for a statement that one of them makes for all
                for _, writer in opened:
                    writer.transport.abort()
                await until(False, statements, f"{kind} goes on without its client")
    await all_answer(running)


async def test_deadlines_leave_nothing_running(running: Running) -> None:
    searches = {kind: request(running) for kind, request in REQUESTS.items() if request(running).startswith(b"POST /v1/search HTTP")}
    given_up = 0
    async with locked(running, *LOCKED) as statements:
        for milliseconds in (200, 120):  # the later statements of a search have the less time, down to none
            for kind, request in searches.items():
                body = json.loads(request.partition(b"\r\n\r\n")[2]) | {"timeout_ms": milliseconds}
                answers = [asyncio.create_task(asked(running.port, post("/v1/search", body))) for _ in range(ROUNDS)]
                for status, answer in await asyncio.gather(*answers):
                    # Retrievers are given up at their deadline, and what would be read after them soon after.
                    assert (status, answer.get("partial"), answer.get("type")) in ((200, True, None), (503, None, OVERLOADED)), kind
                    given_up += 1
                await until(False, statements, f"{kind} goes on after its deadline")
    assert given_up >= 100
    await all_answer(running)
