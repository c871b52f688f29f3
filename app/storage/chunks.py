"""Reads chunks for boosting and display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.domain.query import Scope
from app.domain.ranking import ChunkText, FileKey, SymbolSummary
from app.domain.symbol_id import format_id
from app.storage.pool import Pool

# Lateral: joined flat, the planner pairs every wanted chunk with the whole centrality table.
CENTRALITIES = """
    SELECT wanted.repository_id, wanted.chunk_id, best.centrality
    FROM unnest($1::int[], $2::int[], $3::int[], $4::int[]) AS wanted(repository_id, chunk_id, branch_id, generation)
    CROSS JOIN LATERAL (
        SELECT max(c.value) AS centrality
        FROM symbol s
        JOIN centrality c ON c.repository_id = s.repository_id AND c.branch_id = wanted.branch_id AND c.symbol_id = s.symbol_id
            AND c.from_gen <= wanted.generation AND c.to_gen > wanted.generation
        WHERE s.repository_id = wanted.repository_id AND s.chunk_id = wanted.chunk_id
    ) best
    WHERE best.centrality IS NOT NULL
"""

# The definition a chunk shows: one of a wanted kind ($4), the one that was found ($3), the first type or callable that starts in it, else
# the innermost that encloses it.
CHUNKS = """
    SELECT c.repository_id, c.chunk_id, c.file_id, c.start_line, c.end_line, c.text,
           s.symbol_id, s.name, s.qualified, s.kind, s.signature, s.start_line AS symbol_start, s.end_line AS symbol_end
    FROM unnest($1::int[], $2::int[], $3::text[]) AS wanted(repository_id, chunk_id, found)
    JOIN chunk c ON c.repository_id = wanted.repository_id AND c.chunk_id = wanted.chunk_id
    LEFT JOIN LATERAL (
        SELECT * FROM symbol s
        WHERE s.repository_id = c.repository_id AND s.file_id = c.file_id AND s.start_line <= c.end_line AND s.end_line >= c.start_line
        ORDER BY s.kind = ANY($4::text[]) DESC,
                 s.qualified = wanted.found DESC NULLS LAST,
                 s.start_line >= c.start_line DESC,
                 s.kind = ANY('{variable,constant,field,enum_member,property}') ASC,
                 CASE WHEN s.start_line >= c.start_line THEN s.start_line ELSE -s.start_line END,
                 s.ordinal
        LIMIT 1
    ) s ON true
"""


class Chunks:
    """The ChunkStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def centralities(self, scope: Scope, chunks: Sequence[tuple[FileKey, int]]) -> Mapping[tuple[int, int], float]:
        """See ports.ChunkStore."""
        snapshots = {snapshot.repository_id: snapshot for snapshot in scope.snapshots}
        wanted = [(key.repository_id, chunk_id, snapshots[key.repository_id]) for key, chunk_id in chunks]
        async with self._pool.connection() as connection:
            rows = await connection.fetch(
                CENTRALITIES,
                [item[0] for item in wanted],
                [item[1] for item in wanted],
                [item[2].branch_id for item in wanted],
                [item[2].generation for item in wanted],
            )
        return {(row["repository_id"], row["chunk_id"]): row["centrality"] for row in rows}

    async def load(
        self, scope: Scope, chunks: Sequence[tuple[int, int]], found: Mapping[tuple[int, int], str] | None = None, kinds: Sequence[str] = ()
    ) -> Mapping[tuple[int, int], ChunkText]:
        """See ports.ChunkStore; only chunks of the scope's repositories are read."""
        allowed = {snapshot.repository_id for snapshot in scope.snapshots}
        wanted = [pair for pair in dict.fromkeys(chunks) if pair[0] in allowed]
        async with self._pool.connection() as connection:
            rows = await connection.fetch(
                CHUNKS,
                [pair[0] for pair in wanted],
                [pair[1] for pair in wanted],
                [(found or {}).get(pair) for pair in wanted],
                list(kinds),
            )
        return {
            (row["repository_id"], row["chunk_id"]): ChunkText(
                repository_id=row["repository_id"],
                chunk_id=row["chunk_id"],
                file_id=row["file_id"],
                start_line=row["start_line"],
                end_line=row["end_line"],
                text=row["text"],
                symbol=None
                if row["symbol_id"] is None
                else SymbolSummary(
                    id=format_id(row["symbol_id"]),
                    name=row["name"],
                    qualified=row["qualified"],
                    kind=row["kind"],
                    signature=row["signature"],
                    start_line=row["symbol_start"],
                    end_line=row["symbol_end"],
                ),
            )
            for row in rows
        }
