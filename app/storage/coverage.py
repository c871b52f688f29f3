"""Reads which files an index holds, and which not and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from app.domain.index import FileCoverage
from app.domain.left_out import LeftOut
from app.domain.query import Snapshot
from app.storage.pool import Pool

_FILES: Final = """
    SELECT path, outcome, reason, language, path_class FROM (
        SELECT f.path, v.outcome, v.reason, f.language, f.path_class
        FROM file f JOIN file_version v ON v.repository_id = f.repository_id AND v.file_id = f.file_id
        WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
        UNION ALL
        SELECT k.path, 'skipped', k.reason, NULL, NULL FROM skipped_file k
        WHERE k.repository_id = $1 AND k.branch_id = $2 AND k.from_gen <= $3 AND k.to_gen > $3
    ) AS known
    WHERE ($4::text IS NULL OR path = $4) AND ($5::text IS NULL OR outcome = $5) AND ($6::text IS NULL OR reason = $6)
      AND ($7::text IS NULL OR path COLLATE "C" > $7)
    ORDER BY path COLLATE "C" LIMIT $8
"""


_LEFT_OUT: Final = "SELECT coverage -> 'left_out' FROM generation WHERE repository_id = $1 AND branch_id = $2 AND generation = $3"


class CoverageRows:
    """The CoverageStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def files(
        self,
        snapshot: Snapshot,
        *,
        path: str | None = None,
        outcome: str | None = None,
        reason: str | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> Sequence[FileCoverage]:
        """See ports.CoverageStore."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(_FILES, *snapshot.key, path, outcome, reason, after, limit)
        return [FileCoverage(**row) for row in rows]

    async def left_out(self, snapshot: Snapshot) -> LeftOut:
        """See ports.CoverageStore."""
        async with self._pool.connection() as connection:
            stored = await connection.fetchval(_LEFT_OUT, *snapshot.key)
        return LeftOut.of(json.loads(stored or "{}"))
