"""The write path, top to bottom: discover → analyse → store → show → resolve → rank → publish.

Everything up to ``publish`` is invisible to readers. Embeddings follow after publication (``embed.py``).
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Final

from app.domain.analysis import FileAnalysis, SkippedFile, SourceFile
from app.domain.code import Outcome
from app.domain.index import Coverage, SkipReason
from app.domain.left_out import LeftOut
from app.heap import give_back
from app.indexing.discover import Discovery
from app.indexing.edges import rank_symbols, resolve_edges
from app.indexing.indexed_definitions import DefinitionMemory, FreshFacts, IndexedDefinitions, is_kept
from app.indexing.parse import ParsePool, Unchanged
from app.indexing.postings import PostingsBuilder
from app.indexing.source_tree import SourceTree
from app.storage import bulk_load
from app.storage.maintenance import content_loaded, graph_loaded
from app.storage.writer import IndexWriter, SegmentWriter, StoredVersion, known_digests

SEGMENT_ENTRIES: Final = 4_000_000
"""(term, chunk) entries in a segment: about 80 MB in memory, two or three segments for a repository of Django's size."""

SEGMENT_FILES: Final = 20_000
"""Files in a segment, however small: a segment is a transaction, and a run that is killed loses no more than the last one."""

COPY_FILES: Final = 128
"""Files per COPY: large enough to be fast, small enough to overlap with parsing."""

COPIES: Final = 4
"""COPYs of what changed at least, if it is more than a few files, for the same reason."""

COPY_ROWS: Final = 20_000
"""Rows per COPY: some 20 MB. A header of register names has tens of thousands of symbols, a Python file of Django's 120 rows."""

LARGE_TREE: Final = 10_000
"""Analysed files from which on parser processes end before edges are resolved: each has grown by some 150 MB, and starts in a second."""

_without_collection = 0
"""Blocks of ``no_collection`` that are entered."""

PARSE_FAILURES: Final = frozenset({SkipReason.PARSE_TIMEOUT, SkipReason.PARSE_CRASH, SkipReason.PARSE_ERROR})

Report = Callable[[str, int, int | None], Awaitable[None]]
"""Told the stage, the files done and the files in all; raises to stop the run."""


@dataclass(slots=True)
class IndexRun:
    """What a run did: counts, and the seconds of each stage."""

    revision: str
    generation: int = 0
    coverage: Coverage = field(default_factory=Coverage)
    analysed: int = 0
    unchanged: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    handled: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    parse_failures: Counter[str] = field(default_factory=Counter)


async def index_tree(
    source: SourceTree,
    writer: IndexWriter,
    pool: ParsePool,
    report: Report,
    memory: DefinitionMemory | None = None,
) -> IndexRun:
    """Index ``source`` as the next generation and publish it. With a ``memory``, the next run has less to read.

    Raises what its ``discover`` raises when it cannot be read; a file that cannot be read or parsed never stops the run.
    """
    with no_collection():
        return await _index_tree(source, writer, pool, report, memory or DefinitionMemory())


async def _index_tree(source: SourceTree, writer: IndexWriter, pool: ParsePool, report: Report, memory: DefinitionMemory) -> IndexRun:
    clock = _Clock()
    await report("discover", 0, None)
    found = await asyncio.to_thread(source.discover)
    run = IndexRun(found.revision, seconds=clock.seconds)
    await writer.begin()
    stored = await writer.stored_versions()
    clock.lap("discover")

    tree = _Tree(skipped={item.path: item.reason for item in found.skipped})
    await bulk_load.begin(writer.connection, len(found.files))
    await _store_content(source, found, stored, writer, pool, tree, report)
    await source.finish()
    total, found = len(found.files), replace(found, files=())  # the next stages need the space
    if tree.analysed > LARGE_TREE:
        await asyncio.to_thread(pool.rest)
    run.analysed, run.unchanged = tree.analysed, tree.unchanged
    run.handled, run.parse_failures = tree.handled, tree.parse_failures
    clock.lap("analyse")

    await report("resolve", total, total)
    come, gone = await writer.show_files(tree.versions, tree.skipped)
    meanwhile = partial(content_loaded, writer.connection, tree.analysed)
    definitions: IndexedDefinitions | None = None
    if await writer.next_facts.matter(come | gone):
        definitions = await memory.take(writer.repository)
        links_changed = await resolve_edges(writer, come, gone, tree.fresh, definitions, meanwhile)
    else:
        links_changed = False
        await meanwhile()
    if definitions is not None and not is_kept(definitions.index):
        definitions = IndexedDefinitions()  # the next stages need the space
        gc.collect()  # definitions and their files refer to each other
        give_back()
    clock.lap("resolve")
    if links_changed:
        await rank_symbols(writer)
    clock.lap("centrality")
    await report("publish", total, total)
    coverage, chunks = await writer.measure_coverage(tree.skipped)
    run.coverage = replace(coverage, left_out=found.left_out)
    run.handled.update(_unseen(found.left_out))
    run.generation = await writer.publish(found.revision, run.coverage, chunks)
    await graph_loaded(writer.connection, tree.analysed)
    if definitions is not None:
        memory.put_back(writer.repository, definitions)
    clock.lap("publish")
    return run


def _unseen(left_out: LeftOut) -> Counter[tuple[str | None, str]]:
    return Counter({(None, "ignored"): left_out.ignored, (None, "excluded"): left_out.excluded})


@contextmanager
def no_collection() -> Iterator[None]:
    """A run makes hundreds of thousands of objects and needs them all: to look for garbage among them would nearly double its time.

    Blocks of several tasks may overlap: garbage is looked for again after the last.
    """
    global _without_collection
    _without_collection += 1
    gc.disable()
    try:
        yield
    finally:
        _without_collection -= 1
        if not _without_collection:
            gc.enable()


@dataclass(slots=True)
class _Pending:
    """Analysed files that wait for a COPY, so many at most."""

    most: int
    files: list[FileAnalysis] = field(default_factory=list)
    rows: int = 0

    def add(self, analysis: FileAnalysis) -> None:
        self.files.append(analysis)
        self.rows += len(analysis.chunks) + len(analysis.extraction.symbols) + len(analysis.extraction.references)

    @property
    def is_full(self) -> bool:
        return len(self.files) >= self.most or self.rows >= COPY_ROWS

    def clear(self) -> None:
        self.files.clear()
        self.rows = 0


@dataclass(slots=True)
class _Tree:
    """The next generation as it takes shape."""

    versions: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, SkipReason] = field(default_factory=dict)
    fresh: FreshFacts = field(default_factory=FreshFacts)
    analysed: int = 0
    unchanged: int = 0
    handled: Counter[tuple[str | None, str]] = field(default_factory=Counter)
    parse_failures: Counter[str] = field(default_factory=Counter)


async def _store_content(
    source: SourceTree,
    found: Discovery,
    stored: Mapping[str, Sequence[StoredVersion]],
    writer: IndexWriter,
    pool: ParsePool,
    tree: _Tree,
    report: Report,
) -> None:
    """Analyse what is new and write it, segment by segment."""
    known = known_digests(stored)
    settled = await source.sort_out(found.files, known)
    for result in settled.settled:
        _note(result, stored, tree)
    total = len(found.files)
    at_once = min(COPY_FILES, 8 + len(settled.changed) // COPIES)
    exhausted = False
    async with aclosing(_analyse(source, settled.changed, known, pool)) as results:
        while not exhausted:
            exhausted = await _store_segment(results, stored, writer, tree, _Pending(at_once), total, report)
            if not exhausted:
                gc.collect()  # off during a run, but cycles must not add up over a tree of any size
                give_back()


async def _analyse(
    source: SourceTree, changed: Sequence[SourceFile], known: Mapping[str, frozenset[bytes]], pool: ParsePool
) -> AsyncGenerator[FileAnalysis | SkippedFile | Unchanged, None]:
    async with aclosing(source.windows(changed)) as windows:
        async for window in windows:
            for settled in window.settled:
                yield settled
            async for result in pool.analyse_all(window.changed, known):
                yield result


async def _store_segment(
    results: AsyncIterator[FileAnalysis | SkippedFile | Unchanged],
    stored: Mapping[str, Sequence[StoredVersion]],
    writer: IndexWriter,
    tree: _Tree,
    pending: _Pending,
    total: int,
    report: Report,
) -> bool:
    """Write one segment; true when the results are exhausted. A tree without any change opens no segment."""
    async for result in results:
        if isinstance(result, FileAnalysis):
            pending.add(result)
            break
        _note(result, stored, tree)
    else:
        return True
    before = tree.analysed
    async with writer.segment() as segment:
        postings = PostingsBuilder()
        async for result in results:
            if isinstance(result, FileAnalysis):
                pending.add(result)
            else:
                _note(result, stored, tree)
            await report("analyse", len(tree.versions) + len(tree.skipped) + len(pending.files), total)
            if pending.is_full:
                await _write(pending, segment, postings, tree)
                await report("analyse", len(tree.versions) + len(tree.skipped), total)
                if postings.entries > SEGMENT_ENTRIES or tree.analysed - before >= SEGMENT_FILES:
                    await _finish(segment, postings)
                    return False
        await _write(pending, segment, postings, tree)
        await _finish(segment, postings)
    await report("analyse", total, total)
    return True


def _note(result: SkippedFile | Unchanged, stored: Mapping[str, Sequence[StoredVersion]], tree: _Tree) -> None:
    if isinstance(result, SkippedFile):
        tree.skipped[result.path] = result.reason
        tree.handled[None, str(Outcome.SKIPPED)] += 1
        return
    tree.unchanged += 1
    tree.versions[result.path] = next(version.file_id for version in stored[result.path] if version.sha256 == result.sha256)


async def _write(pending: _Pending, segment: SegmentWriter, postings: PostingsBuilder, tree: _Tree) -> None:
    for analysis, written in zip(pending.files, await segment.add(pending.files), strict=True):
        postings.add(written.file_id, written.first_chunk_id, analysis.counts)
        tree.versions[analysis.path] = written.file_id
        tree.fresh.keep(written.file_id, analysis)
        tree.analysed += 1
        tree.handled[analysis.language, str(analysis.outcome)] += 1
        if analysis.reason in PARSE_FAILURES:
            tree.parse_failures[str(analysis.reason)] += 1
    was_full = pending.rows >= COPY_ROWS
    pending.clear()
    if was_full:
        give_back()


async def _finish(segment: SegmentWriter, postings: PostingsBuilder) -> None:
    averages = await segment.average_lengths(postings.average_lengths().tolist())
    await segment.finish(postings.postings(averages))


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = perf_counter()

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self.seconds[stage] = round(now - self._began, 3)
        self._began = now
