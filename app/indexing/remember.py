"""Reads what the next run will need to know of the repository that was indexed last, while there is nothing else to do.

A process that has just started knows no definitions; the first edit after a restart would wait for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import structlog

from app.indexing.edges import complete_definitions
from app.indexing.indexed_definitions import MOST_SYMBOLS, DefinitionMemory, FreshFacts, IndexedDefinitions
from app.indexing.pipeline import no_collection
from app.storage.engine import Connection
from app.storage.facts import FactReader

_NEWEST = """
    SELECT b.repository_id, b.branch_id, b.current_gen, r.name, r.created_at
    FROM branch b JOIN repository r ON r.id = b.repository_id
    JOIN generation g ON g.repository_id = b.repository_id AND g.branch_id = b.branch_id AND g.generation = b.current_gen
    WHERE g.extractor = $1
    ORDER BY g.published_at DESC LIMIT 1
"""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Newest:
    """The index that was published last."""

    repository_id: int
    branch_id: int
    current_gen: int
    name: str
    created_at: datetime


async def newest_index(connection: Connection, extractor: str) -> Newest | None:
    """None when there is none, or when another version made it: then every file is read anew."""
    row = await connection.fetchrow(_NEWEST, extractor)
    return None if row is None else Newest(**row)


async def remember(connection: Connection, newest: Newest, memory: DefinitionMemory) -> None:
    """Fill the memory, unless the index is too large to be kept. The connection may be one that sees further publications."""
    reader = FactReader(connection, newest.repository_id, newest.branch_id, newest.current_gen)
    if await reader.symbols() > MOST_SYMBOLS:
        return
    definitions = IndexedDefinitions()
    with no_collection():
        await complete_definitions(definitions, reader, await reader.live(), FreshFacts())
    memory.put_back((newest.repository_id, newest.created_at), definitions)
    _log.info("definitions_remembered", repository=newest.name, symbols=definitions.index.size)
