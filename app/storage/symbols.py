"""Reads symbols by centrality."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.ranking import SymbolSummary
from app.domain.symbol_id import format_id
from app.storage.pool import Pool

MOST_CENTRAL = """
    SELECT s.symbol_id, s.name, s.qualified, s.kind, s.signature, s.start_line, s.end_line
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    JOIN centrality z ON z.repository_id = r.id AND z.branch_id = b.branch_id AND z.from_gen <= b.current_gen AND z.to_gen > b.current_gen
    JOIN symbol s ON s.repository_id = r.id AND s.symbol_id = z.symbol_id
    JOIN file f ON f.repository_id = r.id AND f.branch_id = b.branch_id AND f.file_id = s.file_id AND f.from_gen <= b.current_gen
        AND f.to_gen > b.current_gen AND f.path_class = 'source'
    WHERE r.name = $1
    ORDER BY z.value DESC, f.path, s.ordinal
    LIMIT $2
"""


class Symbols:
    """Reads the symbol table of current generations."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def most_central(self, repository: str, limit: int) -> Sequence[SymbolSummary]:
        """The definitions in source files that most of the repository depends on."""
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
