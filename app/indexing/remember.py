"""Reads what the next run will need to know of the repository that was indexed last, while there is nothing else to do.

A process that has just started knows no definitions; the first edit after a restart would wait for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import structlog

from app.config import IndexSettings
from app.domain.index import RepositorySource
from app.indexing.analyse import glance
from app.indexing.discover import discover
from app.indexing.edges import complete_definitions
from app.indexing.indexed_definitions import MOST_SYMBOLS, DefinitionMemory, FreshFacts, IndexedDefinitions
from app.indexing.pipeline import no_collection
from app.indexing.refresh import refuse_moved
from app.indexing.seen import SeenFiles
from app.indexing.source_tree import Known
from app.storage.engine import Connection
from app.storage.facts import FactReader
from app.storage.newest import Newest

_log = structlog.get_logger(__name__)


async def remember(connection: Connection, newest: Newest, memory: DefinitionMemory) -> None:
    """Fill the memory, unless the index is too large to be kept. The connection may be one that sees further publications."""
    reader = FactReader(connection, newest.repository_id, newest.branch_id, newest.current_gen)
    live = await reader.live()
    if await reader.symbols(live.values()) > MOST_SYMBOLS:
        return
    definitions = IndexedDefinitions()
    with no_collection():
        await complete_definitions(definitions, reader, live, FreshFacts())
    memory.put_back((newest.repository_id, newest.created_at), definitions)
    _log.info("definitions_remembered", repository=newest.name, symbols=definitions.index.size)


def read_ahead(source: RepositorySource, settings: IndexSettings, memory: SeenFiles, known: Known, ended: Callable[[], bool]) -> None:
    """Read a directory's files, of which a run wants to know whether they changed, until ``ended``. Blocking; raises OSError."""
    refuse_moved(Path(source.path))
    for file in discover(source, settings.max_file_bytes).files:
        if ended():
            return
        glance(file, known.get(file.path, frozenset()), settings, memory)
