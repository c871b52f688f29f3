"""Reads files in the order of repositories and paths, and looks for matches in all their chunks.

What matches in too many places to rank is listed like this: a part costs what its files cost, wherever it begins, and a search that runs
out of time goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import asyncpg

from app.domain.query import Position, RetrievalQuery, Scope, Snapshot
from app.retrievers.matches import Match
from app.retrievers.scope import FILE_FILTERS, FIRST_FREE, SYMBOL_FILTER, scope_arguments
from app.retrievers.trigrams import to_sql
from app.retrievers.wanted import Clock, Wanted, matching_lines
from app.storage.engine import Connection
from app.storage.live_files import file_of

FILES_AT_FIRST: Final = 50
MOST_FILES: Final = 800

# Constants instead of a join: only then the primary key's order is known to be the paths'. $1 to $3 hold one snapshot.
FILES_AFTER: Final = f"""
    SELECT f.*, c.chunk_id, c.start_line, c.text
    FROM (
        SELECT f.repository_id, f.path, f.file_id, f.language, f.path_class
        FROM file f
        WHERE f.repository_id = ($1::int[])[1] AND f.branch_id = ($2::smallint[])[1]
            AND f.from_gen <= ($3::int[])[1] AND f.to_gen > ($3::int[])[1] AND f.path > ${FIRST_FREE}
            {FILE_FILTERS}
        ORDER BY f.path LIMIT ${FIRST_FREE + 1}
    ) f
    LEFT JOIN LATERAL (
        SELECT c.chunk_id, c.start_line, c.text
        FROM chunk c
        WHERE c.repository_id = f.repository_id AND c.file_id = f.file_id AND {{condition}} {SYMBOL_FILTER}
    ) c ON true
    ORDER BY f.path, c.start_line
"""


@dataclass(frozen=True, slots=True)
class Read:
    """The matches of the files that were read. ``end``: the last of them, when there are more to read."""

    found: Sequence[Match]
    end: Position | None
    unseen: bool


async def read_in_path_order(
    connection: Connection, query: RetrievalQuery, target: Wanted, after: Position, clock: Clock, most: int
) -> Read:
    """Whole files behind ``after``, until ``most`` chunks matched or time runs out."""
    found: list[Match] = []
    unseen = False
    for snapshot in _snapshots_from(query.scope, after.repository_id):
        path = after.path if snapshot.repository_id == after.repository_id else ""
        files = FILES_AT_FIRST
        while True:
            rows = await _files_after(connection, query, target, snapshot, path, files)
            by_file = [list(group) for _, group in groupby(rows, lambda row: row["path"])]
            for chunks in by_file:
                matches, left_out = await _matches(chunks, target)
                found += matches
                unseen |= left_out
                path = chunks[0]["path"]
                if len(found) >= most or clock.is_late():
                    return Read(found, _position(after, snapshot, path, found), unseen)
            if len(by_file) < files:
                break
            files = min(files * 2, MOST_FILES)
    return Read(found, None, unseen)


def _snapshots_from(scope: Scope, repository_id: int) -> list[Snapshot]:
    return sorted((s for s in scope.snapshots if s.repository_id >= repository_id), key=lambda s: s.repository_id)


async def _files_after(
    connection: Connection, query: RetrievalQuery, target: Wanted, snapshot: Snapshot, path: str, files: int
) -> list[asyncpg.Record]:
    condition, values = to_sql(target.condition, "c.text", FIRST_FREE + 2)
    arguments = scope_arguments(replace(query, scope=Scope((snapshot,))))
    return await connection.fetch(FILES_AFTER.format(condition=condition), *arguments, path, files, *values)


async def _matches(chunks: Sequence[asyncpg.Record], target: Wanted) -> tuple[list[Match], bool]:
    """Of one file, which is looked at whole however late it is: nothing comes back to the rest of it."""
    rows = [row for row in chunks if row["chunk_id"] is not None]
    lines = await matching_lines([row["text"] for row in rows], target, None)
    file = file_of(chunks[0])
    found = [
        Match(file, row["chunk_id"], row["text"], tuple(row["start_line"] + offset for offset in offsets))
        for row, offsets in zip(rows, lines, strict=True)
        if offsets
    ]
    return found, any(offsets is None for offsets in lines)


def _position(after: Position, snapshot: Snapshot, path: str, found: Sequence[Match]) -> Position:
    lines = sum(len(match.lines) for match in found)
    return replace(after, repository_id=snapshot.repository_id, path=path, results=after.results + len(found), lines=after.lines + lines)
