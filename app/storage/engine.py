"""Connections to PostgreSQL, and what asyncpg raises when it is gone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, TypeAlias

import asyncpg

from app.domain.errors import StoreUnavailable
from app.storage.dsn import parse_dsn

SERVER_SETTINGS: Final = {
    "application_name": "fourfold",
    "jit": "off",
    # A generic plan does not know the literal: a rare and a common trigram need different plans.
    "plan_cache_mode": "force_custom_plan",
}

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
"""A connection, one's own or lent by the pool."""


class Reads(Protocol):
    """What answers statements: a connection, or what takes one when it is asked for the first time."""

    async def fetch(self, query: str, *args: Any) -> list[asyncpg.Record]: ...


CONNECTION_ERRORS: Final = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""What asyncpg raises when the server is down, going down or lost.

Or a standby by now, which takes no writes. The last one where the server has said that it goes and the connection is used before its
end arrives.
"""

_ASK_AGAIN: Final = "ask again later"

GIVEN_UP: Final[Mapping[type[asyncpg.PostgresError], tuple[str, str]]] = {
    asyncpg.QueryCanceledError: ("timeout", "ask for less, or again later"),
    asyncpg.LockNotAvailableError: ("conflict", _ASK_AGAIN),
    asyncpg.TransactionRollbackError: ("conflict", _ASK_AGAIN),
    asyncpg.InsufficientResourcesError: ("no_room", "its disk, its memory or a limit of it is full, and has to be seen to"),
    asyncpg.PostgresSystemError: ("no_room", "its disk does not answer as it should, and has to be seen to"),
}
"""What a server that works says of a statement that was in order: the kind of failure, and what to do."""


async def open_connection(dsn: str, *, application_name: str = "fourfold") -> asyncpg.Connection[asyncpg.Record]:
    """A raw connection; raises StoreUnavailable when the server cannot be reached."""
    target = parse_dsn(dsn)
    kwargs = target.connect_kwargs()
    settings = {**SERVER_SETTINGS, **kwargs.pop("server_settings", {}), "application_name": application_name}
    try:
        return await asyncpg.connect(**kwargs, server_settings=settings)
    except CONNECTION_ERRORS as error:
        raise StoreUnavailable(f"cannot reach PostgreSQL at {target.redacted}: {error}", retry_after=2) from error


@asynccontextmanager
async def connection(dsn: str, *, application_name: str = "fourfold") -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """``open_connection`` that closes itself."""
    opened = await open_connection(dsn, application_name=application_name)
    try:
        yield opened
    finally:
        await opened.close()
