"""A real PostgreSQL for every test that wants one: the embedded server, a database per test."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import asyncpg
import hypothesis
import pytest

from app.storage import embedded, migrate
from app.storage.dsn import parse_dsn

_TEMPLATE = "migrated_template"

hypothesis.settings.register_profile("untimed", deadline=None)  # how long a busy machine takes says nothing of the code
hypothesis.settings.load_profile("untimed")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def state_dir() -> Iterator[Path]:
    """A directory that the server's account may pass, unlike pytest's own when the tests run as root."""
    path = Path(tempfile.mkdtemp(prefix="fourfold-tests-"))
    path.chmod(0o711)
    yield path / "state"
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def embedded_server(state_dir: Path) -> Iterator[embedded.EmbeddedServer]:
    server = embedded.acquire(state_dir)
    yield server
    server.release(wait_seconds=60)


@pytest.fixture(scope="session")
def template_database(embedded_server: embedded.EmbeddedServer) -> str:
    """The name of a database with the newest schema; nobody stays connected to it."""
    _run(embedded_server.url, f"CREATE DATABASE {_TEMPLATE}")
    migrate.upgrade(_url_of(embedded_server.url, _TEMPLATE))
    return _TEMPLATE


@pytest.fixture
def database_url(embedded_server: embedded.EmbeddedServer, template_database: str) -> Iterator[str]:
    """A fresh database with the newest schema."""
    yield from _database(embedded_server.url, template_database)


@pytest.fixture(scope="module")
def module_database_url(embedded_server: embedded.EmbeddedServer, template_database: str) -> Iterator[str]:
    """A fresh database with the newest schema, for all tests of a module."""
    yield from _database(embedded_server.url, template_database)


@pytest.fixture(scope="module")
def make_database(embedded_server: embedded.EmbeddedServer, template_database: str) -> Iterator[Callable[[], str]]:
    """Makes fresh databases with the newest schema, for a module that needs several."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(contextmanager(_database)(embedded_server.url, template_database))


@pytest.fixture
def empty_database_url(embedded_server: embedded.EmbeddedServer) -> Iterator[str]:
    """A fresh database without any table or extension."""
    yield from _database(embedded_server.url, "template1")


def _database(server_url: str, template: str) -> Iterator[str]:
    name = f"test_{secrets.token_hex(6)}"
    # A file copy forces two checkpoints, which are slower than the WAL of a small database.
    _run(server_url, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY wal_log")
    yield _url_of(server_url, name)
    _run(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def _url_of(server_url: str, database: str) -> str:
    return parse_dsn(server_url).with_database(database).url


def _run(url: str, statement: str) -> None:
    async def run() -> None:
        connection = await asyncpg.connect(**parse_dsn(url).connect_kwargs())
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(run())
