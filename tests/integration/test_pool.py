"""What the pool says of a server that goes away, at every moment at which it can."""

from __future__ import annotations

import asyncio
import re
import struct
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.errors import StoreBusy, StoreUnavailable
from app.observability import metrics
from app.storage.dsn import parse_dsn
from app.storage.engine import connection
from app.storage.pool import Pool, StoreClosed

pytestmark = pytest.mark.anyio

PORT = 5432
GOING = b"SFATAL\0VFATAL\0C57P02\0Mterminating connection because of crash of another server process\0\0"


class Between:
    """Passes everything on between clients and a real server, and can say in the server's name that it goes."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._clients: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._open: set[asyncio.StreamReader] = set()
        self._held: set[asyncio.StreamReader] = set()
        self._going = asyncio.Event()

    def hold(self) -> None:
        """What open connections send from now on waits for ``let_go``; new ones are not held."""
        self._held |= self._open

    def let_go(self) -> None:
        self._held.clear()
        self._going.set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(f"{self._server}/.s.PGSQL.{PORT}")
        self._clients.append(writer)
        self._open.add(reader)
        self._tasks |= {asyncio.create_task(self._pass_on(reader, to_server)), asyncio.create_task(self._pass_on(from_server, writer))}

    async def say_that_it_goes(self) -> None:
        for client in self._clients:
            client.write(b"E" + struct.pack("!i", len(GOING) + 4) + GOING)
            await client.drain()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for client in self._clients:
            client.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError):
                while block := await reader.read(1 << 16):
                    if reader in self._held:
                        await self._going.wait()
                    writer.write(block)
                    await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def between(database_url: str) -> AsyncIterator[tuple[Between, str]]:
    """A server that stands before the real one, and the URL of the database through it."""
    real = parse_dsn(database_url)
    with tempfile.TemporaryDirectory() as folder:
        proxy = Between(real.hosts[0][0])
        async with await asyncio.start_unix_server(proxy.connected, Path(folder) / f".s.PGSQL.{PORT}"):
            yield proxy, replace(real, hosts=((folder, PORT),)).url
            await proxy.close()


async def test_a_connection_that_was_told_of_the_end_is_no_fault_of_the_service(database_url: str, anyio_backend: str) -> None:
    async with between(database_url) as (server, url):
        pool = Pool(url, size=1, statement_timeout_ms=5_000)
        async with pool.connection() as used:
            assert await used.fetchval("SELECT 1") == 1
        await server.say_that_it_goes()
        await asyncio.sleep(0.05)
        with pytest.raises(StoreUnavailable):
            async with pool.keyed() as used:
                await used.fetchval("SELECT 1")
        await pool.close()


RUNNING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%' AND state <> 'idle'"


async def _ended(database_url: str) -> None:
    """Returns when no such statement runs; fails when one goes on."""
    async with connection(database_url) as watcher:
        for _ in range(200):
            if await watcher.fetchval(RUNNING) == 0:
                return
            await asyncio.sleep(0.05)
    raise AssertionError("the statement goes on")


async def test_a_statement_that_comes_after_its_cancellation_is_ended(database_url: str, anyio_backend: str) -> None:
    async with between(database_url) as (server, url):
        pool = Pool(url, size=1, statement_timeout_ms=60_000)
        async with pool.connection() as used:
            await used.fetchval("SELECT 1")
        server.hold()
        passed = asyncio.create_task(asyncio.sleep(1.0))
        passed.add_done_callback(lambda _: server.let_go())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1), pool.connection() as used:
                await used.fetchval("SELECT pg_sleep(60)")
        assert not passed.done()  # whoever gives up does not wait for the server
        await passed  # the cancellation, on a connection of its own, has found nothing to cancel
        await _ended(database_url)
        async with pool.connection() as used:
            assert await used.fetchval("SELECT 1") == 1
        await pool.close()


def failures(reason: str) -> float:
    found = re.search(rf'^fourfold_store_failures_total\{{reason="{reason}"\}} (\S+)$', metrics.render()[0].decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("owner", [False, True])
async def test_a_statement_that_takes_too_long_is_told_and_the_connection_stays(database_url: str, anyio_backend: str, owner: bool) -> None:
    pool = Pool(database_url, size=1, statement_timeout_ms=50)
    acquired = pool.owner if owner else pool.connection
    before = failures("timeout")
    async with acquired() as used:
        pid = used.get_server_pid()
    with pytest.raises(StoreBusy, match=r"statement timeout.*ask for less") as told:
        async with acquired() as used, used.transaction():
            await used.execute("SELECT pg_sleep(60)")
    assert told.value.retry_after
    assert failures("timeout") == before + 1
    async with acquired() as used:
        assert used.get_server_pid() == pid
        assert await used.fetchval("SELECT 1") == 1
    await pool.close()


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SET LOCAL lock_timeout = 20; LOCK TABLE repository", "conflict"),
        (
            "SET LOCAL temp_file_limit = 1; SET LOCAL work_mem = 64; SELECT n FROM generate_series(1, 100000) n ORDER BY md5(n::text)",
            "no_room",
        ),
    ],
)
async def test_a_server_that_is_in_need_is_no_fault_of_the_service(
    database_url: str, anyio_backend: str, statement: str, reason: str
) -> None:
    pool = Pool(database_url, size=2, statement_timeout_ms=10_000)
    before = failures(reason)
    async with connection(database_url) as other, other.transaction():
        await other.execute("LOCK TABLE repository")
        with pytest.raises(StoreBusy):
            async with pool.owner() as used, used.transaction():
                await used.execute(statement)
    assert failures(reason) == before + 1
    await pool.close()


async def test_a_standby_takes_no_writes(database_url: str, anyio_backend: str) -> None:
    pool = Pool(database_url, size=1, statement_timeout_ms=10_000)
    with pytest.raises(StoreUnavailable, match="read-only"):
        async with pool.owner() as used, used.transaction(readonly=True):
            await used.execute("DELETE FROM repository")
    await pool.close()


async def test_a_wait_for_a_connection_that_is_in_use_ends(database_url: str, anyio_backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(database_url, size=1, statement_timeout_ms=10_000)
    async with pool.connection():
        monkeypatch.setattr("app.storage.pool._ACQUIRE_SECONDS", 0.05)
        with pytest.raises(StoreBusy, match="no connection to PostgreSQL became free"):
            async with pool.connection():
                pass
    await pool.close()


async def test_connections_that_are_prepared_are_those_that_are_used(database_url: str, anyio_backend: str) -> None:
    pool = Pool(database_url, size=4, statement_timeout_ms=5_000, application_name="prepared")
    await pool.prepare(3)
    async with pool.connection() as one, pool.connection() as other, connection(database_url) as own:
        taken = {one.get_server_pid(), other.get_server_pid()}
        there = await own.fetch("SELECT pid FROM pg_stat_activity WHERE application_name = 'prepared'")
    assert len(there) == 3
    assert taken <= {row["pid"] for row in there}
    await pool.close()


async def test_what_is_read_beside_ends_with_the_pool_and_begins_nothing_after_it(database_url: str, anyio_backend: str) -> None:
    pool = Pool(database_url, size=2, statement_timeout_ms=60_000)
    await pool.open()
    begun = asyncio.Event()

    async def read() -> None:
        async with pool.beside() as connection:
            begun.set()
            await connection.execute("SELECT pg_sleep(60)")

    reading = asyncio.create_task(read())
    await begun.wait()
    async with asyncio.timeout(5):
        await pool.close()
    assert reading.cancelled()
    with pytest.raises(StoreClosed):
        async with pool.beside():
            pass
