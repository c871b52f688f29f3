"""Forgets what is kept for its own sake once its time is over: finished jobs, what was learned of blobs that no run asks for,
and old entries of the audit log.

What an index stands on goes by ``sweep.py``, as soon as no generation shows it; vectors go by ``vector_sets.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.storage.engine import Connection

MOST_AT_ONCE: Final = 20_000
"""Rows that one statement removes."""

# A repository's newest job stays: it says how the index came about, or why it did not.
_JOBS: Final = """
    DELETE FROM job WHERE id IN (
        SELECT j.id FROM job j
        WHERE j.state NOT IN ('queued', 'running') AND j.finished_at < now() - make_interval(days => $1)
          AND EXISTS (SELECT FROM job newer WHERE newer.repository_id = j.repository_id AND newer.created_at > j.created_at)
        LIMIT $2
    )
"""

# A ref that never moves is not looked through again: the content of its blobs is in the index all the same.
_BLOBS: Final = """
    DELETE FROM blob WHERE (repository_id, oid) IN (
        SELECT b.repository_id, b.oid FROM blob b
        WHERE b.used_on < current_date - $1::int
          AND NOT EXISTS (SELECT FROM file_version v WHERE v.repository_id = b.repository_id AND v.sha256 = b.sha256)
        LIMIT $2
    )
"""


_AUDIT: Final = "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < now() - make_interval(days => $1) LIMIT $2)"


async def forget(connection: Connection, job_days: int, blob_days: int, audit_days: int) -> Mapping[str, int]:
    """Remove all of it, batch by batch, each in a transaction of its own; how many of each kind."""
    kinds = {"job": (_JOBS, job_days), "blob": (_BLOBS, blob_days), "audit": (_AUDIT, audit_days)}
    return {kind: await _forget(connection, statement, days) for kind, (statement, days) in kinds.items()}


async def _forget(connection: Connection, statement: str, days: int) -> int:
    removed = 0
    while True:
        batch = int((await connection.execute(statement, days, MOST_AT_ONCE)).split()[-1])
        removed += batch
        if batch < MOST_AT_ONCE:
            return removed
