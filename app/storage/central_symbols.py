"""The definitions that most of a repository depends on: what to show somebody who sees it for the first time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.domain.ranking import SymbolSummary
from app.domain.symbol_id import format_id
from app.storage.pool import Pool

MOST_CENTRAL: Final = """
    SELECT s.symbol_id, s.name, s.qualified, s.kind, s.signature, s.start_line, s.end_line
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    JOIN centrality c ON c.repository_id = b.repository_id AND c.branch_id = b.branch_id
        AND c.from_gen <= b.current_gen AND c.to_gen > b.current_gen
    JOIN symbol s ON s.repository_id = c.repository_id AND s.symbol_id = c.symbol_id
    JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = b.branch_id AND f.file_id = s.file_id
        AND f.from_gen <= b.current_gen AND f.to_gen > b.current_gen
    WHERE r.name = $1 AND f.path_class = 'source'
    ORDER BY c.value DESC, s.symbol_id
    LIMIT $2
"""


class CentralSymbols:
    """Reads the published index of one repository."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def most_central(self, repository: str, limit: int) -> Sequence[SymbolSummary]:
        """By PageRank, highest first, of source files alone; empty for a repository that is unknown or has no index."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(MOST_CENTRAL, repository, limit)
        return [
            SymbolSummary(
                id=format_id(row["symbol_id"]),
                name=row["name"],
                qualified=row["qualified"],
                kind=row["kind"],
                signature=row["signature"],
                start_line=row["start_line"],
                end_line=row["end_line"],
            )
            for row in rows
        ]
