"""Code that is given as an example, by the id of a chunk or of a symbol: its stored bits are the question, no model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.chunk_id import parse_chunk_id
from app.domain.errors import InvalidRequest, QueryNotServable
from app.domain.query import RetrievalQuery
from app.domain.symbol_id import parse_id
from app.domain.vectors import VectorSet, stacked, unit_signs
from app.storage.engine import Connection

UNLIKE_WEIGHT: Final = 0.5
"""Rocchio's γ beside a β of 1: what is wanted says more than what is not."""

_SYMBOL_ID: Final = re.compile(r"[0-9a-f]{16}")
_MOST_CHUNKS: Final = 50  # of a symbol: a large class is known by its beginning

# Every chunk of the scope's generations that an id names, with its bits if it has any yet.
EXAMPLES: Final = f"""
    WITH scope AS (
        SELECT * FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
    ), named AS (
        SELECT w.id, w.repository_id, w.chunk_id
        FROM unnest($4::text[], $5::int[], $6::int[]) AS w(id, repository_id, chunk_id)
        UNION ALL
        SELECT w.id, c.repository_id, c.chunk_id
        FROM unnest($7::text[], $8::bigint[]) AS w(id, symbol_id)
        CROSS JOIN scope s
        JOIN symbol y ON y.repository_id = s.repository_id AND y.symbol_id = w.symbol_id
        CROSS JOIN LATERAL (
            SELECT k.repository_id, k.chunk_id FROM chunk k
            WHERE k.repository_id = y.repository_id AND k.file_id = y.file_id
              AND k.start_line <= y.end_line AND k.end_line >= y.start_line
            ORDER BY k.start_line LIMIT {_MOST_CHUNKS}
        ) c
    )
    SELECT DISTINCT n.id, n.repository_id, n.chunk_id, e.bits
    FROM named n
    JOIN scope s ON s.repository_id = n.repository_id
    JOIN chunk c ON c.repository_id = n.repository_id AND c.chunk_id = n.chunk_id
    JOIN file f ON f.repository_id = c.repository_id AND f.file_id = c.file_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
    LEFT JOIN embedding e ON e.repository_id = n.repository_id AND e.vector_set = $9 AND e.chunk_id = n.chunk_id
    ORDER BY n.repository_id, n.chunk_id
"""


@dataclass(frozen=True, slots=True)
class Examples:
    """``direction``: the sum of what is wanted less what is not, shape (bits,). ``chunks``: the examples themselves, which are no finds."""

    direction: NDArray[np.float32]
    chunks: frozenset[tuple[int, int]]


async def load_examples(connection: Connection, query: RetrievalQuery, vectors: VectorSet) -> Examples:
    """Raises InvalidRequest for an id that names nothing in the scope, QueryNotServable for code that has no vector yet."""
    like, liked = await _mean(connection, query, vectors, query.like, "like")
    unlike, unliked = await _mean(connection, query, vectors, query.unlike, "unlike")
    return Examples(like - np.float32(UNLIKE_WEIGHT) * unlike, liked | unliked)


async def _mean(
    connection: Connection, query: RetrievalQuery, vectors: VectorSet, ids: Sequence[str], field: str
) -> tuple[NDArray[np.float32], frozenset[tuple[int, int]]]:
    """The mean of the examples, each of them the mean of its chunks; zero without examples."""
    if not ids:
        return np.zeros(1, np.float32), frozenset()
    symbols = [text for text in ids if _SYMBOL_ID.fullmatch(text)]
    chunks = {text: parse_chunk_id(text) for text in ids if text not in symbols}
    rows = await connection.fetch(
        EXAMPLES,
        *query.scope.columns,
        list(chunks),
        [repository_id for repository_id, _ in chunks.values()],
        [chunk_id for _, chunk_id in chunks.values()],
        symbols,
        [parse_id(text) for text in symbols],
        vectors.id,
    )
    bits: dict[str, list[bytes]] = {row["id"]: [] for row in rows}
    for row in rows:
        if row["bits"] is not None:
            bits[row["id"]].append(row["bits"].bytes)
    for text in ids:
        if text not in bits:
            raise InvalidRequest(f"{text!r} is neither a chunk nor a symbol of the repositories that are searched", field=field)
        if not bits[text]:
            raise QueryNotServable(f"{text!r} has no embedding, or none yet", field=field)
    means = [unit_signs(stacked(parts)).mean(axis=0) for parts in bits.values()]
    return np.mean(means, axis=0, dtype=np.float32), frozenset((row["repository_id"], row["chunk_id"]) for row in rows)
