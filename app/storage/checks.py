"""What a PostgreSQL must have before the service works with it, checked at every start, on either kind of server.

The check has a connection of its own and leaves nothing behind: an extension that is missing is created and rolled back, and a
server that crashes on a vector operation takes down the check's connection, with a message, and not a search later.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass, replace
from typing import Final

import asyncpg

from app.domain.errors import ConfigurationError, StoreUnavailable
from app.storage.dsn import Dsn

LEAST_SERVER: Final = 150_000
LEAST_EXTENSIONS: Final = {"vector": (0, 8), "pg_trgm": (1, 6), "btree_gin": (1, 0)}

_CONNECT_SECONDS = 10.0
_COMMAND_SECONDS = 60.0

_HOW_TO_INSTALL = {
    "vector": "pgvector is not installed on the server: install it there (for example the package postgresql-{major}-pgvector)",
    "pg_trgm": "pg_trgm is not installed on the server: install PostgreSQL's contrib modules there",
    "btree_gin": "btree_gin is not installed on the server: install PostgreSQL's contrib modules there",
}


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What was found. ``version_num`` is PostgreSQL's own number (180006 is 18.6); ``warnings`` are sentences."""

    address: str
    database: str
    user: str
    version: str
    version_num: int
    encoding: str
    ctype: str
    extensions: dict[str, str]
    warnings: tuple[str, ...] = ()

    @property
    def major(self) -> int:
        return self.version_num // 10_000


async def check_server(dsn: Dsn) -> ServerFacts:
    """Connect, look, and disconnect.

    Raises StoreUnavailable when the server is down or busy, ConfigurationError when it can never serve like this.
    """
    try:
        try:
            return await _check(dsn)
        except asyncpg.UniqueViolationError:  # another process created an extension at the same moment
            return await _check(dsn)
    except asyncpg.InterfaceError as error:
        raise StoreUnavailable(f"PostgreSQL at {dsn.address} closed the connection: {error}") from error
    except (asyncpg.PostgresError, OSError) as error:
        raise StoreUnavailable(f"PostgreSQL at {dsn.address} could not be checked: {_reason(error)}") from error


async def _check(dsn: Dsn) -> ServerFacts:
    connection = await _connect(dsn)
    try:
        facts = await _read_facts(connection, dsn)
        require_server(facts)
        transaction = connection.transaction()
        await transaction.start()
        versions = {name: await _extension_version(connection, name, facts) for name in LEAST_EXTENSIONS}
        require_extensions(versions)
        warnings = await _locale_warnings(connection, facts)
        await _try_vector_operation(connection, facts)
        await transaction.rollback()
        await connection.close()
    finally:
        connection.terminate()
    return replace(facts, extensions=versions, warnings=warnings)


def require_server(facts: ServerFacts) -> None:
    """Raises ConfigurationError when the server is too old or the database holds other bytes than UTF-8."""
    if facts.version_num < LEAST_SERVER:
        raise ConfigurationError(f"PostgreSQL at {facts.address} is version {facts.version}; {LEAST_SERVER // 10_000} or newer is needed")
    if facts.encoding != "UTF8":
        raise ConfigurationError(
            f"the database {facts.database} at {facts.address} has the encoding {facts.encoding}, not UTF8: "
            "create another one with ENCODING 'UTF8' TEMPLATE template0"
        )


def require_extensions(versions: dict[str, str]) -> None:
    """Raises ConfigurationError when an extension is older than the SQL here needs."""
    for name, least in LEAST_EXTENSIONS.items():
        if tuple(int(part) for part in versions[name].split(".")[:2]) < least:
            wanted = ".".join(str(part) for part in least)
            raise ConfigurationError(
                f"the extension {name} has version {versions[name]}; {wanted} or newer is needed: "
                f"install it on the server, then run ALTER EXTENSION {name} UPDATE"
            )


async def _connect(dsn: Dsn) -> asyncpg.Connection:
    try:
        return await asyncpg.connect(**{"timeout": _CONNECT_SECONDS, **dsn.connect_kwargs()}, command_timeout=_COMMAND_SECONDS)
    except asyncpg.InvalidAuthorizationSpecificationError as error:  # a wrong password is one
        raise ConfigurationError(f"PostgreSQL at {dsn.address} refused the login: {_reason(error)}") from error
    except asyncpg.InvalidCatalogNameError as error:
        raise ConfigurationError(f"PostgreSQL at {dsn.address}: {_reason(error)}; create it with CREATE DATABASE") from error
    except asyncpg.InsufficientPrivilegeError as error:
        raise ConfigurationError(f"PostgreSQL at {dsn.address}: {_reason(error)}") from error
    except ssl.SSLCertVerificationError as error:
        raise ConfigurationError(f"the certificate of PostgreSQL at {dsn.address} was refused: {error.verify_message}") from error
    except (asyncpg.ClientConfigurationError, asyncpg.TargetServerAttributeNotMatched) as error:
        raise ConfigurationError(f"DATABASE_URL is not usable: {error}") from error
    except TimeoutError as error:
        raise StoreUnavailable(f"PostgreSQL at {dsn.address} does not answer") from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise StoreUnavailable(f"PostgreSQL at {dsn.address} cannot be reached: {_reason(error)}") from error


async def _read_facts(connection: asyncpg.Connection, dsn: Dsn) -> ServerFacts:
    row = await connection.fetchrow(
        "SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS version_num,"
        " pg_encoding_to_char(encoding) AS encoding, datctype AS ctype, datname AS database, session_user AS user"
        " FROM pg_database WHERE datname = current_database()"
    )
    assert row is not None
    return ServerFacts(address=dsn.address, extensions={}, **row)


async def _extension_version(connection: asyncpg.Connection, name: str, facts: ServerFacts) -> str:
    """The version in use, or the one that the migration will create: only trying tells whether it may."""
    query = "SELECT extversion FROM pg_extension WHERE extname = $1"
    if (version := await connection.fetchval(query, name)) is None:
        where = f"in the database {facts.database} at {facts.address}"
        try:
            await connection.execute(f"CREATE EXTENSION IF NOT EXISTS {name}")
        except (asyncpg.FeatureNotSupportedError, asyncpg.UndefinedFileError) as error:
            raise ConfigurationError(_HOW_TO_INSTALL[name].format(major=facts.major)) from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise ConfigurationError(
                f"the user {facts.user} may not create the extension {name} {where}: let an administrator run CREATE EXTENSION {name} there"
            ) from error
        except asyncpg.ReadOnlySQLTransactionError as error:
            raise ConfigurationError(f"the extension {name} is missing {where}, which is read-only: use the primary server") from error
        version = await connection.fetchval(query, name)
    return str(version)


async def _locale_warnings(connection: asyncpg.Connection, facts: ServerFacts) -> tuple[str, ...]:
    schema = await _schema_of(connection, "pg_trgm")
    if await connection.fetchval(f"SELECT cardinality({schema}.show_trgm('ö')) > 0 AND lower('Ø') = 'ø'"):
        return ()
    return (
        f"the database {facts.database} has the character type {facts.ctype}, under which letters that are not ASCII "
        "are ignored in text search: create it with LC_CTYPE 'C.UTF-8' TEMPLATE template0",
    )


async def _try_vector_operation(connection: asyncpg.Connection, facts: ServerFacts) -> None:
    """A library built for another processor kills the server's process on the first such query."""
    try:
        distance = await connection.fetchval("SELECT repeat('10', 512)::bit(1024) <~> repeat('01', 512)::bit(1024)")
    except asyncpg.UndefinedFunctionError as error:
        schema = await _schema_after_failure(connection)
        raise ConfigurationError(
            f"pgvector's operators are in the schema {schema}, which the user {facts.user} does not search: "
            f"run ALTER ROLE {facts.user} SET search_path = public, {schema}"
        ) from error
    except (asyncpg.CrashShutdownError, asyncpg.ConnectionDoesNotExistError, ConnectionError) as error:
        raise ConfigurationError(
            f"PostgreSQL at {facts.address} crashed on a vector operation: its pgvector was probably built for another processor; "
            "install the distribution's package, or build it with OPTFLAGS=''"
        ) from error
    if distance != 1024:
        raise ConfigurationError(f"pgvector at {facts.address} computes a Hamming distance of {distance} where 1024 is right")


async def _schema_of(connection: asyncpg.Connection, extension: str) -> str:
    query = "SELECT quote_ident(nspname) FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = $1"
    return str(await connection.fetchval(query, extension))


async def _schema_after_failure(connection: asyncpg.Connection) -> str:
    await connection.execute("ROLLBACK")
    return await _schema_of(connection, "vector")


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return f"the host's name is unknown ({error.strerror})"
    if isinstance(error, TimeoutError):
        return "it does not answer"
    return str(error) or type(error).__name__
