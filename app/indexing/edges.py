"""The resolve stage: edges of the files that changed, and of those whose names now mean something else.

A file is resolved again when it changed, when it refers to a name whose definitions changed, or when it imports from a path that came or
went (``resolution/affected.py``); a full and an incremental build therefore give the same edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from app.domain.facts import FileFacts, ResolvedEdge
from app.indexing.centrality import pagerank
from app.indexing.resolve import DefinitionIndex, affected_names, must_resolve, resolve_file
from app.storage.facts import FactReader
from app.storage.writer import IndexWriter

_BATCH_EDGES: Final = 50_000


async def resolve_edges(writer: IndexWriter, come: set[int], gone: set[int]) -> bool:
    """Write the next generation's edges; false when nothing changed."""
    if not come and not gone:
        return False
    reader = writer.next_facts
    files = await reader.files(await reader.live_ids())
    index = DefinitionIndex(files)
    by_id = {file.file_id: file for file in files}
    stale = set(by_id) if writer.current_gen == 0 else await _stale(reader, index, files, come, gone)
    await writer.end_edges((stale - come) | gone)
    pending: list[tuple[int, ResolvedEdge]] = []
    async for file_id, references in reader.references(sorted(stale)):
        facts = replace(by_id[file_id], references=references)
        pending += [(file_id, edge) for edge in resolve_file(facts, index)]
        if len(pending) > _BATCH_EDGES:
            await writer.add_edges(pending)
            pending = []
    await writer.add_edges(pending)
    return True


async def rank_symbols(writer: IndexWriter) -> None:
    """Compute and write the centrality of every symbol of the next generation."""
    sources, targets = await writer.edge_ends()
    await writer.write_centrality(pagerank(np.array(sources, np.int64), np.array(targets, np.int64)))


async def _stale(reader: FactReader, index: DefinitionIndex, files: Sequence[FileFacts], come: set[int], gone: set[int]) -> set[int]:
    """The files to resolve: those that came, and those that use a name or a path that changed."""
    former = await reader.files(sorted(gone))
    affected = affected_names(former, [file for file in files if file.file_id in come], index)
    by_declaration = {file.file_id for file in files if must_resolve(file, affected)}
    by_reference = await reader.files_using(affected.names)
    return (come | by_declaration | by_reference) & {file.file_id for file in files}
