"""Vector sets: which serves the searches, which is being built to take its place, and the removal of those that nobody reads any more.

    building ──(every published chunk is settled)──▶ serving ──(another one took its place)──▶ retired ──▶ removed

The database admits one set that serves and one that is built; a search reads its set's number once and compares within it alone.
"""

from __future__ import annotations

from typing import Final

import asyncpg

from app.domain.vectors import VectorSet
from app.storage.engine import Connection

_LOCK: Final = 0x76736574  # key of the advisory lock under which sets change their state ("vset")
_COLUMNS: Final = "id, name, kind, model, indexed_to"
_REMOVED_AT_ONCE: Final = 20_000

# A set that is there already: an insertion that meets it would use up a number, of which there are 32,767.
_TAKE_UP: Final = f"""
    UPDATE vector_set SET kind = $2, model = $3,
        changed_at = CASE WHEN state = 'retired' THEN now() ELSE changed_at END,
        state = CASE WHEN state = 'retired' THEN $4 ELSE state END
    WHERE name = $1 RETURNING {_COLUMNS}
"""

_REGISTER: Final = f"INSERT INTO vector_set (name, kind, model, state) VALUES ($1, $2, $3, $4) RETURNING {_COLUMNS}"

_REMOVE_ROWS: Final = """
    DELETE FROM embedding WHERE (repository_id, vector_set, chunk_id) IN (
        SELECT repository_id, vector_set, chunk_id FROM embedding WHERE vector_set = $1 ORDER BY row_id LIMIT $2
    )
"""

_FORGET_CACHED: Final = """
    DELETE FROM embedding_cache WHERE (embedder, text_hash) IN (
        SELECT embedder, text_hash FROM embedding_cache WHERE used_on < current_date - $1::int LIMIT $2
    )
"""


async def activate(connection: Connection, name: str, kind: str, model: str) -> VectorSet:
    """Make the set of this embedder the one that serves, or will once it is built; returns it.

    It serves at once when no other set does. A set that was being built for another embedder is given up.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        await connection.execute(
            "UPDATE vector_set SET state = 'retired', changed_at = now() WHERE state = 'building' AND name <> $1",
            name,
        )
        state = "building" if await serving(connection) else "serving"
        row = await connection.fetchrow(_TAKE_UP, name, kind, model, state) or await connection.fetchrow(
            _REGISTER, name, kind, model, state
        )
    assert row is not None
    return vector_set(row)


async def serving(connection: Connection) -> VectorSet | None:
    """The set that searches are answered from."""
    return await _in_state(connection, "serving")


async def building(connection: Connection) -> VectorSet | None:
    """The set that is to take its place."""
    return await _in_state(connection, "building")


async def retired(connection: Connection, grace_seconds: float) -> list[VectorSet]:
    """Sets that no search reads any more: replaced, or given up, longer ago than any search takes."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM vector_set WHERE state = 'retired' AND changed_at < now() - make_interval(secs => $1) ORDER BY id",
        grace_seconds,
    )
    return [vector_set(row) for row in rows]


async def promote(connection: Connection, vector_set_id: int) -> bool:
    """Let the set that was built serve from now on, and retire the one that did; False when it is not the one being built any more."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _LOCK)
        if not await connection.fetchval("SELECT true FROM vector_set WHERE id = $1 AND state = 'building'", vector_set_id):
            return False
        await connection.execute("UPDATE vector_set SET state = 'retired', changed_at = now() WHERE state = 'serving'")
        await connection.execute("UPDATE vector_set SET state = 'serving', changed_at = now() WHERE id = $1", vector_set_id)
    return True


async def remove_some(connection: Connection, retired_set: VectorSet) -> tuple[int, bool]:
    """Remove part of a retired set, so that no statement runs for long; how many vectors, and whether all of it is gone.

    What it cost is kept in the cache until that has not been used for long: a change of mind costs nothing.
    """
    if not await connection.fetchval("SELECT true FROM vector_set WHERE id = $1 AND state = 'retired'", retired_set.id):
        return 0, False
    removed = await _deleted(connection, _REMOVE_ROWS, retired_set.id, _REMOVED_AT_ONCE)
    if removed == _REMOVED_AT_ONCE:
        return removed, False
    await connection.execute("DELETE FROM vector_set WHERE id = $1 AND state = 'retired'", retired_set.id)
    return removed, True


async def forget_cached(connection: Connection, unused_days: int) -> int:
    """Remove cached vectors that were not asked for in so many days; returns how many, at most a batch."""
    return await _deleted(connection, _FORGET_CACHED, unused_days, _REMOVED_AT_ONCE)


def vector_set(row: asyncpg.Record) -> VectorSet:
    """A row with the columns ``id, name, kind, model, indexed_to``."""
    return VectorSet(row["id"], row["name"], row["kind"], row["model"], row["indexed_to"])


async def _in_state(connection: Connection, state: str) -> VectorSet | None:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM vector_set WHERE state = $1", state)
    return vector_set(row) if row else None


async def _deleted(connection: Connection, statement: str, *arguments: object) -> int:
    return int((await connection.execute(statement, *arguments)).split()[-1])
