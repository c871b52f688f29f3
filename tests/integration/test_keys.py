"""Keys and the second wall on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest

from app import bootstrap
from app.config import AccessSettings, Settings
from app.domain import access
from app.domain.access import Caller, KeyScope, Reach
from app.domain.errors import ConfigurationError, KeyNotFound, NotAuthenticated
from app.domain.index import RepositorySource, SourceKind
from app.storage.dsn import parse_dsn
from app.storage.engine import connection, open_connection
from app.storage.keys import Keys
from app.storage.pool import Pool
from app.storage.row_security import LEAKPROOF, POLICIES, READABLE, ROLE, establish
from app.storage.tables import metadata
from tests.integration.conftest import Bench

pytestmark = pytest.mark.anyio


async def refusal(keys: Keys, token: str) -> str:
    with pytest.raises(NotAuthenticated) as refused:
        await keys.authenticate(token)
    return refused.value.message


async def test_a_token_is_whose_it_is_and_nobody_can_read_it_again(bench: Bench) -> None:
    keys = bench.service.keys
    key, token = await keys.create("ci", KeyScope.INDEX, ["acme-*"])
    assert token.startswith(f"ff_{key.id}_")
    assert len(token.rpartition("_")[2]) == 64
    assert (await keys.authenticate(token)).name == "ci"
    other = (await keys.create("other", KeyScope.SEARCH))[1]
    mixed = f"ff_{key.id}_{other.rpartition('_')[2]}"
    for wrong in ("", "ff_", token[:-1], token + "0", token.upper(), mixed, f"ff_{'0' * 16}_{'0' * 64}"):
        assert await refusal(keys, wrong) == "the key is not one of this service"
    async with bench.backend.connect() as own:
        stored = str(await own.fetch("SELECT k.*, encode(secret_sha256, 'hex'), encode(secret_sha256, 'escape') FROM api_key k"))
    assert token.rpartition("_")[2] not in stored
    assert not any(token.rpartition("_")[2] in str(listed) for listed in await keys.list())


async def test_expired_and_revoked_keys_do_not_count(bench: Bench) -> None:
    keys = bench.service.keys
    assert not await keys.exist()
    soon = datetime.now(UTC) + timedelta(seconds=0.3)
    _, short = await keys.create("short", KeyScope.SEARCH, expires_at=soon)
    assert (await keys.authenticate(short)).scope is KeyScope.SEARCH
    await asyncio.sleep(0.4)
    assert await refusal(keys, short) == "the key has expired"
    key, token = await keys.create("gone", KeyScope.SEARCH)
    revoked = await keys.revoke(key.id)
    assert await refusal(keys, token) == "the key was revoked"
    assert await keys.revoke(key.id) == revoked, "twice is as once"
    assert await Keys(bench.backend.pool).exist()
    with pytest.raises(KeyNotFound):
        await keys.revoke("0" * 16)


async def test_the_last_use_is_written_beside_the_request_and_once_a_minute(bench: Bench) -> None:
    keys = bench.service.keys
    key, token = await keys.create("ci", KeyScope.SEARCH)
    for _ in range(3):
        await keys.authenticate(token)
    await keys.close()
    first = (await keys.get(key.id)).last_used_at
    assert first is not None
    await keys.authenticate(token)
    await keys.close()
    assert (await keys.get(key.id)).last_used_at == first
    async with bench.backend.connect() as own:
        await own.execute("UPDATE api_key SET last_used_at = now() - interval '2 minutes'")
    await keys.authenticate(token)
    await keys.close()
    assert (await keys.get(key.id)).last_used_at > first  # type: ignore[operator]


async def test_the_reach_of_a_key_is_what_its_globs_name_now(bench: Bench) -> None:
    for name in ("acme-api", "acme", "Acme-x", "acme.api", "shared", "other"):
        await bench.service.repositories.put(name, RepositorySource(kind=SourceKind.ARCHIVE))
    _, token = await bench.service.keys.create("ci", KeyScope.SEARCH, ["acme-*", "sh?red", "acme.api"])
    reach = (await bench.service.keys.authenticate(token)).reach
    assert reach is not None
    assert sorted(reach.known) == ["acme-api", "acme.api", "shared"]
    assert all(reach.allows(name) for name in reach.known)
    await bench.service.repositories.put("acme-new", RepositorySource(kind=SourceKind.ARCHIVE))
    assert "acme-new" in (await bench.service.keys.authenticate(token)).reach.known  # type: ignore[union-attr]
    everything = (await bench.service.keys.create("all", KeyScope.SEARCH))[1]
    assert (await bench.service.keys.authenticate(everything)).reach is None


# ---- The second wall


def test_every_table_is_behind_the_wall_or_closed() -> None:
    with_repository = {table.name for table in metadata.tables.values() if "repository_id" in table.columns}
    assert with_repository | {"repository", "saved_scope"} == POLICIES.keys()
    assert metadata.tables.keys() - set(READABLE) == {"api_key", "audit", "embedding_cache", "webhook_delivery"}


async def test_the_migration_made_the_policies(bench: Bench) -> None:
    async with bench.backend.connect() as own:
        rows = await own.fetch("SELECT tablename, qual, cmd, permissive FROM pg_policies")
        assert {row["tablename"] for row in rows} == POLICIES.keys()
        assert {(row["cmd"], row["permissive"]) for row in rows} == {("SELECT", "PERMISSIVE")}
        for row in rows:  # written as PostgreSQL writes the condition that the module has
            await own.execute(f'CREATE POLICY same ON "{row["tablename"]}" FOR SELECT USING ({POLICIES[row["tablename"]]})')
            made = await own.fetchval("SELECT qual FROM pg_policies WHERE policyname = 'same' AND tablename = $1", row["tablename"])
            assert made == row["qual"]
        bound = "SELECT count(*) FROM pg_class WHERE relrowsecurity AND relnamespace = 'public'::regnamespace"
        assert await own.fetchval(bound) == len(POLICIES)


async def test_what_the_start_makes_good_is_there(bench: Bench) -> None:
    assert bench.backend.no_row_security is None
    async with bench.backend.connect() as own:
        for function in LEAKPROOF:
            assert await own.fetchval("SELECT proleakproof FROM pg_proc WHERE oid = to_regprocedure($1)", function)
        await own.execute("ALTER FUNCTION pg_catalog.textlike(text, text) NOT LEAKPROOF")
        await own.execute(f"REVOKE SELECT ON chunk FROM {ROLE}")
        assert await establish(own) is None
        assert await own.fetchval("SELECT proleakproof FROM pg_proc WHERE oid = 'pg_catalog.textlike(text, text)'::regprocedure")
        assert await own.fetchval("SELECT has_table_privilege($1, 'chunk', 'SELECT')", ROLE)


MANY_ROWS = """
    INSERT INTO chunk (repository_id, chunk_id, file_id, start_line, end_line, text)
    SELECT 1, n, n, 1, 1, md5(n::text) || repeat(' x', 100) FROM generate_series(1, 5000) AS n;
    INSERT INTO symbol
    SELECT 1, n, 0, n, n, md5(n::text), md5(n::text), 'q', 'function', NULL, 1, 1, 1, '', '', true, ARRAY[md5(n::text)]
    FROM generate_series(1, 5000) AS n;
    INSERT INTO file_version
    SELECT 1, n, n::text, '', '', 1, NULL, 'source', 'indexed', NULL, NULL, 1, 1, n, 1, ARRAY[md5(n::text)]
    FROM generate_series(1, 5000) AS n;
    ANALYZE chunk, symbol, file_version
"""

OTHER_CONDITIONS = (
    ("SELECT 1 FROM chunk WHERE repository_id = 1 AND text ILIKE '%needle%'", "chunk_text_trigrams"),
    ("SELECT 1 FROM chunk WHERE repository_id = 1 AND text ~ 'need+le'", "chunk_text_trigrams"),
    ("SELECT 1 FROM symbol WHERE repository_id = 1 AND name % 'needle'", "symbol_name_trigrams"),
    ("SELECT 1 FROM symbol WHERE repository_id = 1 AND words && '{needle}'", "symbol_words"),
    ("SELECT 1 FROM file_version WHERE repository_id = 1 AND name_words && '{needle}'", "file_version_name_words"),
)
"""Every kind of condition that a retriever's statement asks an index by, with that index."""


async def test_a_pattern_asks_its_index_behind_the_wall(bench: Bench) -> None:
    """Without the mark of its operator the plan has the pattern as a filter over all chunks."""
    explain = "EXPLAIN SELECT chunk_id FROM chunk WHERE repository_id = 1 AND text LIKE '%needle%'"
    async with bench.backend.connect() as own, own.transaction():
        await own.execute(MANY_ROWS)
        for index in ("chunk_text_trigrams", "symbol_name_trigrams", "symbol_words", "file_version_name_words"):
            await own.fetchval("SELECT gin_clean_pending_list($1::regclass)", index)
        await own.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
        await own.execute(f"SET LOCAL ROLE {ROLE}")
        plan = "\n".join(row[0] for row in await own.fetch(explain))
        assert "chunk_text_trigrams" in plan
        assert "~~ '%needle%'" in plan.partition("Index Cond:")[2]
        assert "ANY" not in plan.partition("Index Cond:")[2].partition("\n")[0], "the index would be searched for every id"
        for statement, index in OTHER_CONDITIONS:
            assert index in "\n".join(row[0] for row in await own.fetch(f"EXPLAIN {statement}")), statement
        await own.execute("RESET ROLE")
        await own.execute("ALTER FUNCTION pg_catalog.textlike(text, text) NOT LEAKPROOF")
        await own.execute(f"SET LOCAL ROLE {ROLE}")
        plan = "\n".join(row[0] for row in await own.fetch(explain))
        assert "~~ '%needle%'" not in plan.partition("Index Cond:")[2].partition("\n")[0]


async def test_connections_keep_no_ones_reach_for_another(bench: Bench) -> None:
    """Callers take turns on few connections, some of them cancelled in the middle; each sees its own repository and no other."""
    for name in ("one", "two", "three"):
        await bench.service.repositories.put(name, RepositorySource(kind=SourceKind.ARCHIVE))
    ids = {stored.name: stored.id for stored in await bench.service.repositories.list()}
    pool = Pool(bench.backend.dsn, size=2, statement_timeout_ms=5_000, row_security=True)
    wrong: list[Any] = []

    async def look(name: str, turn: int) -> None:
        with access.acting(Caller(name, KeyScope.SEARCH, name, Reach((name,), {name: ids[name]}))):
            async with pool.keyed() if turn % 2 else pool.connection() as own:
                rows = await own.fetch("SELECT name, pg_sleep($1) FROM repository", 0.002 * (turn % 3))
        if [row["name"] for row in rows] != [name]:
            wrong.append((name, rows))

    await pool.open()
    try:
        looks = [asyncio.create_task(look(name, turn)) for turn in range(40) for name in ids]
        for place, task in enumerate(looks):
            if place % 7 == 3:
                asyncio.get_running_loop().call_later(0.003 * place, task.cancel)
        await asyncio.gather(*looks, return_exceptions=True)
        async with pool.owner() as own:
            assert await own.fetchval("SELECT count(*) FROM repository") == 3
        with access.acting(access.NOBODY):
            async with pool.connection() as own:
                assert await own.fetchval("SELECT count(*) FROM repository") == 0
    finally:
        await pool.close()
    assert wrong == []
    assert sum(not task.cancelled() for task in looks) > 60


# ---- Databases whose user may not set the wall up


@asynccontextmanager
async def ordinary_user(url: str, *, owner: bool) -> AsyncIterator[str]:
    """The database's URL for a user without any rights but on it; with ``owner`` everything in it belongs to that user."""
    name = f"user_{secrets.token_hex(4)}"
    async with connection(url) as admin:
        await admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'sesame'")
        database = await admin.fetchval("SELECT current_database()")
        if owner:
            await admin.execute(f"ALTER DATABASE {database} OWNER TO {name}")
            for table in await admin.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
                await admin.execute(f'ALTER TABLE "{table[0]}" OWNER TO {name}')
        else:
            await admin.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {name}")
        await admin.execute("ALTER FUNCTION pg_catalog.textlike(text, text) NOT LEAKPROOF")
    before, _, after = parse_dsn(url).url.partition("://")
    rest = after.partition("@")[2]
    try:
        yield f"{before}://{name}:sesame@{rest}"
    finally:
        async with connection(url) as admin:
            await admin.execute(f"REASSIGN OWNED BY {name} TO CURRENT_USER; DROP OWNED BY {name}; DROP ROLE {name}")


async def test_without_rights_the_first_wall_stands_alone_and_the_doctor_says_so(
    database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with ordinary_user(database_url, owner=True) as url:
        async with bootstrap.backend(Settings(database_url=url, embedder="none")) as backend:
            assert backend.no_row_security is not None
            service = bootstrap.compose(backend)
            (finding,) = [item for item in await service.health.examine() if item.name == "row security"]
            assert finding.ok
            assert finding.detail.startswith("off, the service alone keeps keys apart: the database's user may not do what it takes")
            for name in ("mine", "yours"):
                await service.repositories.put(name, RepositorySource(kind=SourceKind.ARCHIVE))
            _, token = await service.keys.create("ci", KeyScope.SEARCH, ["mine"])
            with access.acting(await service.keys.authenticate(token)):
                assert [stored.name for stored in await service.repositories.list()] == ["mine"]
        strict = Settings(database_url=url, embedder="none", access=AccessSettings(row_security="required"))
        with pytest.raises(ConfigurationError, match=r"row-level security cannot be set up.*required"):
            async with bootstrap.backend(strict):
                pass


async def test_a_user_from_whom_the_policies_hide_everything_is_told(database_url: str) -> None:
    async with ordinary_user(database_url, owner=False) as url:
        own = await open_connection(url)
        try:
            with pytest.raises(ConfigurationError, match=r"does not own the tables.*BYPASSRLS"):
                await establish(own)
        finally:
            await own.close()


async def test_a_role_without_superuser_that_an_administrator_prepared(database_url: str) -> None:
    """What docs/security.md tells an administrator to run is enough."""
    async with ordinary_user(database_url, owner=True) as url:
        user = url.partition("://")[2].partition(":")[0]
        async with connection(database_url) as admin:
            await admin.execute(f"GRANT {ROLE} TO {user}")
            await admin.execute("ALTER FUNCTION textlike(text, text) LEAKPROOF")
        async with bootstrap.backend(
            Settings(database_url=url, embedder="none", access=AccessSettings(row_security="required"))
        ) as backend:
            assert backend.no_row_security is None
            with access.acting(access.NOBODY):
                async with backend.pool.connection() as reader:
                    assert await reader.fetchval("SELECT current_user") == ROLE
                    with pytest.raises(asyncpg.InsufficientPrivilegeError):
                        await reader.fetch("SELECT * FROM api_key")
        async with connection(database_url) as admin:
            await admin.execute(f"REVOKE {ROLE} FROM {user}")
