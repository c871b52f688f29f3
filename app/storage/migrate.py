"""Runs the schema migrations that ship with the package."""

from __future__ import annotations

import asyncio
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.ext.asyncio import create_async_engine

import migrations
from app.storage.engine import connection as raw_connection
from app.storage.engine import open_connection
from app.storage.row_security import establish

_LOCK = 0x666F7572  # one migrating process at a time ("four")


def alembic_config() -> Config:
    """Alembic's configuration, wherever the package is installed."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    return config


async def upgrade_async(dsn: str) -> None:
    """Bring the database to the newest schema; a second process waits for the first."""
    # SQLAlchemy's asyncpg dialect does not understand libpq's sslmode and friends, hence the creator.
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: open_connection(dsn), poolclass=sa.NullPool)
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
    async with raw_connection(dsn) as own:
        await establish(own)


def _upgrade(connection: sa.Connection) -> None:
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def upgrade(dsn: str) -> None:
    """``upgrade_async`` for callers without an event loop."""
    asyncio.run(upgrade_async(dsn))
