"""``tables.py`` says what the migrations make."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.storage.engine import open_connection
from app.storage.migrate import upgrade_async
from app.storage.schema import current, head
from app.storage.tables import metadata

pytestmark = pytest.mark.anyio

Catalog = dict[str, str]

CATALOG = {
    "column": """
        SELECT c.relname || '.' || a.attname, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
               CASE WHEN a.attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),
               'IDENTITY ' || nullif(a.attidentity::text, ''), 'COLLATE ' || quote_ident(co.collname))
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        LEFT JOIN pg_collation co ON co.oid = a.attcollation
        WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped AND c.relname <> 'alembic_version'
    """,
    "index": "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> 'alembic_version'",
    "constraint": """
        SELECT conrelid::regclass || '.' || conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND conrelid <> 0 AND conrelid::regclass::text <> 'alembic_version'
    """,
}


def engine(url: str) -> AsyncEngine:
    return create_async_engine("postgresql+asyncpg://", async_creator=lambda: open_connection(url), poolclass=sa.NullPool)


async def catalog(url: str) -> dict[str, Catalog]:
    """What the database itself says of its tables: definitions by name."""
    connection = await open_connection(url)
    try:
        return {kind: {str(row[0]): str(row[1]) for row in await connection.fetch(query)} for kind, query in CATALOG.items()}
    finally:
        await connection.close()


async def create_all(url: str) -> None:
    """The schema as ``tables.py`` has it, without any migration."""
    created = engine(url)
    async with created.begin() as connection:
        for extension in ("vector", "pg_trgm", "btree_gin"):
            await connection.execute(sa.text(f"CREATE EXTENSION IF NOT EXISTS {extension}"))
        await connection.run_sync(metadata.create_all)
    await created.dispose()


async def test_alembic_sees_no_difference(database_url: str) -> None:
    def differences(connection: sa.Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "compare_server_default": True})
        return list(compare_metadata(context, metadata))

    migrated = engine(database_url)
    async with migrated.connect() as connection:
        assert await connection.run_sync(differences) == []
    await migrated.dispose()


@pytest.mark.parametrize("kind", CATALOG)
async def test_the_catalogs_are_the_same(kind: str, database_url: str, empty_database_url: str) -> None:
    """Operator classes, storage parameters, included columns and collations: what alembic does not compare."""
    await create_all(empty_database_url)
    migrated, described = (await catalog(database_url))[kind], (await catalog(empty_database_url))[kind]
    assert migrated == described
    assert len(migrated) >= 10


async def test_migrating_again_changes_nothing(database_url: str) -> None:
    before = await catalog(database_url)
    await upgrade_async(database_url)
    assert await catalog(database_url) == before
    connection = await open_connection(database_url)
    try:
        assert await current(connection) == head()
    finally:
        await connection.close()
