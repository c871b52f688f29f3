"""Finds code by meaning: the nearest by Hamming distance over 1,024 bits, re-scored with the query's full-precision vector."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.config import EmbeddingSettings
from app.domain.errors import EmbedderUnavailable, TextWithheld
from app.domain.query import Intent, Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, RankedList
from app.domain.vectors import BITS, VectorSet, asymmetric_scores, stacked, unit_signs
from app.domain.words import folded
from app.embeddings.choice import Choice
from app.embeddings.secrets import has_secret
from app.ports import EmbeddingFailed
from app.retrievers.centres import MOST_CHUNKS, FileBits, FileCentres, FileId, ReadBits, read_bits
from app.retrievers.examples import Examples, load_examples
from app.retrievers.files import FoundChunk, coherent_sum, file_hit, group_by_file, ranked
from app.retrievers.nearest import nearest
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, is_filtered, scope_arguments
from app.retrievers.vector_memory import VectorMemory, Vectors, nearest_in
from app.storage.engine import Connection
from app.storage.live_files import LiveFile, LiveFiles, LiveFilesCache, file_of
from app.storage.pool import Pool

CHUNKS_KEPT: Final = 200
MOST_CHUNKS_KEPT: Final = 12_800
DECAY: Final = 0.7
CENTRES_COMPARED: Final = 60

ChoiceOf = Callable[[VectorSet], Choice]

Found: TypeAlias = tuple[list[FoundChunk], int]
"""Chunks near to the question, and how many were found."""

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

    def __init__(self, pool: Pool, choice_of: ChoiceOf, live: LiveFilesCache, settings: EmbeddingSettings) -> None:
        """``choice_of`` gives the embedder of a vector set."""
        self._pool = pool
        self._choice_of = choice_of
        self._live = live
        self._exact_chunks = settings.exact_chunks
        self._memory = VectorMemory(pool, settings.memory_chunks)
        self._centres = FileCentres()

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        """See ports.Retriever. Raises EmbedderUnavailable and TextWithheld too; InvalidRequest for examples that are none."""
        began = perf_counter()
        vectors = query.scope.vectors
        if vectors is None or all(snapshot.embeddings_pending >= snapshot.chunks for snapshot in query.scope.snapshots):
            return RankedList(Modality.SEMANTIC, ())
        vector, excluded = await self._query_vector(query, vectors)
        live = await self._live.of(query.scope)
        known = None if is_filtered(query) else await self._memory.of(query.scope, vectors, live)
        if known is not None:
            found, complete = await _widening(query, excluded, lambda kept: _in_memory(known, live, vector, kept))
            cosines = await self._cosines(vectors, found, vector, lambda files: _bits_in_memory(known, live, files))
        else:
            async with self._pool.connection() as connection:
                found, complete = await _widening(
                    query, excluded, lambda kept: _in_database(connection, query, vectors, vector, kept, self._exact_chunks)
                )
                cosines = await self._cosines(vectors, found, vector, lambda files: read_bits(connection, vectors, files))
        files = ranked(
            file_hit(file.chunks, file.score, {"sem_sum": file.score, "centre": max(0.0, cosines.get(file.id, 0.0))}) for file in found
        )
        return RankedList(Modality.SEMANTIC, files, (perf_counter() - began) * 1000, complete=complete, total_files=len(files))

    async def _cosines(
        self, vectors: VectorSet, files: Sequence[_File], vector: NDArray[np.float32], read: ReadBits
    ) -> Mapping[FileId, float]:
        """What the best files mean as a whole, for the rescoring stage; the order stays that of their best chunks."""
        best = sorted(files, key=lambda file: -file.score)[:CENTRES_COMPARED]
        return await self._centres.cosines(vectors, [file.id for file in best], vector, read)

    async def _query_vector(self, query: RetrievalQuery, vectors: VectorSet) -> tuple[NDArray[np.float32], frozenset[tuple[int, int]]]:
        """The question's unit vector, and the examples in it. For "similar to X" it is that of X's own code, not of the sentence."""
        if query.like or query.unlike:
            async with self._pool.connection() as connection:
                examples = await load_examples(connection, query, vectors)
            return await self._with_text(query, vectors, examples), examples.chunks
        text = query.meaning
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
            direction = direction + await self._embedded(query.meaning, vectors)
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


@dataclass(frozen=True, slots=True)
class _File:
    """A file with its chunks, best first."""

    chunks: list[FoundChunk]
    score: float

    @property
    def id(self) -> FileId:
        return self.chunks[0].key.repository_id, self.chunks[0].file_id


async def _widening(
    query: RetrievalQuery, excluded: frozenset[tuple[int, int]], find: Callable[[int], Awaitable[Found]]
) -> tuple[list[_File], bool]:
    """The files of the nearest chunks, and whether there are no others: more chunks than usual when they lie in too few files."""
    kept = CHUNKS_KEPT
    enough = min(query.results, sum(snapshot.files for snapshot in query.scope.snapshots))
    while True:
        chunks, count = await find(kept + len(excluded))
        complete = count < kept + len(excluded)
        if excluded:
            chunks = [chunk for chunk in chunks if (chunk.key.repository_id, chunk.hit.chunk_id) not in excluded]
        by_file = group_by_file(chunks)
        if complete or len(by_file) >= enough or kept == MOST_CHUNKS_KEPT:
            return [_File(chunks, coherent_sum([chunk.hit.score for chunk in chunks], DECAY)) for chunks in by_file.values()], complete
        kept *= 4


async def _in_memory(known: Mapping[int, Vectors], live: Mapping[int, LiveFiles], vector: NDArray[np.float32], kept: int) -> Found:
    found: list[FoundChunk] = []
    for repository_id, at in nearest_in(known, np.packbits(vector > 0).tobytes(), kept):
        chunks = known[repository_id].chunks[at]
        files = [file for file in live[repository_id].of_chunks(chunks) if file is not None]
        found += _found_chunks(files, chunks.tolist(), known[repository_id].packed(at), vector)
    return found, len(found)


async def _in_database(
    connection: Connection, query: RetrievalQuery, vectors: VectorSet, vector: NDArray[np.float32], kept: int, exact_chunks: int
) -> Found:
    rows = await nearest(connection, query, vectors, np.packbits(vector > 0).tobytes(), kept, exact_chunks)
    packed = stacked([row["bits"].bytes for row in rows]) if rows else np.empty((0, BITS // 8), np.uint8)
    return _found_chunks([file_of(row) for row in rows], [row["chunk_id"] for row in rows], packed, vector), len(rows)


async def _bits_in_memory(
    known: Mapping[int, Vectors], live: Mapping[int, LiveFiles], files: Sequence[FileId]
) -> Mapping[FileId, FileBits]:
    found = {}
    for repository_id, file_id in files:
        first, end = live[repository_id].chunk_span(file_id)
        end = min(end, first + MOST_CHUNKS)
        packed = known[repository_id].span(first, end)
        found[repository_id, file_id] = FileBits(packed, len(packed) == end - first)
    return found


def _found_chunks(
    files: Sequence[LiveFile], chunks: Sequence[int], packed: NDArray[np.uint8], vector: NDArray[np.float32]
) -> list[FoundChunk]:
    cosines = asymmetric_scores(vector, packed)
    scores = np.square(np.maximum(cosines, 0.0))
    hits = ChunkHit.column(chunks, scores.tolist(), Evidence.column(Modality.SEMANTIC, cosines.tolist(), "meaning"))
    return [FoundChunk._make((*file.columns, hit)) for file, hit in zip(files, hits, strict=True)]
