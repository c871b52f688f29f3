"""Reads chunks for boosting and display."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import asyncpg

from app.domain.query import Scope
from app.domain.ranking import Candidate, ChunkText, FileKey, FileLink, LineSpan, LoadedChunks, SymbolSummary
from app.domain.symbol_id import format_id
from app.observability import metrics
from app.storage.graph_memory import Graph, GraphMemory
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

# By file id in one direction, by path in the other: those are the indexes of the table.
LINKS = """
    WITH scope AS (SELECT * FROM unnest($1::int[], $2::int[], $3::int[]) AS s(repository_id, branch_id, generation)),
    best AS (SELECT * FROM unnest($4::int[], $5::int[], $6::text[]) AS b(repository_id, file_id, path)),
    other AS (SELECT * FROM unnest($7::int[], $8::int[], $9::text[]) AS o(repository_id, file_id, path))
    SELECT b.repository_id, b.path AS source, o.path AS target, l.edges
    FROM best b
    JOIN scope s USING (repository_id)
    JOIN file_link l ON l.repository_id = b.repository_id AND l.branch_id = s.branch_id AND l.file_id = b.file_id
        AND l.from_gen <= s.generation AND l.to_gen > s.generation
    JOIN other o ON o.repository_id = l.repository_id AND o.path = l.target
    UNION
    SELECT b.repository_id, o.path, b.path, l.edges
    FROM best b
    JOIN scope s USING (repository_id)
    JOIN file_link l ON l.repository_id = b.repository_id AND l.branch_id = s.branch_id AND l.target = b.path
        AND l.from_gen <= s.generation AND l.to_gen > s.generation
    JOIN other o ON o.repository_id = l.repository_id AND o.file_id = l.file_id
"""

DEFINED_NAMES = """
    SELECT s.repository_id, s.file_id, array_agg(DISTINCT s.name) AS names
    FROM unnest($1::int[], $2::int[]) AS f(repository_id, file_id)
    JOIN symbol s ON s.repository_id = f.repository_id AND s.file_id = f.file_id
    GROUP BY 1, 2
"""

# The definition a chunk shows: one of a wanted kind ($4), the one that was found ($3), the first type or callable that starts in it, else
# the innermost that encloses it. Of chunks that are not shown ($5) nothing is read but their lines.
CHUNKS = """
    SELECT c.repository_id, c.chunk_id, c.file_id, c.start_line, c.end_line, CASE WHEN wanted.shown THEN c.text END AS text,
           s.symbol_id, s.name, s.qualified, s.kind, s.signature, s.start_line AS symbol_start, s.end_line AS symbol_end
    FROM unnest($1::int[], $2::int[], $3::text[], $5::bool[]) AS wanted(repository_id, chunk_id, found, shown)
    JOIN chunk c ON c.repository_id = wanted.repository_id AND c.chunk_id = wanted.chunk_id
    LEFT JOIN LATERAL (
        SELECT * FROM symbol s
        WHERE wanted.shown
          AND s.repository_id = c.repository_id AND s.file_id = c.file_id AND s.start_line <= c.end_line AND s.end_line >= c.start_line
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
        self.graphs = GraphMemory(pool)

    async def centralities(self, scope: Scope, chunks: Sequence[tuple[FileKey, int]]) -> Mapping[tuple[int, int], float]:
        """See ports.ChunkStore."""
        graphs = self.graphs.of(scope)
        metrics.count_ranking_reads("centralities", in_memory=graphs is not None)
        if graphs is not None:
            by_repository: dict[int, list[int]] = defaultdict(list)
            for key, chunk_id in chunks:
                by_repository[key.repository_id].append(chunk_id)
            return {(key, chunk): value for key, ids in by_repository.items() for chunk, value in graphs[key].centralities(ids)}
        snapshots = {snapshot.repository_id: snapshot for snapshot in scope.snapshots}
        wanted = [(key.repository_id, chunk_id, snapshots[key.repository_id]) for key, chunk_id in chunks]
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(
                CENTRALITIES,
                [item[0] for item in wanted],
                [item[1] for item in wanted],
                [item[2].branch_id for item in wanted],
                [item[2].generation for item in wanted],
            )
        return {(row["repository_id"], row["chunk_id"]): row["centrality"] for row in rows}

    async def links(self, scope: Scope, best: Sequence[Candidate], others: Sequence[Candidate]) -> Sequence[FileLink]:
        """See ports.ChunkStore."""
        graphs = self.graphs.of(scope)
        metrics.count_ranking_reads("links", in_memory=graphs is not None)
        if graphs is not None:
            return sorted(_links_in_memory(graphs, best, others))
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(
                LINKS,
                *scope.columns,
                *_file_columns(best),
                *_file_columns(others),
            )
        return sorted(
            FileLink(FileKey(row["repository_id"], row["source"]), FileKey(row["repository_id"], row["target"]), row["edges"])
            for row in rows
        )

    async def defined_names(self, files: Sequence[Candidate]) -> Mapping[FileKey, frozenset[str]]:
        """See ports.ChunkStore."""
        keys = {(candidate.key.repository_id, candidate.file_id): candidate.key for candidate in files}
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(DEFINED_NAMES, [key[0] for key in keys], [key[1] for key in keys])
        return {keys[row["repository_id"], row["file_id"]]: frozenset(row["names"]) for row in rows}

    async def load(
        self,
        scope: Scope,
        chunks: Sequence[tuple[int, int]],
        found: Mapping[tuple[int, int], str] | None = None,
        kinds: Sequence[str] = (),
        others: Sequence[tuple[int, int]] = (),
    ) -> LoadedChunks:
        """See ports.ChunkStore; only chunks of the scope's repositories are read."""
        allowed = {snapshot.repository_id for snapshot in scope.snapshots}
        shown = [pair for pair in dict.fromkeys(chunks) if pair[0] in allowed]
        wanted = [*shown, *(pair for pair in others if pair[0] in allowed)]
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(
                CHUNKS,
                [pair[0] for pair in wanted],
                [pair[1] for pair in wanted],
                [(found or {}).get(pair) for pair in wanted],
                list(kinds),
                [at < len(shown) for at in range(len(wanted))],
            )
        places = [((row["repository_id"], row["chunk_id"]), row) for row in rows]
        return LoadedChunks(
            {place: _chunk_text(row) for place, row in places if row["text"] is not None},
            {place: LineSpan(row["start_line"], row["end_line"]) for place, row in places if row["text"] is None},
        )


def _chunk_text(row: asyncpg.Record) -> ChunkText:
    symbol = None
    if row["symbol_id"] is not None:
        symbol = SymbolSummary(
            id=format_id(row["symbol_id"]),
            name=row["name"],
            qualified=row["qualified"],
            kind=row["kind"],
            signature=row["signature"],
            start_line=row["symbol_start"],
            end_line=row["symbol_end"],
        )
    return ChunkText(
        repository_id=row["repository_id"],
        chunk_id=row["chunk_id"],
        file_id=row["file_id"],
        start_line=row["start_line"],
        end_line=row["end_line"],
        text=row["text"],
        symbol=symbol,
    )


def _links_in_memory(graphs: Mapping[int, Graph], best: Sequence[Candidate], others: Sequence[Candidate]) -> Iterator[FileLink]:
    for repository_id, graph in graphs.items():
        ours, theirs = ({c.file_id: c.key for c in files if c.key.repository_id == repository_id} for files in (best, others))
        keys = ours | theirs
        yield from (FileLink(keys[source], keys[target], edges) for source, target, edges in graph.links(list(ours), list(theirs)))


def _file_columns(candidates: Sequence[Candidate]) -> tuple[list[int], list[int], list[str]]:
    return (
        [candidate.key.repository_id for candidate in candidates],
        [candidate.file_id for candidate in candidates],
        [candidate.key.path for candidate in candidates],
    )
