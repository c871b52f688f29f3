"""A first load goes without the trigram and word indexes, which are built once its content is there.

Building takes two thirds of the time of inserting, beside the resolve stage, and the index that comes of it two thirds of the space. Only
while no repository has any content, so that no search misses them.
"""

from __future__ import annotations

from typing import Final

import asyncpg
import structlog
from sqlalchemy.dialects import registry
from sqlalchemy.schema import CreateIndex

from app.storage.engine import Connection
from app.storage.tables import metadata

LEAST_FILES: Final = 500
"""A smaller load is done before a build would pay."""

BUILT_LAST: Final = ("chunk_text_trigrams", "symbol_name_trigrams", "symbol_words")

_HOLDS_CONTENT: Final = "SELECT EXISTS (SELECT 1 FROM chunk) OR EXISTS (SELECT 1 FROM symbol)"
_INDEXES: Final = {str(index.name): index for table in metadata.tables.values() for index in table.indexes}

_log = structlog.get_logger(__name__)


async def begin(connection: Connection, files: int) -> None:
    """Drop the indexes if a load of so many files is the first; not in a transaction."""
    if files < LEAST_FILES or await connection.fetchval(_HOLDS_CONTENT):
        return  # without asking for a lock: searches would wait behind whoever waits for it
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE chunk, symbol IN ACCESS EXCLUSIVE MODE NOWAIT")
            if not await connection.fetchval(_HOLDS_CONTENT):
                await connection.execute("DROP INDEX IF EXISTS " + ", ".join(BUILT_LAST))
    except (asyncpg.LockNotAvailableError, asyncpg.InsufficientPrivilegeError) as error:
        _log.debug("bulk_load_not_possible", reason=str(error))


async def complete(connection: Connection) -> None:
    """Build what is missing, also when that is a killed run's doing: before content without indexes is published."""
    present = {row["relname"] for row in await connection.fetch("SELECT relname FROM pg_class WHERE relname = ANY($1::text[])", BUILT_LAST)}
    for name in BUILT_LAST:
        if name not in present:
            statement = CreateIndex(_INDEXES[name], if_not_exists=True).compile(dialect=registry.load("postgresql")())
            await connection.execute(str(statement))
