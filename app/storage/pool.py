"""The connection pool of the read path and of short writes.

Retrievers and stores take a connection each, for as long as one statement runs. A statement that is given up is cancelled on the server
by asyncpg. A cancellation that reaches the server before its statement does is lost: the connection is closed then, and the server, which
looks after its clients while it works, ends the statement. ``statement_timeout`` is the last bound; what meets it, or finds the server
without room or another statement in its way, is StoreBusy and no fault of the service.

What is read beside the answers ends with the pool, so that nobody waits for it when the service or a command ends.

A caller who is limited to some repositories (domain/access.py) reads on connections of a role that sees no others.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import asyncpg
import structlog
from asyncpg.pool import PoolConnectionProxy

from app.domain.access import visible_ids
from app.domain.errors import StoreBusy, StoreUnavailable
from app.observability import metrics
from app.storage.dsn import parse_dsn
from app.storage.engine import CONNECTION_ERRORS, GIVEN_UP, SERVER_SETTINGS, Connection, Reads
from app.storage.row_security import ROLE, SETTING

_ACQUIRE_SECONDS = 5.0

_IDLE_SECONDS = 600.0
"""How long a connection stays that nobody uses. SCRAM's 4,096 rounds in Python keep everybody waiting for some 35 ms at each new one."""

_CANCEL_SECONDS = 0.5
"""How long a cancelled statement may take to end before its connection is closed."""

_BUSY_RETRY_SECONDS = 5

_NOTHING = "SELECT"
"""Waits for the end of a statement that is being cancelled, and lets the server let go of one that was only prepared."""

_LOOK_AFTER_CLIENTS = "500ms"
"""How often the server looks whether the client of a running statement is still there. Where a process of ours was killed too."""

_log = structlog.get_logger(__name__)


class StoreClosed(StoreUnavailable):
    """The service is ending; whoever reads for later need not."""


class _Mode(NamedTuple):
    """How a connection is set. ``repositories``: those that its role sees, as PostgreSQL writes the array; None: the owner's, sees all."""

    generic: bool = False
    repositories: str | None = None


class _Reader:
    """Takes a connection when it is asked for the first time."""

    def __init__(self, held: AsyncExitStack, take: Callable[[], AbstractAsyncContextManager[Connection]]) -> None:
        self._held = held
        self._take = take
        self._connection: Connection | None = None

    async def fetch(self, query: str, *args: Any) -> list[asyncpg.Record]:
        if self._connection is None:
            self._connection = await self._held.enter_async_context(self._take())
        return await self._connection.fetch(query, *args)


class Pool:
    """asyncpg pools, the owner's and the limited role's, that say StoreUnavailable when the server is gone, StoreBusy when it gives up."""

    def __init__(
        self, dsn: str, *, size: int, statement_timeout_ms: int, application_name: str = "fourfold", row_security: bool = False
    ) -> None:
        """``size`` connections of each kind at most. ``row_security``: whether the limited role is there."""
        self._dsn = parse_dsn(dsn)
        self._size = size
        self._statement_timeout_ms = statement_timeout_ms
        self._application_name = application_name
        self._row_security = row_security
        self._pools: dict[bool, asyncpg.Pool[asyncpg.Record]] = {}
        self._modes: dict[int, _Mode] = {}
        self._opening = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()
        self._beside: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def open(self) -> None:
        """Connect; raises StoreUnavailable. A later acquire connects anew when the server was down."""
        self._closed = False
        await self._opened(limited=False)

    async def _opened(self, *, limited: bool) -> asyncpg.Pool[asyncpg.Record]:
        async with self._opening:
            if self._closed:
                raise StoreClosed("the store is closed")
            if limited not in self._pools:
                self._pools[limited] = await self._create(limited=limited)
            return self._pools[limited]

    async def _create(self, *, limited: bool) -> asyncpg.Pool[asyncpg.Record]:
        kwargs = self._dsn.connect_kwargs()
        settings = {
            **SERVER_SETTINGS,
            **kwargs.pop("server_settings", {}),
            **({"role": ROLE} if limited else {}),
            "application_name": self._application_name,
            "statement_timeout": str(self._statement_timeout_ms),
            "client_connection_check_interval": _LOOK_AFTER_CLIENTS,
        }
        try:
            return await asyncpg.create_pool(
                **kwargs,
                server_settings=settings,
                min_size=0,
                max_size=self._size,
                max_inactive_connection_lifetime=_IDLE_SECONDS,
                reset=_no_reset,
                init=self._begun,
                connect=_connect,
            )
        except CONNECTION_ERRORS as error:
            metrics.count_store_failure("unreachable")
            raise StoreUnavailable(f"cannot reach PostgreSQL at {self._dsn.redacted}: {error}", retry_after=2) from error

    async def prepare(self, connections: int) -> None:
        """Make so many connections before somebody waits for them; raises as ``connection`` does."""
        async with AsyncExitStack() as held:
            for _ in range(connections):
                await held.enter_async_context(self.owner())

    async def close(self) -> None:
        """Close every connection; those still busy are ended after a moment, what is read ``beside`` at once."""
        self._closed = True
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await asyncio.gather(*self._ending, return_exceptions=True)
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            try:
                await asyncio.wait_for(pool.close(), 3)
            except TimeoutError:
                pool.terminate()

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection of one's own, which sees what the caller may.

        Raises StoreUnavailable when none can be made or it is lost, StoreBusy when none becomes free or the server gives a statement up.

        A plan is made for each statement.
        """
        return self._acquired(self._mode(generic=False))

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[Connection]:
        """A ``connection`` for a task of its own, which nobody waits for: it is cancelled when the pool is closed."""
        task = asyncio.current_task()
        assert task is not None
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
        async with self.connection() as connection:
            yield connection

    def keyed(self) -> AbstractAsyncContextManager[Connection]:
        """The same for statements that look rows up by key: their plans do not depend on the values and are made once, which often takes
        longer than to run them."""
        return self._acquired(self._mode(generic=True))

    @asynccontextmanager
    async def reader(self, *, keyed: bool) -> AsyncIterator[Reads]:
        """A ``connection``, or one of ``keyed``, for what memory mostly knows: taken when the first statement comes, kept to the end."""
        async with AsyncExitStack() as held:
            yield _Reader(held, self.keyed if keyed else self.connection)

    def owner(self, *, keyed: bool = False) -> AbstractAsyncContextManager[Connection]:
        """A connection that sees and may write everything, whoever calls: for writes, keys and the log. Names are checked before."""
        return self._acquired(_Mode(keyed))

    def _mode(self, *, generic: bool) -> _Mode:
        ids = visible_ids() if self._row_security else None
        return _Mode(generic, None if ids is None else "{" + ",".join(map(str, ids)) + "}")

    @asynccontextmanager
    async def _acquired(self, mode: _Mode) -> AsyncIterator[Connection]:
        limited = mode.repositories is not None
        pool = self._pools.get(limited) or await self._opened(limited=limited)
        try:
            connection = await self._taken(pool)
            try:
                await self._set(connection, mode)
                yield connection
            except BaseException:
                # Not waited for: whoever gave up has no time left.
                task = asyncio.create_task(self._ended(pool, connection))
                self._ending.add(task)
                task.add_done_callback(self._ending.discard)
                raise
            await pool.release(connection)
        except CONNECTION_ERRORS as error:
            metrics.count_store_failure("lost")
            raise StoreUnavailable(f"lost PostgreSQL at {self._dsn.redacted}: {error}", retry_after=2) from error
        except tuple(GIVEN_UP) as error:
            reason, advice = next(words for kind, words in GIVEN_UP.items() if isinstance(error, kind))
            metrics.count_store_failure(reason)
            raise StoreBusy(f"PostgreSQL gave a statement up ({error}): {advice}", retry_after=_BUSY_RETRY_SECONDS) from error

    async def _taken(self, pool: asyncpg.Pool[asyncpg.Record]) -> PoolConnectionProxy[asyncpg.Record]:
        """One that is free, or a new one."""
        try:
            return await pool.acquire(timeout=_ACQUIRE_SECONDS)
        except TimeoutError:
            if pool.get_size() < self._size:
                raise TimeoutError(f"it takes no connection within {_ACQUIRE_SECONDS:g} s") from None
            metrics.count_store_failure("no_connection")
            message = f"no connection to PostgreSQL became free within {_ACQUIRE_SECONDS:g} s: ask again later"
            raise StoreBusy(message, retry_after=_BUSY_RETRY_SECONDS) from None

    async def _ended(self, pool: asyncpg.Pool[asyncpg.Record], connection: Connection) -> None:
        """Give back a connection whose statement may still be on its way to the server, or running, or only prepared."""
        assert isinstance(connection, PoolConnectionProxy)
        try:
            async with asyncio.timeout(_CANCEL_SECONDS):
                await connection.execute(_NOTHING)
        except TimeoutError:
            _log.warning("statement_outlived_its_cancellation")
            connection.terminate()
        except (*CONNECTION_ERRORS, asyncpg.PostgresError):
            connection.terminate()
        finally:
            await pool.release(connection)

    async def _begun(self, connection: Connection) -> None:
        self._modes[connection.get_server_pid()] = _Mode()

    async def _set(self, connection: Connection, mode: _Mode) -> None:
        """Set the connection's mode unless it has it already. One whose setting was interrupted has none."""
        pid = connection.get_server_pid()
        known = self._modes.pop(pid, None)
        if known != mode:
            plan = "force_generic_plan" if mode.generic else "force_custom_plan"
            visible = "" if mode.repositories is None else f"; SET {SETTING} = '{mode.repositories}'"
            await connection.execute(f"SET plan_cache_mode = {plan}{visible}")
        self._modes[pid] = mode


async def _no_reset(connection: Connection) -> None:
    """Nothing here leaves session state behind, so the round trip of asyncpg's own reset would be wasted."""


async def _connect(*args: Any, **kwargs: Any) -> asyncpg.Connection[asyncpg.Record]:
    """A new connection. One that is given up is made to its end and then closed: asyncpg cannot be stopped at every moment on the way."""
    making = asyncio.create_task(asyncpg.connect(*args, **kwargs))
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        making.add_done_callback(_close)
        raise


def _close(made: asyncio.Task[asyncpg.Connection[asyncpg.Record]]) -> None:
    if not made.cancelled() and made.exception() is None:
        made.result().terminate()
