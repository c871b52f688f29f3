"""Finds code by meaning: exact Hamming distance over 1,024-bit embeddings, re-scored with the query's full-precision vector.

``(bits <~> query) + 0`` keeps the planner from an approximate index, which would return too few rows under a filter.
"""

from __future__ import annotations

from time import perf_counter
from typing import Final

import asyncpg
import numpy as np
from numpy.typing import NDArray

from app.domain.code import PathClass
from app.domain.query import Intent, Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileHit, FileKey, RankedList
from app.domain.vectors import asymmetric_scores
from app.domain.words import folded
from app.embeddings.cached import QueryVectorCache
from app.retrievers.files import FoundChunk, coherent_sum, file_hit, group_by_file, ranked
from app.retrievers.scope import CHUNK_OF, FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments
from app.storage.engine import Connection
from app.storage.pool import Pool

CHUNKS_KEPT: Final = 200
DECAY: Final = 0.7
OVERFETCH: Final = 2  # replaced content keeps its vectors until it is swept

NEAREST: Final = f"""{SCOPE}
    SELECT c.repository_id, c.chunk_id, c.file_id, e.bits, f.path, f.language, f.path_class
    FROM scope s
    CROSS JOIN LATERAL (
        SELECT chunk_id, bits, (bits <~> ${FIRST_FREE + 1}) + 0 AS distance
        FROM embedding
        WHERE repository_id = s.repository_id AND vector_set = ${FIRST_FREE} AND bits IS NOT NULL
        ORDER BY distance, chunk_id
        LIMIT ${FIRST_FREE + 2}
    ) e
    {CHUNK_OF.format(repository="s.repository_id", chunk="e.chunk_id")}
    {LIVE} {SYMBOL_FILTER}
    ORDER BY e.distance, f.path, c.chunk_id
    LIMIT {CHUNKS_KEPT}
"""

DEFINED: Final = f"""{SCOPE}
    SELECT c.chunk_id, e.bits
    FROM scope s
    JOIN symbol c ON c.repository_id = s.repository_id AND c.lname = ${FIRST_FREE + 2}
    {LIVE}
    JOIN embedding e ON e.repository_id = c.repository_id AND e.vector_set = ${FIRST_FREE} AND e.chunk_id = c.chunk_id
        AND e.bits IS NOT NULL
    ORDER BY c.name = ${FIRST_FREE + 1} DESC, f.path, c.ordinal
    LIMIT 1
"""


class SemanticRetriever:
    """The semantic modality."""

    modality: Final = Modality.SEMANTIC

    def __init__(self, pool: Pool, embedder: QueryVectorCache) -> None:
        self._pool = pool
        self._embedder = embedder

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        """See ports.Retriever."""
        began = perf_counter()
        if all(snapshot.embeddings_pending >= snapshot.chunks for snapshot in query.scope.snapshots):
            return RankedList(Modality.SEMANTIC, ())
        vector = await self._query_vector(query)
        async with self._pool.connection() as connection:
            rows = await connection.fetch(
                NEAREST,
                *scope_arguments(query),
                self._embedder.name,
                asyncpg.BitString.frombytes(np.packbits(vector > 0).tobytes()),
                None if is_filtered(query) else CHUNKS_KEPT * OVERFETCH,
            )
        files = _rank(rows, vector)
        return RankedList(
            Modality.SEMANTIC, files, (perf_counter() - began) * 1000, complete=len(rows) < CHUNKS_KEPT, total_files=len(files)
        )

    async def _query_vector(self, query: RetrievalQuery) -> NDArray[np.float32]:
        """The question's vector; for "similar to X" that of X's own code, not of the sentence."""
        text = query.text
        if query.classification.intent is Intent.FIND_SIMILAR and query.classification.operands:
            operand = query.classification.operands[0]
            async with self._pool.connection() as connection:
                stored = await self._stored_bits(connection, query, operand)
            if stored is not None:
                return stored
            text = operand
        return await self._embedder.query_vector(text)

    async def _stored_bits(self, connection: Connection, query: RetrievalQuery, name: str) -> NDArray[np.float32] | None:
        """The ±1 vector of the chunk that defines ``name``, None when no such chunk is embedded."""
        last = name.split(".")[-1]
        row = await connection.fetchrow(DEFINED, *scope_arguments(query), self._embedder.name, last, folded(last))
        if row is None:
            return None
        signs = np.unpackbits(np.frombuffer(row["bits"].bytes, np.uint8)).astype(np.float32) * 2 - 1
        return signs / np.float32(np.sqrt(len(signs)))


def _rank(rows: list[asyncpg.Record], vector: NDArray[np.float32]) -> tuple[FileHit, ...]:
    if not rows:
        return ()
    packed = np.frombuffer(b"".join(row["bits"].bytes for row in rows), np.uint8).reshape(len(rows), -1)
    cosines = asymmetric_scores(vector, packed)
    scores = np.square(np.maximum(cosines, 0.0))
    found = [
        FoundChunk(
            FileKey(row["repository_id"], row["path"]),
            row["file_id"],
            row["language"],
            PathClass(row["path_class"]),
            ChunkHit(row["chunk_id"], float(score), (Evidence(Modality.SEMANTIC, float(cosine), "meaning"),)),
        )
        for row, score, cosine in zip(rows, scores, cosines, strict=True)
    ]
    sums = {key: (chunks, coherent_sum((chunk.hit.score for chunk in chunks), DECAY)) for key, chunks in group_by_file(found).items()}
    return ranked(file_hit(chunks, score, {"sem_sum": score}) for chunks, score in sums.values())
