"""Embeddings of chunks: which are missing, storing them, and the cache by which repositories share them.

In a vector set a chunk is *pending* as long as no row of ``embedding`` names it, *done* when the row has bits, *failed* when it has an
``error`` (tried again at ``retry_at``, if that is set), and *withheld* when its text must not leave this machine. Every function takes the
caller's connection, and the caller says where a transaction ends.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg
import numpy as np
from numpy.typing import NDArray

from app.domain.code import PathClass
from app.domain.vectors import BITS
from app.storage.engine import Connection

_LOCK: Final = 0x656D6264  # first key of the advisory lock that an embedding worker holds on a repository ("embd")

# What people look for first gets its vectors first.
_ORDER: Final = [
    PathClass.SOURCE,
    PathClass.TEST,
    PathClass.EXAMPLE,
    PathClass.DOCUMENTATION,
    PathClass.CONFIGURATION,
    PathClass.VENDOR,
    PathClass.GENERATED,
]

_SHOWN_BY_A_REF = """
    EXISTS (SELECT FROM ref r WHERE r.repository_id = f.repository_id AND r.generation >= f.from_gen AND r.generation < f.to_gen)
"""

_LIVE_CHUNK = f"""
    file f
    JOIN branch b ON b.repository_id = f.repository_id AND b.branch_id = f.branch_id
        AND (f.from_gen <= b.current_gen AND f.to_gen > b.current_gen OR {_SHOWN_BY_A_REF})
    JOIN chunk c ON c.repository_id = f.repository_id AND c.file_id = f.file_id
    LEFT JOIN embedding e ON e.repository_id = c.repository_id AND e.chunk_id = c.chunk_id AND e.vector_set = $2
"""

# The symbol of a chunk: the first that it defines, else the innermost around its first line.
_PENDING = f"""
    WITH waiting AS (
        SELECT c.chunk_id, min(f.path) AS path, min(array_position($4::text[], f.path_class)) AS position
        FROM {_LIVE_CHUNK}
        WHERE f.repository_id = $1 AND (e.chunk_id IS NULL OR e.retry_at <= now())
        GROUP BY c.chunk_id
        ORDER BY position, c.chunk_id
        LIMIT $3
    )
    SELECT w.chunk_id, w.path, coalesce(named.qualified, '') AS symbol, c.text
    FROM waiting w
    JOIN chunk c ON c.repository_id = $1 AND c.chunk_id = w.chunk_id
    LEFT JOIN LATERAL (
        SELECT s.qualified
        FROM symbol s
        WHERE s.repository_id = $1 AND s.file_id = c.file_id
            AND (s.chunk_id = c.chunk_id OR (s.start_line <= c.start_line AND s.end_line >= c.start_line))
        ORDER BY s.chunk_id <> c.chunk_id, CASE WHEN s.chunk_id = c.chunk_id THEN s.ordinal ELSE -s.ordinal END
        LIMIT 1
    ) named ON true
    ORDER BY w.position, w.chunk_id
"""

# A chunk may have been swept since it was read; its vector would stay behind for ever.
_STORE = f"""
    INSERT INTO embedding (repository_id, vector_set, chunk_id, bits)
    SELECT $1, $2, r.chunk_id, r.bits
    FROM unnest($3::int[], $4::bit({BITS})[]) AS r (chunk_id, bits)
    JOIN chunk c ON c.repository_id = $1 AND c.chunk_id = r.chunk_id
    ON CONFLICT (repository_id, vector_set, chunk_id)
    DO UPDATE SET bits = excluded.bits, error = NULL, withheld = NULL, retry_at = NULL
"""

# After 5 minutes, an hour and half a day; then never again.
_RECORD_FAILURE = """
    INSERT INTO embedding AS e (repository_id, vector_set, chunk_id, error, attempts, retry_at)
    SELECT $1, $2, c.chunk_id, $4, 1, now() + interval '5 minutes'
    FROM chunk c WHERE c.repository_id = $1 AND c.chunk_id = ANY($3::int[])
    ON CONFLICT (repository_id, vector_set, chunk_id) DO UPDATE
    SET error = excluded.error, attempts = e.attempts + 1, withheld = NULL, bits = NULL,
        retry_at = CASE e.attempts WHEN 1 THEN now() + interval '1 hour' WHEN 2 THEN now() + interval '12 hours' END
"""

_WITHHOLD = """
    INSERT INTO embedding (repository_id, vector_set, chunk_id, withheld)
    SELECT $1, $2, c.chunk_id, $4 FROM chunk c WHERE c.repository_id = $1 AND c.chunk_id = ANY($3::int[])
    ON CONFLICT (repository_id, vector_set, chunk_id) DO UPDATE
    SET withheld = excluded.withheld, error = NULL, retry_at = NULL, bits = NULL
"""

_CACHED = """
    WITH found AS (
        SELECT text_hash, bits FROM embedding_cache WHERE embedder = $1 AND text_hash = ANY($2::bytea[])
    ), aged AS (
        SELECT text_hash FROM embedding_cache
        WHERE embedder = $1 AND text_hash = ANY($2::bytea[]) AND used_on < current_date FOR UPDATE SKIP LOCKED
    ), touched AS (
        UPDATE embedding_cache c SET used_on = current_date FROM aged WHERE c.embedder = $1 AND c.text_hash = aged.text_hash
    )
    SELECT text_hash, bits FROM found
"""

_COUNT = f"""
    SELECT count(*) FILTER (WHERE e.chunk_id IS NULL) AS pending, count(e.error) AS failed, count(e.withheld) AS withheld
    FROM {_LIVE_CHUNK}
    WHERE f.repository_id = $1
"""

_REFRESH_COUNTS = f"""
    WITH counted AS (
        SELECT b.branch_id, count(*) FILTER (WHERE e.chunk_id IS NULL) AS pending, count(e.error) AS failed,
            count(e.withheld) AS withheld
        FROM {_LIVE_CHUNK}
        WHERE f.repository_id = $1
        GROUP BY b.branch_id
    )
    UPDATE branch SET embeddings_pending = coalesce(counted.pending, 0), embeddings_failed = coalesce(counted.failed, 0),
        embeddings_withheld = coalesce(counted.withheld, 0)
    FROM branch same LEFT JOIN counted ON counted.branch_id = same.branch_id
    WHERE branch.repository_id = $1 AND same.repository_id = $1 AND same.branch_id = branch.branch_id
    RETURNING branch.embeddings_pending AS pending, branch.embeddings_failed AS failed, branch.embeddings_withheld AS withheld
"""

# Repositories in which a chunk waits, or a failure may be tried again.
_WAITING = f"""
    SELECT DISTINCT f.repository_id
    FROM branch b
    JOIN file f ON f.repository_id = b.repository_id AND f.branch_id = b.branch_id
        AND (f.from_gen <= b.current_gen AND f.to_gen > b.current_gen OR {_SHOWN_BY_A_REF})
    JOIN chunk c ON c.repository_id = f.repository_id AND c.file_id = f.file_id
    LEFT JOIN embedding e ON e.repository_id = c.repository_id AND e.chunk_id = c.chunk_id AND e.vector_set = $1
    WHERE e.chunk_id IS NULL
"""

_KNOWN_TO_WAIT = """
    SELECT repository_id FROM branch WHERE embeddings_pending > 0
    UNION
    SELECT repository_id FROM embedding WHERE vector_set = $1 AND retry_at <= now()
"""


@dataclass(frozen=True, slots=True)
class PendingChunk:
    """A chunk without a vector; ``symbol`` is the qualified name of what it defines or lies in, or empty."""

    chunk_id: int
    path: str
    symbol: str
    text: str


@dataclass(frozen=True, slots=True)
class EmbeddingCounts:
    """Live chunks that wait, that failed and that are kept from the provider, over all branches of a repository."""

    pending: int
    failed: int
    withheld: int = 0


async def waiting(connection: Connection, vector_set: int) -> list[int]:
    """The repositories with chunks that wait for a vector of this set. Reads every live chunk's key."""
    return [row["repository_id"] for row in await connection.fetch(_WAITING, vector_set)]


async def known_to_wait(connection: Connection, serving: int) -> list[int]:
    """The same for the set that serves, by the counts that are kept of it; with those in which a failure may be tried again by now."""
    return [row["repository_id"] for row in await connection.fetch(_KNOWN_TO_WAIT, serving)]


async def repositories(connection: Connection) -> list[int]:
    """Every repository."""
    return [row["id"] for row in await connection.fetch("SELECT id FROM repository ORDER BY id")]


async def pending(connection: Connection, repository_id: int, vector_set: int, limit: int) -> list[PendingChunk]:
    """The next ``limit`` chunks of published files that wait or may be tried again: source before tests before documentation, then by
    id."""
    rows = await connection.fetch(_PENDING, repository_id, vector_set, limit, _ORDER)
    return [PendingChunk(row["chunk_id"], row["path"], row["symbol"], row["text"]) for row in rows]


async def store(connection: Connection, repository_id: int, vector_set: int, chunk_ids: Sequence[int], packed: NDArray[np.uint8]) -> None:
    """Store the packed bits, shape (n, 128), of n distinct chunks; they replace what was there."""
    await connection.execute(_STORE, repository_id, vector_set, list(chunk_ids), [bit_string(row) for row in packed])


async def record_failure(connection: Connection, repository_id: int, vector_set: int, chunk_ids: Sequence[int], reason: str) -> None:
    """Say that these chunks could not be embedded; they wait no longer, but are tried again after a while, a few times."""
    await connection.execute(_RECORD_FAILURE, repository_id, vector_set, list(chunk_ids), reason.replace("\0", ""))


async def withhold(connection: Connection, repository_id: int, vector_set: int, chunk_ids: Sequence[int], reason: str) -> None:
    """Say that the text of these chunks must not leave this machine."""
    await connection.execute(_WITHHOLD, repository_id, vector_set, list(chunk_ids), reason)


async def refresh_counts(connection: Connection, repository_id: int, vector_set: int) -> EmbeddingCounts:
    """Bring the counts that ``branch`` keeps up to date, in a transaction of its own or the caller's."""
    async with connection.transaction():
        # Locked first: a publication that runs at the same time would otherwise be counted by the generation before it.
        await connection.execute("SELECT FROM branch WHERE repository_id = $1 ORDER BY branch_id FOR UPDATE", repository_id)
        rows = await connection.fetch(_REFRESH_COUNTS, repository_id, vector_set)
    return EmbeddingCounts(*(sum(row[name] for row in rows) for name in ("pending", "failed", "withheld")))


async def recount(connection: Connection, repository_id: int) -> None:
    """The same for the set that serves, whichever it is, within the caller's transaction: what becomes visible with it is counted."""
    serving = await connection.fetchval("SELECT id FROM vector_set WHERE state = 'serving'")
    if serving is not None:
        await refresh_counts(connection, repository_id, serving)


async def count(connection: Connection, repository_id: int, vector_set: int) -> EmbeddingCounts:
    """The same counts for a set that does not serve yet."""
    row = await connection.fetchrow(_COUNT, repository_id, vector_set)
    assert row is not None
    return EmbeddingCounts(row["pending"], row["failed"], row["withheld"])


async def cached(connection: Connection, embedder: str, hashes: Collection[bytes]) -> dict[bytes, NDArray[np.uint8]]:
    """Packed bits, shape (128,), of those texts that any repository has embedded already, by the hash of the text."""
    rows = await connection.fetch(_CACHED, embedder, list(hashes))
    return {row["text_hash"]: np.frombuffer(row["bits"].bytes, np.uint8) for row in rows}


async def remember(connection: Connection, embedder: str, vectors: Mapping[bytes, NDArray[np.uint8]]) -> None:
    """Put packed bits into the cache, by the hash of the text."""
    # In order: workers of two repositories that store the same texts would otherwise wait for each other.
    hashes = sorted(vectors)
    await connection.execute(
        f"INSERT INTO embedding_cache (embedder, text_hash, bits) SELECT $1, * FROM unnest($2::bytea[], $3::bit({BITS})[]) "
        "ON CONFLICT DO NOTHING",
        embedder,
        hashes,
        [bit_string(vectors[key]) for key in hashes],
    )


async def try_lock(connection: Connection, repository_id: int) -> bool:
    """Become the only one that embeds this repository, until ``unlock`` or the connection's end; False when another one is."""
    return bool(await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", _LOCK, repository_id))


async def unlock(connection: Connection, repository_id: int) -> None:
    await connection.execute("SELECT pg_advisory_unlock($1, $2)", _LOCK, repository_id)


def bit_string(packed: NDArray[np.uint8]) -> asyncpg.BitString:
    """One row of packed bits, shape (128,), as a value of ``bit(1024)``."""
    return asyncpg.BitString.frombytes(packed.tobytes(), bitlength=packed.size * 8)
