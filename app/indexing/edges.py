"""The resolve stage: edges of the files that changed, and of those whose names now mean something else.

A file is resolved again when it changed, when it refers to a name whose definitions changed, or when it imports from a path that came or
went (``resolution/affected.py``); a full and an incremental build therefore give the same edges.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import structlog

from app.domain.code import Reference
from app.domain.facts import FileFacts, ResolvedEdge
from app.heap import give_back
from app.indexing.centrality import pagerank
from app.indexing.indexed_definitions import MOST_COMPLETE, FreshFacts, IndexedDefinitions, is_kept
from app.indexing.resolve import DefinitionIndex, affected_names, resolve_module, stale_modules
from app.storage.facts import FactReader
from app.storage.writer import IndexWriter

_log = structlog.get_logger(__name__)

BATCH_FILES: Final = 500

BATCH_CHUNKS: Final = 8_000
"""Chunks of a batch's files: some 100,000 facts, 50 MB. Five hundred headers of register names have ten times as many."""

LEAST_FILES: Final = 16
"""Files of a batch at least when few are resolved: a quarter of them, so that the first are written while the others are resolved."""

BATCHES_WAITING: Final = 6
"""Resolved and not yet written, 20 MB each at most: as many as a tree of Django's size has while its indexes are built."""

BATCHES_REMEMBERED: Final = 20
"""Of a repository whose index is not kept: what was derived in so many batches is let go, some 50 MB."""


class _FileEdges(NamedTuple):
    path: str
    family: str
    file_id: int
    edges: list[ResolvedEdge]
    links: Mapping[str, int]


async def resolve_edges(
    writer: IndexWriter,
    come: set[int],
    gone: set[int],
    fresh: FreshFacts,
    definitions: IndexedDefinitions,
    meanwhile: Callable[[], Awaitable[None]],
) -> bool:
    """Write the next generation's edges; false when they link the same symbols as before, so that none counts more or less than it did.

    ``fresh`` and ``definitions`` spare reading back what is known; ``definitions`` has all live files in the end. ``meanwhile`` is what
    the writer's connection can do while this process is busy.
    """
    reader = writer.next_facts
    live = await reader.live()
    await complete_definitions(definitions, reader, live, fresh)
    index = definitions.index
    stale: Mapping[str, int] = live
    if writer.current_gen > 0 and 2 * len(come) <= len(live):
        arrived = await _facts(reader, sorted(come & set(live.values())), fresh)
        stale = await _stale(reader, index, live, arrived, gone)

    async def begin() -> None:
        await meanwhile()
        await writer.end_edges((set(stale.values()) - come) | gone)

    await _write_edges(writer, stale, fresh, index, begin)
    return writer.current_gen == 0 or await writer.has_other_links(gone.union(stale.values()))


async def complete_definitions(definitions: IndexedDefinitions, reader: FactReader, live: Mapping[str, int], fresh: FreshFacts) -> None:
    """Let the definitions be those of the live files, read portion by portion: as rows they take several times what they take here."""
    missing = sorted(definitions.missing(live))
    sparse = len(missing) == len(live) and await reader.symbols(missing) > MOST_COMPLETE
    if sparse:
        _log.warning("definitions_left_out", kinds="fields, values and macros", more_symbols_than=MOST_COMPLETE)
    await asyncio.to_thread(definitions.keep, live)
    for batch in _batches(missing, await reader.chunks(missing)):
        facts = await _facts(reader, batch, fresh)
        await asyncio.to_thread(definitions.add, facts, sparse=sparse)


def _batches(file_ids: Iterable[int], chunks: Mapping[int, int], most: int = BATCH_FILES) -> Iterator[list[int]]:
    """These files in their order, as many at a time as are read at once, and ``most`` of them."""
    batch: list[int] = []
    size = 0
    for file_id in file_ids:
        if batch and (len(batch) == most or size + chunks.get(file_id, 0) > BATCH_CHUNKS):
            yield batch
            batch, size = [], 0
        batch.append(file_id)
        size += chunks.get(file_id, 0)
    if batch:
        yield batch


async def _facts(reader: FactReader, file_ids: Sequence[int], fresh: FreshFacts) -> list[FileFacts]:
    known = fresh.of(file_ids)
    return [*known.values(), *await reader.files([file_id for file_id in file_ids if file_id not in known])]


async def _stale(
    reader: FactReader, index: DefinitionIndex, live: Mapping[str, int], arrived: Sequence[FileFacts], gone: set[int]
) -> Mapping[str, int]:
    """The files to resolve: those that came, and those that use a name or a path that changed."""
    affected = await asyncio.to_thread(affected_names, await reader.files(sorted(gone)), arrived, index)
    if affected.everything:
        return live
    by_reference, modules = await asyncio.gather(reader.files_using(affected.names), asyncio.to_thread(stale_modules, index, affected))
    paths = {file.path for file in arrived} | {module.path for module in modules}
    return {path: file_id for path, file_id in live.items() if path in paths or file_id in by_reference}


async def _write_edges(
    writer: IndexWriter, stale: Mapping[str, int], fresh: FreshFacts, index: DefinitionIndex, begin: Callable[[], Awaitable[None]]
) -> None:
    """Resolve batch by batch; the writer's connection does ``begin`` and then writes what is resolved, some batches behind."""
    paths = {file_id: path for path, file_id in stale.items()}
    chunks = await writer.next_facts.chunks(paths)
    keeps = is_kept(index)
    resolved: asyncio.Queue[Sequence[_FileEdges] | None] = asyncio.Queue(BATCHES_WAITING)
    connection = asyncio.Lock()
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(_write_all(writer, resolved, begin, connection))
            most = min(BATCH_FILES, max(LEAST_FILES, len(paths) // 4))
            for number, file_ids in enumerate(_batches(paths, chunks, most), 1):
                batch = {paths[file_id]: file_id for file_id in file_ids}
                references = await _references(writer.next_facts, batch.values(), fresh, connection)
                await resolved.put(await asyncio.to_thread(_resolve, batch, references, index))
                if not keeps:
                    await asyncio.to_thread(_forget, index, batch, everything=number % BATCHES_REMEMBERED == 0)
            await resolved.put(None)
    except ExceptionGroup as failures:  # one of the two failed, the other was cancelled
        raise failures.exceptions[0] from failures


async def _write_all(
    writer: IndexWriter,
    resolved: asyncio.Queue[Sequence[_FileEdges] | None],
    begin: Callable[[], Awaitable[None]],
    connection: asyncio.Lock,
) -> None:
    async with connection:
        await begin()
    while (batch := await resolved.get()) is not None:
        async with connection:
            await _write(writer, batch)


async def _write(writer: IndexWriter, resolved: Sequence[_FileEdges]) -> None:
    await writer.add_externals({edge.target: (file.family, edge.external) for file in resolved for edge in file.edges if edge.external})
    await writer.add_edges([(file.file_id, edge) for file in resolved for edge in file.edges])
    await writer.add_links({(file.file_id, path): n for file in resolved for path, n in file.links.items()})


async def _references(
    reader: FactReader, file_ids: Collection[int], fresh: FreshFacts, connection: asyncio.Lock
) -> dict[int, Sequence[Reference]]:
    references: dict[int, Sequence[Reference]] = {file_id: file.references for file_id, file in fresh.of(file_ids).items()}
    if lacking := [file_id for file_id in file_ids if file_id not in references]:
        async with connection:
            references |= await reader.references(lacking)
    return references


def _forget(index: DefinitionIndex, paths: Iterable[str], *, everything: bool) -> None:
    """Of an index that is not kept, what was derived for these files, or all that was derived."""
    index.forget_derived_at(paths)
    if everything:
        index.forget_derived()
        gc.collect()  # off during a run, and what was derived refers to itself
        give_back()


def _resolve(files: Mapping[str, int], references: Mapping[int, Sequence[Reference]], index: DefinitionIndex) -> list[_FileEdges]:
    return [
        _FileEdges(path, index.modules[path].family.name, file_id, *resolve_module(index.modules[path], references[file_id], index))
        for path, file_id in files.items()
    ]


async def rank_symbols(writer: IndexWriter) -> None:
    """Compute and write the centrality of every symbol of the next generation."""
    sources, targets = await writer.edge_ends()
    await writer.write_centrality(*pagerank(sources, targets))
