"""The approximate index of a vector set: HNSW over the rows that were there when it was built.

Rows that come later are not put into it, which would take a hundred times as long as storing them: they have higher numbers, searches
compare them one by one, and when there are too many the index is built again with them. The predicate names one set, so that no search
can meet the vectors of another.
"""

from __future__ import annotations

from typing import Final

from app.domain.vectors import VectorSet
from app.storage.engine import Connection

_LOCK: Final = 0x76696478  # first key of the advisory lock under which a set's index is built ("vidx")
_PREFIX: Final = "embedding_hnsw"
_MEMORY: Final = "512MB"
_NEIGHBOURS: Final = 16
_BUILD_CANDIDATES: Final = 100  # 64, the default, finds a few in a hundred less

_TAIL: Final = """
    SELECT count(*) FROM (SELECT 1 FROM embedding WHERE vector_set = $1 AND row_id > $2 LIMIT $3) AS later
"""

_INDEXES: Final = f"""
    SELECT c.relname AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    WHERE i.indrelid = 'embedding'::regclass AND c.relname LIKE '{_PREFIX}\\_' || $1::text || '\\_%'
"""


async def is_outgrown(connection: Connection, vector_set: VectorSet, exact_vectors: int) -> bool:
    """Whether more vectors than that lie outside the index of the set."""
    tail: int = await connection.fetchval(_TAIL, vector_set.id, vector_set.indexed_to or 0, exact_vectors + 1)
    return tail > exact_vectors


async def build(connection: Connection, vector_set: VectorSet) -> bool:
    """Build the index over all rows there are now, then drop the one before; searches go on meanwhile. False: somebody else does.

    The connection must not be in a transaction and have no statement timeout. Memory: up to 512 MB on the server.
    """
    if not await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", _LOCK, vector_set.id):
        return False
    try:
        last: int = await connection.fetchval("SELECT coalesce(max(row_id), 0) FROM embedding WHERE vector_set = $1", vector_set.id)
        name = f"{_PREFIX}_{vector_set.id}_{last}"
        await _drop(connection, vector_set, kept=(f"{_PREFIX}_{vector_set.id}_{vector_set.indexed_to}",))
        await connection.execute(f"SET maintenance_work_mem = '{_MEMORY}'")
        await connection.execute("SET max_parallel_maintenance_workers = 0")  # searches come first
        await connection.execute(
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON embedding USING hnsw (bits bit_hamming_ops) "
            f"WITH (m = {_NEIGHBOURS}, ef_construction = {_BUILD_CANDIDATES}) "
            f"WHERE vector_set = {vector_set.id} AND row_id <= {last}"
        )
        await connection.execute("UPDATE vector_set SET indexed_to = $2 WHERE id = $1", vector_set.id, last)
        await _drop(connection, vector_set, kept=(name,))
    finally:
        if not connection.is_closed():
            await connection.execute("RESET maintenance_work_mem; RESET max_parallel_maintenance_workers")
            await connection.execute("SELECT pg_advisory_unlock($1, $2)", _LOCK, vector_set.id)
    return True


async def drop(connection: Connection, vector_set: VectorSet) -> None:
    """Drop every index of a set that is going to be removed."""
    await connection.execute("UPDATE vector_set SET indexed_to = NULL WHERE id = $1", vector_set.id)
    await _drop(connection, vector_set, kept=())


async def _drop(connection: Connection, vector_set: VectorSet, kept: tuple[str, ...]) -> None:
    """All but those, and those too when a build that was killed left them unfinished."""
    for row in await connection.fetch(_INDEXES, str(vector_set.id)):
        if row["name"] not in kept or not row["valid"]:
            await connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {row['name']}")
