"""What the service says about a PostgreSQL that it cannot work with."""

from __future__ import annotations

import asyncio
import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from app.domain.errors import ConfigurationError, FourfoldError, StoreUnavailable
from app.storage import embedded
from app.storage.checks import ServerFacts, check_server, require_extensions, require_server
from app.storage.dsn import Dsn, parse_dsn

pytestmark = pytest.mark.anyio

EXTENSIONS = "SELECT string_agg(extname, ' ' ORDER BY extname) FROM pg_extension"


@pytest.fixture
async def connection(empty_database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(**parse_dsn(empty_database_url).connect_kwargs())
    yield connection
    connection.terminate()


@pytest.fixture
def extension_dir(embedded_server: embedded.EmbeddedServer) -> Iterator[Path]:
    """A folder that the server reads extensions from, once ``extension_control_path`` says so."""
    with tempfile.TemporaryDirectory(prefix="fourfold-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "extension").mkdir()
        yield folder


async def _refusal(dsn: Dsn, kind: type[FourfoldError] = ConfigurationError) -> str:
    with pytest.raises(kind) as caught:
        await check_server(dsn)
    assert dsn.password is None or dsn.password not in caught.value.message
    return caught.value.message


@asynccontextmanager
async def _role(connection: asyncpg.Connection) -> AsyncIterator[str]:
    """An ordinary role with the password sesame."""
    name = f"role_{secrets.token_hex(4)}"
    await connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'sesame'")
    yield name
    await connection.execute(f"DROP ROLE {name}")


@asynccontextmanager
async def _database(connection: asyncpg.Connection, options: str) -> AsyncIterator[str]:
    name = f"test_{secrets.token_hex(4)}"
    await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0 {options}")
    yield name
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def test_good_server(empty_database_url: str, connection: asyncpg.Connection) -> None:
    facts = await check_server(parse_dsn(empty_database_url))
    assert (facts.major, facts.encoding, facts.ctype, facts.warnings) == (18, "UTF8", "C.UTF-8", ())
    assert facts.extensions["vector"].startswith("0.8.")
    assert facts.extensions.keys() == {"vector", "pg_trgm", "btree_gin"}
    assert await connection.fetchval(EXTENSIONS) == "plpgsql", "the check left something behind"


async def test_migrated_database(database_url: str) -> None:
    assert (await check_server(parse_dsn(database_url))).warnings == ()


async def test_checks_at_the_same_time(empty_database_url: str) -> None:
    await asyncio.gather(*(check_server(parse_dsn(empty_database_url)) for _ in range(5)))


async def test_nobody_listens() -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        message = await _refusal(parse_dsn(f"postgres://u:sesame@127.0.0.1:{port}/db"), StoreUnavailable)
    assert message.startswith(f"PostgreSQL at 127.0.0.1:{port} cannot be reached: ")


async def test_silent_server() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        dsn = parse_dsn(f"postgres://u:sesame@127.0.0.1:{silent.getsockname()[1]}/db?connect_timeout=0.3")
        assert await _refusal(dsn, StoreUnavailable) == f"PostgreSQL at {dsn.address} does not answer"


async def test_unknown_host() -> None:
    message = await _refusal(parse_dsn("postgres://u:sesame@no-such-host.invalid/db"), StoreUnavailable)
    assert message.startswith("PostgreSQL at no-such-host.invalid:5432 cannot be reached: the host's name is unknown")


async def test_wrong_password(empty_database_url: str) -> None:
    dsn = replace(parse_dsn(empty_database_url), password="sesame")
    assert await _refusal(dsn) == f'PostgreSQL at {dsn.address} refused the login: password authentication failed for user "fourfold"'


async def test_missing_database(empty_database_url: str) -> None:
    dsn = parse_dsn(empty_database_url).with_database("nothing")
    assert 'database "nothing" does not exist; create it' in await _refusal(dsn)


async def test_no_right_to_connect(empty_database_url: str, connection: asyncpg.Connection) -> None:
    dsn = parse_dsn(empty_database_url)
    await connection.execute(f"REVOKE CONNECT ON DATABASE {dsn.database} FROM public")
    async with _role(connection) as role:
        assert "permission denied for database" in await _refusal(replace(dsn, user=role, password="sesame"))


async def test_no_right_to_create_extensions(empty_database_url: str, connection: asyncpg.Connection) -> None:
    dsn = parse_dsn(empty_database_url)
    async with _role(connection) as role:
        message = await _refusal(replace(dsn, user=role, password="sesame"))
        assert message.startswith(f"the user {role} may not create the extension vector in the database {dsn.database}")
        for name in ("vector", "pg_trgm", "btree_gin"):
            await connection.execute(f"CREATE EXTENSION {name}")
        assert (await check_server(replace(dsn, user=role, password="sesame"))).user == role


async def test_read_only_server(empty_database_url: str, connection: asyncpg.Connection) -> None:
    dsn = parse_dsn(empty_database_url)
    await connection.execute(f"ALTER DATABASE {dsn.database} SET default_transaction_read_only = on")
    assert "which is read-only" in await _refusal(dsn)


@pytest.mark.parametrize("missing", ["vector", "pg_trgm", "btree_gin"])
async def test_extension_not_installed(empty_database_url: str, connection: asyncpg.Connection, extension_dir: Path, missing: str) -> None:
    dsn = parse_dsn(empty_database_url)
    for name in ("vector", "pg_trgm", "btree_gin"):
        if name != missing:
            await connection.execute(f"CREATE EXTENSION {name}")
    await connection.execute(f"ALTER DATABASE {dsn.database} SET extension_control_path = '{extension_dir}'")
    message = await _refusal(dsn)
    assert message.startswith(f"{'pgvector' if missing == 'vector' else missing} is not installed on the server")


async def test_old_pgvector(empty_database_url: str, connection: asyncpg.Connection, extension_dir: Path) -> None:
    dsn = parse_dsn(empty_database_url)
    (extension_dir / "extension/vector.control").write_text("default_version = '0.7.4'\ncomment = 'an old one'\n")
    (extension_dir / "extension/vector--0.7.4.sql").write_text("-- nothing in it\n")
    await connection.execute(f"ALTER DATABASE {dsn.database} SET extension_control_path = '{extension_dir}:$system'")
    message = await _refusal(dsn)
    assert message.startswith("the extension vector has version 0.7.4; 0.8 or newer is needed")
    assert "ALTER EXTENSION vector UPDATE" in message


async def test_operators_outside_the_search_path(empty_database_url: str, connection: asyncpg.Connection) -> None:
    await connection.execute("CREATE SCHEMA elsewhere; CREATE EXTENSION vector SCHEMA elsewhere")
    assert "operators are in the schema elsewhere, which the user fourfold does not search" in await _refusal(parse_dsn(empty_database_url))


@pytest.mark.parametrize(("options", "encoding"), [("ENCODING 'LATIN1'", "LATIN1"), ("ENCODING 'SQL_ASCII'", "SQL_ASCII")])
async def test_other_encodings(connection: asyncpg.Connection, empty_database_url: str, options: str, encoding: str) -> None:
    async with _database(connection, f"{options} LOCALE 'C' LOCALE_PROVIDER libc") as name:
        message = await _refusal(parse_dsn(empty_database_url).with_database(name))
    assert f"has the encoding {encoding}, not UTF8" in message


async def test_c_locale_is_a_warning(connection: asyncpg.Connection, empty_database_url: str) -> None:
    async with _database(connection, "ENCODING 'UTF8' LOCALE 'C' LOCALE_PROVIDER libc") as name:
        facts = await check_server(parse_dsn(empty_database_url).with_database(name))
    assert len(facts.warnings) == 1
    assert "has the character type C, under which letters that are not ASCII are ignored" in facts.warnings[0]


@pytest.fixture
def own_server() -> Iterator[embedded.EmbeddedServer]:
    """Its server crashes in the test, so it is not the one that other tests use."""
    with tempfile.TemporaryDirectory(prefix="fourfold-") as folder:
        Path(folder).chmod(0o711)
        server = embedded.acquire(Path(folder) / "state")
        yield server
        server.release(wait_seconds=60)


async def test_library_for_another_processor(own_server: embedded.EmbeddedServer) -> None:
    """With an operator that kills its own process the way an unknown instruction does."""
    dsn = parse_dsn(own_server.url)
    connection = await asyncpg.connect(**dsn.connect_kwargs())
    await connection.execute(
        """
        CREATE SCHEMA real;
        CREATE EXTENSION vector SCHEMA real;
        CREATE FUNCTION illegal(bit, bit) RETURNS float8 LANGUAGE plpgsql AS $body$
        BEGIN
            EXECUTE format('COPY (SELECT 1) TO PROGRAM %L', 'kill -ILL ' || pg_backend_pid());
            PERFORM pg_sleep(10);
            RETURN 0;
        END $body$;
        CREATE OPERATOR <~> (LEFTARG = bit, RIGHTARG = bit, FUNCTION = illegal);
        """
    )
    await connection.close()
    assert "crashed on a vector operation: its pgvector was probably built for another processor" in await _refusal(dsn)


FACTS = ServerFacts("h:5432", "db", "u", "14.13 (Debian)", 140013, "UTF8", "C.UTF-8", {})


def test_old_server() -> None:
    with pytest.raises(ConfigurationError, match=r"PostgreSQL at h:5432 is version 14.13 \(Debian\); 15 or newer is needed"):
        require_server(FACTS)
    require_server(replace(FACTS, version_num=150000))


@pytest.mark.parametrize(("version", "accepted"), [("0.7.4", False), ("0.8.0", True), ("0.10.1", True), ("1.0", True), ("0.4", False)])
def test_extension_versions_are_compared_as_numbers(version: str, accepted: bool) -> None:
    versions = {"vector": version, "pg_trgm": "1.6", "btree_gin": "1.3"}
    if accepted:
        require_extensions(versions)
    else:
        with pytest.raises(ConfigurationError):
            require_extensions(versions)
