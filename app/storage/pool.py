"""The connection pool of the read path and of short writes.

Retrievers and stores take a connection each, for as long as one statement runs. A statement that outlives its deadline is cancelled on
the server: by asyncpg when the caller's timeout or cancellation strikes, and by ``statement_timeout`` when the caller is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import asyncpg

from app.domain.errors import StoreUnavailable
from app.storage.dsn import parse_dsn
from app.storage.engine import CONNECTION_ERRORS, SERVER_SETTINGS, Connection

_ACQUIRE_SECONDS = 5.0


class Pool:
    """An asyncpg pool that says StoreUnavailable when the server is gone."""

    def __init__(self, dsn: str, *, size: int, statement_timeout_ms: int, application_name: str = "fourfold") -> None:
        self._dsn = parse_dsn(dsn)
        self._size = size
        self._statement_timeout_ms = statement_timeout_ms
        self._application_name = application_name
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._generic: set[int] = set()
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Connect; raises StoreUnavailable. A later acquire connects anew when the server was down."""
        async with self._opening:
            if self._pool is not None:
                return
            kwargs = self._dsn.connect_kwargs()
            settings = {
                **SERVER_SETTINGS,
                **kwargs.pop("server_settings", {}),
                "application_name": self._application_name,
                "statement_timeout": str(self._statement_timeout_ms),
            }
            try:
                self._pool = await asyncpg.create_pool(
                    **kwargs,
                    server_settings=settings,
                    min_size=0,
                    max_size=self._size,
                    max_inactive_connection_lifetime=60,
                    reset=_no_reset,
                    init=self._begun,
                )
            except CONNECTION_ERRORS as error:
                raise StoreUnavailable(f"cannot reach PostgreSQL at {self._dsn.redacted}: {error}", retry_after=2) from error

    async def close(self) -> None:
        """Close every connection; those still busy are ended after a moment."""
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), 3)
            except TimeoutError:
                self._pool.terminate()
            self._pool = None

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection of one's own; raises StoreUnavailable when none can be had or it is lost. A plan is made for each statement."""
        return self._acquired(generic=False)

    def keyed(self) -> AbstractAsyncContextManager[Connection]:
        """The same for statements that look rows up by key: their plans do not depend on the values and are made once, which often takes
        longer than to run them."""
        return self._acquired(generic=True)

    @asynccontextmanager
    async def _acquired(self, *, generic: bool) -> AsyncIterator[Connection]:
        if self._pool is None:
            await self.open()
        assert self._pool is not None
        try:
            async with self._pool.acquire(timeout=_ACQUIRE_SECONDS) as connection:
                await self._plan(connection, generic=generic)
                yield connection
        except CONNECTION_ERRORS as error:
            raise StoreUnavailable(f"lost PostgreSQL at {self._dsn.redacted}: {error}", retry_after=2) from error

    async def _begun(self, connection: Connection) -> None:
        self._generic.discard(connection.get_server_pid())

    async def _plan(self, connection: Connection, *, generic: bool) -> None:
        """Set the connection's mode of planning unless it has it already."""
        pid = connection.get_server_pid()
        if generic and pid not in self._generic:
            await connection.execute("SET plan_cache_mode = force_generic_plan")
            self._generic.add(pid)
        elif not generic and pid in self._generic:
            await connection.execute("SET plan_cache_mode = force_custom_plan")
            self._generic.discard(pid)


async def _no_reset(connection: Connection) -> None:
    """Nothing here leaves session state behind, so the round trip of asyncpg's own reset would be wasted."""
