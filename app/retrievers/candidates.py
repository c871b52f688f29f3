"""The chunks in which an exact search may match, and the files that they are of."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Set
from typing import Final, NamedTuple

import asyncpg

from app.domain.query import RetrievalQuery
from app.retrievers.scope import FILE_FILTERS, FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments
from app.retrievers.trigrams import to_sql
from app.retrievers.wanted import Wanted
from app.storage.engine import Connection
from app.storage.live_files import LiveFile, LiveFiles, LiveFilesCache, file_of

MOST_SYMBOLS: Final = 5_000
MOST_DEFINING: Final = 200

_CHUNK: Final = "c.repository_id, c.chunk_id, c.file_id, c.start_line, c.text"

_DEFINITION: Final = f"""
    SELECT y.repository_id, y.file_id, y.name_line AS start_line FROM symbol y
    WHERE y.repository_id = ANY($1) AND y.lname = ANY({{names}}::text[]) LIMIT {MOST_SYMBOLS}
"""

# In the same statement, since to send one takes longer than to run it: rows without a chunk.
_AND_DEFINITIONS: Final = f"UNION ALL (SELECT d.repository_id, NULL, d.file_id, d.start_line, NULL FROM ({_DEFINITION}) d)"

# OFFSET 0 keeps the repository in the index condition: where the planner trusts in few matches, it asks the trigrams alone and looks for
# the repository afterwards, and its trust is wrong by a factor of a hundred.
ANYWHERE: Final = f"""
    (SELECT {_CHUNK}
    FROM unnest($1::int[]) AS s(repository_id)
    CROSS JOIN LATERAL (SELECT * FROM chunk k WHERE k.repository_id = s.repository_id AND {{condition}} OFFSET 0) c
    LIMIT $2)
    {_AND_DEFINITIONS.format(names="$3")}
"""

FILTERED: Final = f"""{SCOPE}
    (SELECT {_CHUNK}
    FROM scope s
    CROSS JOIN LATERAL (SELECT * FROM chunk k WHERE k.repository_id = s.repository_id AND {{condition}} OFFSET 0) c
    {LIVE} {SYMBOL_FILTER}
    LIMIT ${FIRST_FREE})
    {_AND_DEFINITIONS.format(names=f"${FIRST_FREE + 1}")}
"""

SAMPLED: Final = f"""{SCOPE}
    SELECT {_CHUNK}
    FROM unnest(${FIRST_FREE}::int[], ${FIRST_FREE + 1}::int[]) AS w(repository_id, chunk_id)
    CROSS JOIN LATERAL (
        SELECT * FROM chunk k WHERE k.repository_id = w.repository_id AND k.chunk_id = w.chunk_id AND {{condition}} OFFSET 0
    ) c
    JOIN scope s ON s.repository_id = w.repository_id
    {LIVE} {SYMBOL_FILTER}
    ORDER BY c.repository_id, c.chunk_id
"""

# Where there are too many chunks to see them all, those that define what the literal names must not be missed.
DEFINING: Final = f"""{SCOPE}
    SELECT {_CHUNK}
    FROM scope s
    JOIN LATERAL (
        SELECT DISTINCT y.repository_id, y.chunk_id FROM symbol y
        WHERE y.repository_id = s.repository_id AND y.lname = ANY(${FIRST_FREE}) ORDER BY y.chunk_id LIMIT {MOST_DEFINING}
    ) d ON true
    JOIN chunk c ON c.repository_id = d.repository_id AND c.chunk_id = d.chunk_id AND {{condition}}
    {LIVE} {SYMBOL_FILTER}
"""

FILES: Final = """
    SELECT f.repository_id, f.file_id, f.path, f.language, f.path_class
    FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
    JOIN unnest($4::int[], $5::int[]) AS m(repository_id, file_id) ON m.repository_id = s.repository_id
    JOIN file f ON f.repository_id = m.repository_id AND f.file_id = m.file_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
"""

DEFINITION_LINES: Final = _DEFINITION.format(names="$2")

CHUNKS_IN_SCOPE: Final = f"""{SCOPE}
    SELECT count(*) FROM (
        SELECT 1
        FROM scope s
        JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id
            AND f.from_gen <= s.generation AND f.to_gen > s.generation
            {FILE_FILTERS}
        JOIN chunk c ON c.repository_id = f.repository_id AND c.file_id = f.file_id
        LIMIT ${FIRST_FREE}
    ) counted
"""

FileId = tuple[int, int]
"""(repository_id, file_id)"""

DefinitionLines = Mapping[FileId, Set[int]]
"""The lines of files, 1-based, on which a name is defined."""


def file_id(row: asyncpg.Record) -> FileId:
    return row["repository_id"], row["file_id"]


def id_of(file: LiveFile) -> FileId:
    return file.key.repository_id, file.file_id


class Candidates(NamedTuple):
    """Chunks that may match, and the lines on which files define a name of the literal."""

    chunks: list[asyncpg.Record]
    defined: DefinitionLines


async def candidates(connection: Connection, query: RetrievalQuery, target: Wanted, most: int) -> Candidates:
    """At most so many chunks of the scope that fulfil the condition; without filters also of files that were replaced."""
    names = target.names()
    if is_filtered(query):
        condition, values = to_sql(target.condition, "k.text", FIRST_FREE + 2)
        rows = await connection.fetch(FILTERED.format(condition=condition), *scope_arguments(query), most, names, *values)
    else:
        condition, values = to_sql(target.condition, "k.text", 4)
        repositories = [snapshot.repository_id for snapshot in query.scope.snapshots]
        rows = await connection.fetch(ANYWHERE.format(condition=condition), repositories, most, names, *values)
    if not names:
        return Candidates(rows, {})
    return Candidates([row for row in rows if row["chunk_id"] is not None], _by_file(row for row in rows if row["chunk_id"] is None))


async def sampled(
    connection: Connection, query: RetrievalQuery, target: Wanted, live: Mapping[int, LiveFiles], share: float
) -> list[asyncpg.Record]:
    """Of this share of the live chunks, scattered over each repository, those that pass the filters and fulfil the condition."""
    chunks = {repository: files.scattered(math.ceil(share * files.chunks)).tolist() for repository, files in live.items()}
    condition, values = to_sql(target.condition, "k.text", FIRST_FREE + 2)
    repositories = [repository for repository, ids in chunks.items() for _ in ids]
    ids = [chunk for ids in chunks.values() for chunk in ids]
    return await connection.fetch(SAMPLED.format(condition=condition), *scope_arguments(query), repositories, ids, *values)


async def defining(connection: Connection, query: RetrievalQuery, target: Wanted) -> list[asyncpg.Record]:
    """Chunks that fulfil the condition and hold the definition of a name in the literal."""
    names = target.names()
    if not names:
        return []
    condition, values = to_sql(target.condition, "c.text", FIRST_FREE + 1)
    return await connection.fetch(DEFINING.format(condition=condition), *scope_arguments(query), names, *values)


async def files_of(
    connection: Connection, query: RetrievalQuery, wanted: Collection[FileId], live: LiveFilesCache
) -> Mapping[FileId, LiveFile]:
    """Those that the scope's generations show; the database is asked for them while they are not in memory."""
    if not wanted:
        return {}
    in_memory = live.ready(query.scope)
    if in_memory is not None:
        found = ((file, in_memory[file[0]].by_id(file[1])) for file in wanted)
        return {file: known for file, known in found if known is not None}
    rows = await connection.fetch(
        FILES,
        *query.scope.columns,
        [file[0] for file in wanted],
        [file[1] for file in wanted],
    )
    return {file_id(row): file_of(row) for row in rows}


async def definition_lines(connection: Connection, query: RetrievalQuery, target: Wanted) -> DefinitionLines:
    """The lines on which files define a name of the literal."""
    names = target.names()
    if not names:
        return {}
    return _by_file(await connection.fetch(DEFINITION_LINES, [snapshot.repository_id for snapshot in query.scope.snapshots], names))


def _by_file(rows: Iterable[asyncpg.Record]) -> DefinitionLines:
    lines: dict[FileId, set[int]] = {}
    for row in rows:
        lines.setdefault(file_id(row), set()).add(row["start_line"])
    return lines


async def is_bounded(connection: Connection, query: RetrievalQuery, most: int) -> bool:
    """Whether the scope, as the filters narrow it, has at most so many chunks."""
    if not is_filtered(query):
        return sum(snapshot.chunks for snapshot in query.scope.snapshots) <= most
    chunks: int = await connection.fetchval(CHUNKS_IN_SCOPE, *scope_arguments(query), most + 1)
    return chunks <= most
