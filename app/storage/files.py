"""Reads what an index knows of a path: an indexed file, one that was skipped, or nothing."""

from __future__ import annotations

from typing import Final

from app.domain.code import PathClass
from app.domain.files import FileEntry
from app.domain.query import Snapshot
from app.storage.pool import Pool

ENTRY: Final = """
    SELECT f.path, f.language, f.path_class, v.outcome, v.reason, v.encoding, v.bytes, v.lines, NULL AS skipped
    FROM file f JOIN file_version v ON v.repository_id = f.repository_id AND v.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3 AND f.path = $4
    UNION ALL
    SELECT k.path, NULL, 'source', '', NULL, NULL, 0, 0, k.reason
    FROM skipped_file k
    WHERE k.repository_id = $1 AND k.branch_id = $2 AND k.from_gen <= $3 AND k.to_gen > $3 AND k.path = $4
    LIMIT 1
"""


class Files:
    """The FileStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def entry(self, snapshot: Snapshot, path: str) -> FileEntry | None:
        """See ports.FileStore."""
        async with self._pool.keyed() as connection:
            row = await connection.fetchrow(ENTRY, snapshot.repository_id, snapshot.branch_id, snapshot.generation, path)
        if row is None:
            return None
        return FileEntry(**{**dict(row), "path_class": PathClass(row["path_class"])})
