"""Runs the schema migrations that ship with the package."""

from __future__ import annotations

import asyncio
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.ext.asyncio import AsyncConnection

import migrations
from app.storage.engine import create_engine

_LOCK = 0x666F7572  # one migrating process at a time ("four")


def alembic_config() -> Config:
    """Alembic's configuration, wherever the package is installed."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


def head() -> str:
    """The newest revision that this program knows."""
    revision = ScriptDirectory.from_config(alembic_config()).get_current_head()
    assert revision is not None
    return revision


async def upgrade_async(dsn: str) -> None:
    """Bring the database to the newest schema; a second process waits for the first."""
    engine = create_engine(dsn, pool_size=1)
    try:
        async with engine.connect() as connection:
            await connection.execute(sa.text("SELECT pg_advisory_lock(:lock)"), {"lock": _LOCK})
            await connection.commit()
            try:
                await connection.run_sync(_upgrade)
                await connection.commit()
            finally:
                await connection.execute(sa.text("SELECT pg_advisory_unlock(:lock)"), {"lock": _LOCK})
    finally:
        await engine.dispose()


def _upgrade(connection: sa.Connection) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def current_revision(connection: AsyncConnection) -> str | None:
    """The schema revision of the database, None when it was never migrated."""
    return await connection.run_sync(_revision)


def _revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(dsn: str) -> None:
    """``upgrade_async`` for callers without an event loop."""
    asyncio.run(upgrade_async(dsn))
