"""Finds code by meaning: the nearest by Hamming distance over 1,024 bits, re-scored with the query's full-precision vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

import asyncpg
import numpy as np
from numpy.typing import NDArray

from app.domain.code import PathClass
from app.domain.errors import EmbedderUnavailable, TextWithheld
from app.domain.query import Intent, Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileHit, FileKey, RankedList
from app.domain.vectors import VectorSet, asymmetric_scores, stacked, unit_signs
from app.domain.words import folded
from app.embeddings.choice import Choice
from app.embeddings.secrets import has_secret
from app.ports import EmbeddingFailed
from app.retrievers.centres import FileCentres
from app.retrievers.examples import Examples, load_examples
from app.retrievers.files import FoundChunk, coherent_sum, file_hit, group_by_file, ranked
from app.retrievers.nearest import nearest
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, scope_arguments
from app.storage.engine import Connection
from app.storage.pool import Pool

CHUNKS_KEPT: Final = 200
MOST_CHUNKS_KEPT: Final = 12_800
DECAY: Final = 0.7
CENTRES_COMPARED: Final = 60

ChoiceOf = Callable[[VectorSet], Choice]

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

    def __init__(self, pool: Pool, choice_of: ChoiceOf, exact_chunks: int) -> None:
        """``choice_of`` gives the embedder of a vector set. In scopes of at most ``exact_chunks`` chunks every vector is compared."""
        self._pool = pool
        self._choice_of = choice_of
        self._exact_chunks = exact_chunks
        self._centres = FileCentres()

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        """See ports.Retriever. Raises EmbedderUnavailable and TextWithheld too; InvalidRequest for examples that are none."""
        began = perf_counter()
        vectors = query.scope.vectors
        if vectors is None or all(snapshot.embeddings_pending >= snapshot.chunks for snapshot in query.scope.snapshots):
            return RankedList(Modality.SEMANTIC, ())
        vector, excluded = await self._query_vector(query, vectors)
        async with self._pool.connection() as connection:
            rows, complete = await self._find(connection, query, vectors, vector, excluded)
            files = await self._with_centres(connection, vectors, _rank(rows, vector), vector)
        return RankedList(Modality.SEMANTIC, files, (perf_counter() - began) * 1000, complete=complete, total_files=len(files))

    async def _with_centres(
        self, connection: Connection, vectors: VectorSet, files: tuple[FileHit, ...], vector: NDArray[np.float32]
    ) -> tuple[FileHit, ...]:
        """The best files with what they mean as a whole, for the rescoring stage; the order stays that of their best chunks."""
        best = [(file.key.repository_id, file.file_id) for file in files[:CENTRES_COMPARED]]
        cosines = await self._centres.cosines(connection, vectors, best, vector)
        return tuple(
            replace(file, features={**file.features, "centre": max(0.0, cosines.get((file.key.repository_id, file.file_id), 0.0))})
            for file in files
        )

    async def _find(
        self,
        connection: Connection,
        query: RetrievalQuery,
        vectors: VectorSet,
        vector: NDArray[np.float32],
        excluded: frozenset[tuple[int, int]],
    ) -> tuple[list[asyncpg.Record], bool]:
        """The chunks to rank, and whether there are no others: more than usual when they lie in too few files."""
        bits = np.packbits(vector > 0).tobytes()
        kept = CHUNKS_KEPT
        enough = min(query.results, sum(snapshot.files for snapshot in query.scope.snapshots))
        while True:
            rows = await nearest(connection, query, vectors, bits, kept + len(excluded), self._exact_chunks)
            complete = len(rows) < kept + len(excluded)
            rows = [row for row in rows if (row["repository_id"], row["chunk_id"]) not in excluded]
            files = {(row["repository_id"], row["path"]) for row in rows}
            if complete or len(files) >= enough or kept == MOST_CHUNKS_KEPT:
                return rows, complete
            kept *= 4

    async def _query_vector(self, query: RetrievalQuery, vectors: VectorSet) -> tuple[NDArray[np.float32], frozenset[tuple[int, int]]]:
        """The question's unit vector, and the examples in it. For "similar to X" it is that of X's own code, not of the sentence."""
        if query.like or query.unlike:
            async with self._pool.connection() as connection:
                examples = await load_examples(connection, query, vectors)
            return await self._with_text(query, vectors, examples), examples.chunks
        text = query.text
        if query.classification.intent is Intent.FIND_SIMILAR and query.classification.operands:
            text = query.classification.operands[0]
            async with self._pool.connection() as connection:
                stored = await self._stored_bits(connection, query, vectors, text)
            if stored is not None:
                return stored, frozenset()
        return await self._embedded(text, vectors), frozenset()

    async def _with_text(self, query: RetrievalQuery, vectors: VectorSet, examples: Examples) -> NDArray[np.float32]:
        direction = examples.direction
        if query.text:
            direction = direction + await self._embedded(query.text, vectors)
        length = np.linalg.norm(direction)
        unit: NDArray[np.float32] = direction / length if length else direction
        return unit

    async def _embedded(self, text: str, vectors: VectorSet) -> NDArray[np.float32]:
        choice = self._choice_of(vectors)
        if choice.remote and has_secret(text):
            raise TextWithheld
        try:
            return await choice.embedder.query_vector(text)
        except EmbeddingFailed as error:
            raise EmbedderUnavailable(str(error)) from error

    async def _stored_bits(
        self, connection: Connection, query: RetrievalQuery, vectors: VectorSet, name: str
    ) -> NDArray[np.float32] | None:
        """The ±1 vector of the chunk that defines ``name``, None when no such chunk is embedded."""
        last = name.split(".")[-1]
        row = await connection.fetchrow(DEFINED, *scope_arguments(query), vectors.id, last, folded(last))
        return None if row is None else unit_signs(stacked([row["bits"].bytes]))[0]


def _rank(rows: Sequence[asyncpg.Record], vector: NDArray[np.float32]) -> tuple[FileHit, ...]:
    if not rows:
        return ()
    cosines = asymmetric_scores(vector, stacked([row["bits"].bytes for row in rows]))
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
