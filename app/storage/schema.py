"""Which schema the database has and which this program knows; brings the one to the other.

Alembic and SQLAlchemy are loaded only when there is something to migrate: they cost half a second of every start.
"""

from __future__ import annotations

from pathlib import Path

import asyncpg

import migrations
from app.storage.engine import Connection, connection


def head() -> str:
    """The newest revision that this program knows; migrations are files named ``<revision>_<what>.py``."""
    return max(path.name.partition("_")[0] for path in (Path(migrations.__file__).parent / "versions").glob("[0-9]*_*.py"))


async def current(opened: Connection) -> str | None:
    """The database's revision, None when it was never migrated."""
    try:
        revision: str | None = await opened.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    return revision


async def upgrade_if_needed(dsn: str) -> None:
    """Bring the database to the newest schema; quick when it has that already."""
    async with connection(dsn) as opened:
        if await current(opened) == head():
            return
    from app.storage.migrate import upgrade_async

    await upgrade_async(dsn)
