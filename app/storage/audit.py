"""The log of what was done to the index and by administrators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import asyncpg

from app.domain.access import AuditEntry
from app.storage.pool import Pool

INSERT: Final = """
    INSERT INTO audit (actor, key_id, action, target, status, address, request_id) VALUES ($1, $2, $3, $4, $5, $6, $7)
"""

LIST: Final = """
    SELECT id, at, actor, key_id, action, target, status, address, request_id FROM audit
    WHERE ($1::bigint IS NULL OR id < $1) AND ($2::text IS NULL OR key_id = $2) AND ($3::text IS NULL OR action = $3)
    ORDER BY id DESC LIMIT $4
"""


class Audit:
    """The AuditStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def record(self, entry: AuditEntry) -> None:
        """See ports.AuditStore."""
        async with self._pool.owner() as connection:
            await connection.execute(
                INSERT, entry.actor, entry.key_id, entry.action, entry.target, entry.status, entry.address, entry.request_id
            )

    async def list(self, before: int | None, key_id: str | None, action: str | None, limit: int) -> Sequence[AuditEntry]:
        """See ports.AuditStore."""
        async with self._pool.owner() as connection:
            return [_entry(row) for row in await connection.fetch(LIST, before, key_id, action, limit)]


def _entry(row: asyncpg.Record) -> AuditEntry:
    return AuditEntry(**row)
