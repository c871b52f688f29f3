"""Removes what no readable generation shows any more, and merges the word index's segments; with them the words of names are counted anew.

Runs on a worker between jobs, under the lock of the repository's jobs: content that a run has committed but not shown yet is not dead.
A sweep that is cancelled leaves what it removed and postings as they were; what it left is ``due`` again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from app.storage.engine import Connection
from app.storage.generations import BRANCH_TABLES
from app.storage.jobs import LOCK_NAMESPACE
from app.storage.posting_merge import merge_segments

MOST_SEGMENTS: Final = 8
DEAD_SHARE: Final = 0.2
"""Of the chunks that have postings; above it the postings are written anew."""

DUE = """
    SELECT DISTINCT g.repository_id FROM generation g
    WHERE g.replaced_at < now() - make_interval(secs => $1)
      AND NOT EXISTS (SELECT 1 FROM job j WHERE j.repository_id = g.repository_id AND j.state IN ('queued', 'running'))
    UNION
    SELECT s.repository_id FROM segment s
    WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.repository_id = s.repository_id AND j.state IN ('queued', 'running'))
    GROUP BY s.repository_id HAVING count(*) > $2
"""

FORGET_GENERATIONS = """
    DELETE FROM generation WHERE repository_id = $1 AND replaced_at < now() - make_interval(secs => $2)
"""

READABLE = """
    SELECT branch_id, array_agg(generation ORDER BY generation) AS generations FROM generation WHERE repository_id = $1 GROUP BY branch_id
"""

# Several refs share one line of generations: what ended before the newest may still be shown by an older one.
DEAD_ROWS = """
    DELETE FROM {table} WHERE repository_id = $1 AND branch_id = $2 AND to_gen <= ($3::int[])[array_upper($3::int[], 1)]
        AND NOT EXISTS (SELECT FROM unnest($3::int[]) AS g WHERE from_gen <= g AND to_gen > g)
"""

DEAD_FILES = """
    DELETE FROM file_version v WHERE repository_id = $1
      AND NOT EXISTS (SELECT 1 FROM file f WHERE f.repository_id = v.repository_id AND f.file_id = v.file_id)
    RETURNING file_id
"""

UNUSED_LIBRARIES = """
    DELETE FROM external x WHERE x.repository_id = $1
      AND NOT EXISTS (SELECT 1 FROM edge e WHERE e.repository_id = $1 AND e.target = x.symbol_id)
"""

NAME_WORDS = """
    INSERT INTO name_word (repository_id, word, symbols, files)
    SELECT $1, word, sum(symbols), sum(files) FROM (
        SELECT unnest(words) AS word, 1 AS symbols, 0 AS files FROM symbol WHERE repository_id = $1
        UNION ALL
        SELECT unnest(name_words), 0, 1 FROM file_version WHERE repository_id = $1
    ) AS named
    GROUP BY word
"""

SEGMENTS = """
    SELECT (SELECT count(*)::int FROM segment WHERE repository_id = $1) AS segments, r.dead_chunks,
           (SELECT count(*)::int FROM chunk WHERE repository_id = $1) AS live
    FROM repository r WHERE r.id = $1
"""


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep removed."""

    generations: int
    files: int
    libraries: int
    merged: bool = False


async def due(connection: Connection, grace_seconds: float) -> list[int]:
    """The repositories that have generations beyond their grace, or postings to merge, and no job."""
    return [row["repository_id"] for row in await connection.fetch(DUE, grace_seconds, MOST_SEGMENTS)]


async def sweep(
    connection: Connection, repository_id: int, grace_seconds: float, removed: Callable[[Swept], None] = lambda _: None
) -> Swept | None:
    """Sweep one repository, in one transaction what is dead and in another its postings; None when an index run has its lock.

    ``removed`` is told what is gone before the postings are looked at: the rest may be cancelled.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", LOCK_NAMESPACE, repository_id):
        return None
    try:
        async with connection.transaction():
            swept = await _remove(connection, repository_id, grace_seconds)
        removed(swept)
        return replace(swept, merged=await _merge_segments(connection, repository_id))
    finally:
        if not connection.is_closed():
            await connection.execute("SELECT pg_advisory_unlock($1, $2)", LOCK_NAMESPACE, repository_id)


async def _remove(connection: Connection, repository_id: int, grace_seconds: float) -> Swept:
    forgotten = await connection.execute(FORGET_GENERATIONS, repository_id, grace_seconds)
    ended: Counter[str] = Counter()
    for branch in await connection.fetch(READABLE, repository_id):
        for table in BRANCH_TABLES:
            removed = await connection.execute(DEAD_ROWS.format(table=table), repository_id, branch["branch_id"], branch["generations"])
            ended[table] += _rows(removed)
    libraries = _rows(await connection.execute(UNUSED_LIBRARIES, repository_id)) if ended["edge"] else 0
    dead = [row["file_id"] for row in await connection.fetch(DEAD_FILES, repository_id)]
    if dead:
        await _delete_content(connection, repository_id, dead)
    return Swept(_rows(forgotten), len(dead), libraries)


def _rows(status: str) -> int:
    """How many rows a statement says that it changed."""
    return int(status.split()[-1])


async def _delete_content(connection: Connection, repository_id: int, file_ids: list[int]) -> None:
    await connection.execute(
        "DELETE FROM embedding e USING chunk c WHERE e.repository_id = $1 AND c.repository_id = $1 AND c.chunk_id = e.chunk_id "
        "AND c.file_id = ANY($2::int[])",
        repository_id,
        file_ids,
    )
    for table in ("symbol", "reference", "import", "binding"):
        await connection.execute(f"DELETE FROM {table} WHERE repository_id = $1 AND file_id = ANY($2::int[])", repository_id, file_ids)
    await connection.execute(
        "WITH gone AS (DELETE FROM chunk WHERE repository_id = $1 AND file_id = ANY($2::int[]) RETURNING 1) "
        "UPDATE repository SET dead_chunks = dead_chunks + (SELECT count(*) FROM gone) WHERE id = $1",
        repository_id,
        file_ids,
    )


async def _merge_segments(connection: Connection, repository_id: int) -> bool:
    """Write the postings anew when they have too many segments or too many dead chunks.

    The repository's row is changed before and in the end only: who asks for a job changes it too, and would wait for all of this.
    """
    state = await connection.fetchrow(SEGMENTS, repository_id)
    if state is None or (state["segments"] <= MOST_SEGMENTS and state["dead_chunks"] <= DEAD_SHARE * max(state["live"], 1)):
        return False
    segment_id = await connection.fetchval(
        "UPDATE repository SET next_segment_id = next_segment_id + 1 WHERE id = $1 RETURNING next_segment_id - 1", repository_id
    )
    async with connection.transaction():
        if await connection.fetchval("SELECT id FROM repository WHERE id = $1 FOR KEY SHARE", repository_id) is None:
            return False
        await merge_segments(connection, repository_id, segment_id)
        await connection.execute("DELETE FROM name_word WHERE repository_id = $1", repository_id)
        await connection.execute(NAME_WORDS, repository_id)
        await connection.execute("UPDATE repository SET dead_chunks = 0 WHERE id = $1", repository_id)
    return True
