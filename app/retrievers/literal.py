"""Exact search: every line that a literal or a pattern matches.

The trigram index hands over the chunks in which it may match, the matcher decides by the line. What no trigram can be taken from would read
every chunk; it runs only in a bounded scope. See docs/decisions/0006-exact-text.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Final

import asyncpg

from app.domain.errors import QueryNotServable
from app.domain.query import Modality, Position, RetrievalQuery
from app.domain.ranking import RankedList
from app.retrievers.blocks import block_matches
from app.retrievers.candidates import candidates, defining, definition_lines, file_id, files_of, id_of, is_bounded, sampled
from app.retrievers.files import ranked
from app.retrievers.matches import Match, Matches, by_file, file_in_order, file_of
from app.retrievers.parts import with_scores
from app.retrievers.path_order import read_in_path_order
from app.retrievers.scope import is_filtered
from app.retrievers.trigrams import is_indexed
from app.retrievers.wanted import Clock, Wanted, matching_lines, wanted
from app.storage.engine import Connection
from app.storage.live_files import LiveFilesCache
from app.storage.pool import Pool

MOST_CHUNKS: Final = 2_000
"""Chunks that are looked at for the best files."""

MOST_RANKED: Final = 500
"""Chunks that are ranked when every one is wanted: each page ranks them anew. More are listed in path order."""

LARGE_SCOPE: Final = 50_000
"""Chunks from which on it is asked first whether a literal is common."""

PROBED: Final = 256
"""Chunks that tell."""

COMMON: Final = 0.08
"""Of a literal in so large a share of the chunks a sample is ranked: reading, matching and ranking 2,000 took a fifth of a second."""

LONGEST_WAIT: Final = 0.1
"""Seconds for the list of a large scope's files, which takes longer when it is not in memory."""

SAMPLE_MATCHES: Final = 500
"""Matching chunks that a sample is to have, about."""

CHUNKS_IN_A_PART: Final = 200
"""Of such a list."""


async def find_exact(pool: Pool, query: RetrievalQuery, unindexed_chunks: int, live: LiveFilesCache) -> RankedList:
    """The files in which ``query.literal`` matches.

    Raises InvalidRequest for what is no pattern, QueryNotServable when the index is of no use and the scope too large to read.
    """
    clock = Clock(query.deadline_ms)
    if query.after is not None:
        target = wanted(query, any_case=query.after.any_case)
        async with _connected(pool, query, target) as connection:
            return await _listed(connection, query, target, query.after, clock)
    found = await _found(pool, query, wanted(query, any_case=query.filters.case is False), unindexed_chunks, live, clock)
    if query.expression is not None or query.filters.case is not None or found.files or not found.complete:
        return found
    other = await _found(pool, query, wanted(query, any_case=True), unindexed_chunks, live, clock)
    return replace(other, warnings=(*other.warnings, "other_case")) if other.files else found


async def _found(
    pool: Pool, query: RetrievalQuery, target: Wanted, unindexed_chunks: int, live: LiveFilesCache, clock: Clock
) -> RankedList:
    async with _connected(pool, query, target) as connection:
        return await _found_by(connection, query, target, unindexed_chunks, live, clock)


def _connected(pool: Pool, query: RetrievalQuery, target: Wanted) -> AbstractAsyncContextManager[Connection]:
    """Whatever the literal, the trigram index is asked first, so that a plan is made once; three cases are better planned each.

    Filters may leave so few files that these are read, a pattern may hold no trigram, and what is common in a large scope is read by key.
    """
    is_planned_once = is_indexed(target.condition) and not is_filtered(query) and _chunks_in(query) < LARGE_SCOPE
    return pool.keyed() if is_planned_once else pool.connection()


def _chunks_in(query: RetrievalQuery) -> int:
    return sum(snapshot.chunks for snapshot in query.scope.snapshots)


async def _found_by(
    connection: Connection, query: RetrievalQuery, target: Wanted, unindexed_chunks: int, live: LiveFilesCache, clock: Clock
) -> RankedList:
    warnings: list[str] = []
    if not is_indexed(target.condition):
        if not await is_bounded(connection, query, unindexed_chunks):
            return await _definitions_alone(connection, query, target, unindexed_chunks, live, clock)
        warnings += [] if target.fits_anything else ["unindexed_scan"]
    common = await _common(connection, query, target, live, clock)
    matches = common if common is not None else await _matches(connection, query, target, live, clock)
    if matches.overflow and query.every_match and not target.is_block:
        listed = await _listed(connection, query, target, Position(0, "", any_case=target.any_case), clock)
        return replace(listed, warnings=(*warnings, *listed.warnings))
    if target.of_chunk:
        matches = replace(matches, found=await with_scores(matches.found, target, clock))
    return await _ranked(connection, query, matches, target, warnings)


async def _common(connection: Connection, query: RetrievalQuery, target: Wanted, live: LiveFilesCache, clock: Clock) -> Matches | None:
    """The matches in a sample of the chunks, and those that define the literal; None of one that is not common in a large scope."""
    chunks = _chunks_in(query)
    if chunks < LARGE_SCOPE or not target.is_like:
        return None
    try:
        async with asyncio.timeout(LONGEST_WAIT):
            files = await live.of(query.scope)
    except TimeoutError:  # the first search of a generation: they are read on for the next one
        return None
    matching = len(await sampled(connection, query, target, files, PROBED / chunks)) / PROBED
    if matching < COMMON:
        return None
    if query.every_match:
        return Matches((), overflow=True)
    rows = await sampled(connection, query, target, files, SAMPLE_MATCHES / matching / chunks)
    return await _with_definitions(connection, query, rows, target, live, clock)


async def _with_definitions(
    connection: Connection, query: RetrievalQuery, rows: Sequence[asyncpg.Record], target: Wanted, live: LiveFilesCache, clock: Clock
) -> Matches:
    """The matches of some of the chunks, and of those that define what the literal names."""
    first = await defining(connection, query, target)
    seen = {_chunk_id(row) for row in first}
    rows = first + [row for row in rows if _chunk_id(row) not in seen]
    return replace(await _checked(connection, query, rows, target, live, clock), overflow=True)


async def _matches(connection: Connection, query: RetrievalQuery, target: Wanted, live: LiveFilesCache, clock: Clock) -> Matches:
    """The matches of a bounded number of chunks."""
    most = MOST_RANKED if query.every_match and not target.is_block else MOST_CHUNKS
    rows, defined = await candidates(connection, query, target, most + 1)
    overflow = len(rows) > most
    rows = rows[:most]
    if target.is_block:
        files = await files_of(connection, query, set(map(file_id, rows)), live)
        found, unseen = await block_matches(connection, files, target, clock)
        return Matches(found, overflow, unseen, defined)
    if overflow and query.every_match:
        return Matches((), overflow)
    if overflow and not target.is_like:
        # Most candidates may be none: read on until there are as many matches.
        read = await read_in_path_order(connection, query, target, Position(0, ""), clock, MOST_CHUNKS)
        return Matches(read.found, read.end is not None, read.unseen)
    if overflow:
        return replace(await _with_definitions(connection, query, rows, target, live, clock), defined=defined)
    return replace(await _checked(connection, query, rows, target, live, clock), defined=defined)


async def _checked(
    connection: Connection, query: RetrievalQuery, rows: Sequence[asyncpg.Record], target: Wanted, live: LiveFilesCache, clock: Clock
) -> Matches:
    lines = await matching_lines([row["text"] for row in rows], target, clock)
    matching = [(file_id(row), row, offsets) for row, offsets in zip(rows, lines, strict=True) if offsets]
    files = await files_of(connection, query, {file for file, _, _ in matching}, live)
    found = []
    for file_of_row, row, offsets in matching:
        if file := files.get(file_of_row):
            start = row["start_line"]
            found.append(Match(file, row["chunk_id"], row["text"], [start + offset for offset in offsets]))
    return Matches(found, unseen=None in lines)


def _chunk_id(row: asyncpg.Record) -> tuple[int, int]:
    return row["repository_id"], row["chunk_id"]


async def _ranked(connection: Connection, query: RetrievalQuery, matches: Matches, target: Wanted, warnings: Sequence[str]) -> RankedList:
    defined = matches.defined
    if defined is None:
        defined = await definition_lines(connection, query, target) if matches.found else {}
    files = ranked(file_of(found, target, defined.get(id_of(found[0].file), ())) for found in by_file(matches.found))
    told = [*warnings, *(["too_many_matches"] if matches.overflow else []), *(["text_left_out"] if matches.unseen else [])]
    return RankedList(
        Modality.TEXT,
        files,
        complete=not matches.overflow and not matches.unseen,
        total_files=len(files),
        total_lines=matches.lines,
        warnings=tuple(told),
    )


async def _listed(connection: Connection, query: RetrievalQuery, target: Wanted, after: Position, clock: Clock) -> RankedList:
    """The part of all matches, in path order, that begins behind ``after``."""
    read = await read_in_path_order(connection, query, target, after, clock, CHUNKS_IN_A_PART)
    return RankedList(
        Modality.TEXT,
        tuple(file_in_order(found, target) for found in by_file(read.found)),
        complete=read.end is None and not read.unseen,
        total_lines=after.lines + sum(len(match.lines) for match in read.found),
        warnings=("path_order", *(["text_left_out"] if read.unseen else [])),
        resume=read.end,
    )


async def _definitions_alone(
    connection: Connection, query: RetrievalQuery, target: Wanted, most: int, live: LiveFilesCache, clock: Clock
) -> RankedList:
    """A name too short for the index is still found where it is defined. Raises QueryNotServable when it is not."""
    rows = await defining(connection, query, target) if target.is_like else []
    if not rows:
        what = "the pattern holds no string long enough" if target.regex else f"{target.text!r} is too short"
        raise QueryNotServable(
            f"{what} for the text index, and the scope is too large to be read in full (more than {most:,} chunks); "
            "name a repository or paths, or make it longer",
            field="query",
        )
    matches = await _checked(connection, query, rows, target, live, clock)
    listed = await _ranked(connection, query, replace(matches, overflow=True), target, ())
    return replace(listed, warnings=("definitions_only",))
