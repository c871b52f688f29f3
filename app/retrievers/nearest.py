"""The chunks whose vectors lie nearest to a query's bits, by the cheapest of three ways that all return as many as there are.

    scan         compares every vector of the scope, then looks which of the nearest are shown and pass the filters
    filtered     compares the vectors of the chunks that pass the filters, and no others
    approximate  walks the HNSW index, and compares one by one what is not in it yet

Replaced content keeps its vectors until it is swept, and filters drop more: a way that comes back with too few is taken again, further.
``(bits <~> query) + 0`` keeps the planner from an approximate index where every vector is to be compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import asyncpg

from app.domain.globs import literal_prefix
from app.domain.query import RetrievalQuery
from app.domain.vectors import VectorSet
from app.retrievers.scope import CHUNK_OF, FILE_FILTERS, FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments
from app.storage.engine import Connection

OVERFETCH: Final = 2
_WIDEN: Final = 8
_EVERYTHING: Final = 2_000_000_000
_LEAST_CANDIDATES: Final = 200  # of the nearest 50, 100 find 93 in a hundred and 200 find 97
_MOST_CANDIDATES: Final = 1_000  # pgvector's limit of hnsw.ef_search

# Microseconds, measured by `python -m benchmarks vectors`; only their proportions matter.
_SCAN_ONE: Final = 0.6
_FILTERED_ONE: Final = 5.0
_WALK_ONE: Final = 30.0
_WALK_BEGINS: Final = 2_000.0

_COLUMNS: Final = "c.repository_id, c.chunk_id, c.file_id, e.bits, f.path, f.language, f.path_class"
_SET, _BITS, _KEPT, _FETCH, _INDEXED_TO = (FIRST_FREE + at for at in range(5))
_PREFIXES, _MOST = _FETCH, _INDEXED_TO

_FOUND: Final = f"""
    SELECT {_COLUMNS}
    FROM scope s
    JOIN nearest e ON e.repository_id = s.repository_id
    {CHUNK_OF.format(repository="s.repository_id", chunk="e.chunk_id")}
    {LIVE} {SYMBOL_FILTER}
    ORDER BY e.distance, f.path, c.chunk_id
    LIMIT ${_KEPT}
"""

SCAN: Final = f"""{SCOPE}, nearest AS MATERIALIZED (
        SELECT repository_id, chunk_id, bits, (bits <~> ${_BITS}) + 0 AS distance
        FROM embedding
        WHERE vector_set = ${_SET} AND repository_id = ANY($1) AND bits IS NOT NULL
        ORDER BY distance, repository_id, chunk_id
        LIMIT ${_FETCH}
    ) {_FOUND}
"""

APPROXIMATE: Final = f"""{SCOPE}, nearest AS MATERIALIZED (
        SELECT * FROM (
            (SELECT repository_id, chunk_id, bits, bits <~> ${_BITS} AS distance FROM embedding
             WHERE vector_set = ${_SET} AND row_id <= ${_INDEXED_TO} AND repository_id = ANY($1)
             ORDER BY bits <~> ${_BITS} LIMIT ${_FETCH})
            UNION ALL
            (SELECT repository_id, chunk_id, bits, (bits <~> ${_BITS}) + 0 AS distance FROM embedding
             WHERE vector_set = ${_SET} AND row_id > ${_INDEXED_TO} AND repository_id = ANY($1) AND bits IS NOT NULL
             ORDER BY distance LIMIT ${_FETCH})
        ) both_parts ORDER BY distance, repository_id, chunk_id LIMIT ${_FETCH}
    ) {_FOUND}
"""

# How many chunks pass the filters, and if they are few the nearest of them: the files are looked through once. With kinds or names the
# definitions of such are counted, of which a chunk may hold several. A prefix is compared in a tenth of a pattern's time.
FILTERED: Final = f"""{SCOPE}, passing AS MATERIALIZED (
        SELECT f.repository_id, f.file_id, f.path, f.language, f.path_class
        FROM scope s
        JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id
            AND f.from_gen <= s.generation AND f.to_gen > s.generation AND f.path LIKE ANY(${_PREFIXES}::text[])
            {FILE_FILTERS}
    ), counted AS MATERIALIZED (
        SELECT CASE WHEN $7::text[] IS NULL AND $8::text[] IS NULL THEN (
            SELECT coalesce(sum(v.chunks), 0)::bigint
            FROM passing f JOIN file_version v ON v.repository_id = f.repository_id AND v.file_id = f.file_id
        ) ELSE (
            SELECT count(*)
            FROM passing f JOIN symbol y ON y.repository_id = f.repository_id AND y.file_id = f.file_id
                AND ($7::text[] IS NULL OR y.kind = ANY($7)) AND ($8::text[] IS NULL OR y.name ~ ANY($8))
        ) END AS matching
    )
    SELECT n.matching, found.*
    FROM counted n
    LEFT JOIN LATERAL (
        SELECT c.repository_id, c.chunk_id, c.file_id, e.bits, f.path, f.language, f.path_class,
               (e.bits <~> ${_BITS}) + 0 AS distance
        FROM passing f
        CROSS JOIN LATERAL (
            SELECT k.repository_id, k.chunk_id, k.file_id FROM chunk k
            WHERE k.repository_id = f.repository_id AND k.file_id = f.file_id OFFSET 0
        ) c
        JOIN embedding e ON e.repository_id = c.repository_id AND e.vector_set = ${_SET} AND e.chunk_id = c.chunk_id
            AND e.bits IS NOT NULL
        WHERE n.matching <= ${_MOST} {SYMBOL_FILTER}
        ORDER BY distance, f.path, c.chunk_id
        LIMIT ${_KEPT}
    ) found ON true
    ORDER BY found.distance, found.path, found.chunk_id
"""


class Way(StrEnum):
    SCAN = "scan"
    FILTERED = "filtered"
    APPROXIMATE = "approximate"


@dataclass(frozen=True, slots=True)
class Extent:
    """What is known before a search: chunks in the scope, those that pass the filters, vectors in the index of all repositories.

    ``indexed`` is 0 without an index.
    """

    chunks: int
    matching: int
    indexed: int
    filtered: bool


def choose(extent: Extent, kept: int, exact_chunks: int) -> Way:
    """The way that is likely to be quickest; never the approximate one where all vectors of the scope may be compared."""
    costs = {Way.SCAN: extent.chunks * _SCAN_ONE}
    if extent.filtered:
        costs[Way.FILTERED] = extent.matching * _FILTERED_ONE
    if extent.indexed and extent.chunks > exact_chunks:
        met = kept * OVERFETCH * max(extent.indexed, extent.chunks) / max(extent.matching, 1)
        costs[Way.APPROXIMATE] = _WALK_BEGINS + met * _WALK_ONE
    return min(costs, key=lambda way: costs[way])


def most_to_compare(chunks: int, indexed: int, kept: int, exact_chunks: int) -> int:
    """How many chunks may pass the filters for comparing just these to be the quickest way."""
    low, high = 0, chunks
    while low < high:
        middle = (low + high + 1) // 2
        if choose(Extent(chunks, middle, indexed, filtered=True), kept, exact_chunks) is Way.FILTERED:
            low = middle
        else:
            high = middle - 1
    return low


async def nearest(
    connection: Connection, query: RetrievalQuery, vectors: VectorSet, bits: bytes, kept: int, exact_chunks: int
) -> list[asyncpg.Record]:
    """Nearest first, at most ``kept``, all of them if there are fewer: rows with what a found chunk needs, and its ``bits``."""
    matching = chunks = sum(snapshot.chunks for snapshot in query.scope.snapshots)
    indexed = vectors.indexed_to or 0
    arguments = [*scope_arguments(query), vectors.id, asyncpg.BitString.frombytes(bits), kept]
    if filtered := is_filtered(query):
        most = most_to_compare(chunks, indexed, kept, exact_chunks)
        rows = await connection.fetch(FILTERED, *arguments, path_prefixes(query), most)
        matching = rows[0]["matching"]
        if matching <= most:
            return [row for row in rows if row["chunk_id"] is not None]
    fetch = min(_EVERYTHING, int(kept * OVERFETCH * chunks / matching))
    if choose(Extent(chunks, matching, indexed, filtered), kept, exact_chunks) is Way.APPROXIMATE:
        rows = await _walk(connection, [*arguments, fetch, vectors.indexed_to], fetch)
        if len(rows) >= min(kept, matching):
            return rows
    return await _scan(connection, arguments, fetch, min(kept, matching), chunks)


def path_prefixes(query: RetrievalQuery) -> list[str]:
    """LIKE patterns that every path passes which the filters let through: the literal beginnings of the wanted globs."""
    wanted = [literal_prefix(pattern) for pattern in query.filters.paths if not pattern.startswith("!")]
    return [re.sub(r"([%_\\])", r"\\\1", prefix) + "%" for prefix in wanted] or ["%"]


async def _scan(connection: Connection, arguments: Sequence[object], fetch: int, enough: int, chunks: int) -> list[asyncpg.Record]:
    while True:
        rows = await connection.fetch(SCAN, *arguments, fetch)
        if len(rows) >= enough or fetch == _EVERYTHING:
            return rows
        fetch = fetch * _WIDEN if fetch * _WIDEN < chunks else _EVERYTHING


async def _walk(connection: Connection, arguments: Sequence[object], fetch: int) -> list[asyncpg.Record]:
    """The index is walked on until so many are found: with the defaults it would end after 40."""
    candidates = min(_MOST_CANDIDATES, max(_LEAST_CANDIDATES, fetch))
    async with connection.transaction():
        await connection.execute(
            f"SET LOCAL hnsw.ef_search = {candidates}; SET LOCAL hnsw.iterative_scan = relaxed_order; "
            f"SET LOCAL hnsw.max_scan_tuples = {max(20_000, 4 * fetch)}; SET LOCAL enable_seqscan = off"
        )
        return await connection.fetch(APPROXIMATE, *arguments)
