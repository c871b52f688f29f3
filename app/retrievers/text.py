"""Finds code by its text: a literal exactly, a question in words by fielded BM25 over split, stemmed identifiers.

A question in words is added up from postings (``word_index.py``); only where filters may drop chunks is the database asked which pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from time import perf_counter
from typing import Final

import numpy as np

from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileKey, RankedList
from app.retrievers.files import FoundChunk, coherent_sum, file_hit, group_by_file, ranked
from app.retrievers.literal import find_exact
from app.retrievers.names import EXACT_IN_QUESTION, EXACT_SINGLE, FILE_STEM, QUESTION_IN_PATH, FoundDefinition, NameSearch
from app.retrievers.scope import CHUNK_OF, FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments
from app.retrievers.spelling import similar_words
from app.retrievers.word_index import ScoredChunks, WordIndex
from app.storage.engine import Reads
from app.storage.live_files import LiveFile, LiveFiles, LiveFilesCache, file_of
from app.storage.pool import Pool

CHUNKS_KEPT: Final = 200
"""A retriever over-fetches: agreement further down its list still counts. Measured: 60 .926, 100 .929, 200 .932."""

DECAY: Final = 0.5
BEST_CHUNK: Final = 0.3

OVERFETCH: Final = 40
"""So many more are ranked than are kept: of equal scores the first by path count."""

PASSING: Final = f"""{SCOPE}
    SELECT b.repository_id, b.chunk_id, b.score, c.file_id, f.path, f.language, f.path_class
    FROM unnest(${FIRST_FREE}::int[], ${FIRST_FREE + 1}::int[], ${FIRST_FREE + 2}::real[]) AS b(repository_id, chunk_id, score)
    {CHUNK_OF.format(repository="b.repository_id", chunk="b.chunk_id")}
    JOIN scope s ON s.repository_id = b.repository_id
    {LIVE} {SYMBOL_FILTER}
    ORDER BY b.score DESC, f.path, b.chunk_id
    LIMIT ${FIRST_FREE + 3}
"""


class TextRetriever:
    """The text modality."""

    modality: Final = Modality.TEXT

    def __init__(self, pool: Pool, index: WordIndex, names: NameSearch, live: LiveFilesCache, unindexed_scan_chunks: int) -> None:
        self._pool = pool
        self._index = index
        self._live = live
        self._names = names
        self._unindexed_scan_chunks = unindexed_scan_chunks

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        """See ports.Retriever."""
        began = perf_counter()
        if query.literal is not None:
            found = await find_exact(self._pool, query, self._unindexed_scan_chunks, self._live)
        else:
            async with self._pool.reader(keyed=True) as reads:
                found = await self._words(reads, query)
        return replace(found, took_ms=(perf_counter() - began) * 1_000)

    async def _words(self, reads: Reads, query: RetrievalQuery) -> RankedList:
        found = await self._best_chunks(reads, query, query.terms.terms)
        misspelt = not found and await similar_words(reads, query.scope, query.terms.words)
        if misspelt:
            found = [_as_fuzzy(chunk) for chunk in await self._best_chunks(reads, query, misspelt)]
        by_file = group_by_file(found)
        exact = _best_definitions(await self._names.exact(reads, query))
        exact_weight = EXACT_SINGLE if query.terms.single else EXACT_IN_QUESTION
        names = await self._names.files(reads, query)
        sums = {key: coherent_sum([chunk.hit.score for chunk in chunks], DECAY) for key, chunks in by_file.items()}
        largest_sum = max(sums.values(), default=0.0) or 1.0
        largest = max((chunks[0].hit.score for chunks in by_file.values()), default=0.0) or 1.0
        files = []
        for key, chunks in by_file.items():
            stem, pathq = names.of(key, chunks[0].file_id)
            best = chunks[0].hit.score
            score = sums[key] / largest_sum + BEST_CHUNK * best / largest + FILE_STEM * stem + QUESTION_IN_PATH * pathq
            definition = exact.get(key)
            if definition is not None:
                score += exact_weight * definition.exact
                chunks = _defining_first(chunks, definition, largest)
            defines = definition.exact if definition is not None else 0.0
            features = {"text_sum": sums[key], "text_max": best, "stem": stem, "pathq": pathq, "ex": defines}
            files.append(file_hit(chunks, score, features))
        return RankedList(
            Modality.TEXT,
            ranked(files),
            total_files=len(files),
            complete=len(found) < CHUNKS_KEPT,
            warnings=("similar_words",) if misspelt and found else (),
        )

    async def _best_chunks(self, reads: Reads, query: RetrievalQuery, terms: Mapping[str, float]) -> list[FoundChunk]:
        """The chunks that say the ``terms``, each with its weight, best first."""
        if not terms:
            return []
        live = await self._live.of(query.scope)
        scored = await self._index.score_chunks(reads, query.scope, live, terms)
        if is_filtered(query):
            return await self._passing(reads, query, scored)
        return _in_order(scored.best(CHUNKS_KEPT + OVERFETCH), live, CHUNKS_KEPT)

    async def _passing(self, reads: Reads, query: RetrievalQuery, scored: ScoredChunks) -> list[FoundChunk]:
        columns = (scored.repositories.tolist(), scored.chunks.tolist(), scored.scores.tolist())
        rows = await reads.fetch(PASSING, *scope_arguments(query), *columns, CHUNKS_KEPT)
        return _found_chunks(map(file_of, rows), [row["chunk_id"] for row in rows], [row["score"] for row in rows])


def _in_order(scored: ScoredChunks, live: Mapping[int, LiveFiles], most: int) -> list[FoundChunk]:
    """The ``most`` best of these chunks with their files, best first."""
    found: list[tuple[float, FileKey, int, LiveFile]] = []
    for repository_id in np.unique(scored.repositories).tolist():
        mine = scored.repositories == repository_id
        chunks, scores = scored.chunks[mine], scored.scores[mine]
        for file, chunk_id, score in zip(live[repository_id].of_chunks(chunks), chunks.tolist(), scores.tolist(), strict=True):
            if file is not None:
                found.append((-score, file.key, chunk_id, file))
    best = sorted(found, key=itemgetter(0, 1, 2))[:most]
    return _found_chunks([file for _, _, _, file in best], [chunk for _, _, chunk, _ in best], [-score for score, _, _, _ in best])


def _found_chunks(files: Iterable[LiveFile], chunks: Sequence[int], scores: Sequence[float]) -> list[FoundChunk]:
    hits = ChunkHit.column(chunks, scores, Evidence.column(Modality.TEXT, scores, "words"))
    return [FoundChunk._make((*file.columns, hit)) for file, hit in zip(files, hits, strict=True)]


def _as_fuzzy(chunk: FoundChunk) -> FoundChunk:
    return chunk._replace(hit=chunk.hit._replace(evidence=tuple(item._replace(fuzzy=True) for item in chunk.hit.evidence)))


def _best_definitions(definitions: Iterable[FoundDefinition]) -> dict[FileKey, FoundDefinition]:
    """Of each file the definition that is most exactly an identifier of the question."""
    best: dict[FileKey, FoundDefinition] = {}
    for definition in definitions:
        key = definition.file.key
        if definition.exact > (best[key].exact if key in best else 0.0):
            best[key] = definition
    return best


def _defining_first(chunks: list[FoundChunk], definition: FoundDefinition, lead: float) -> list[FoundChunk]:
    """The chunk that defines the name is shown before those that mention it more often."""
    evidence = Evidence(Modality.TEXT, definition.exact, "definition", line=definition.line, symbol=definition.qualified)
    first, rest = [], []
    for chunk in chunks:
        if chunk.hit.chunk_id == definition.chunk_id:
            hit = chunk.hit._replace(score=chunk.hit.score + lead, evidence=(*chunk.hit.evidence, evidence))
            first.append(chunk._replace(hit=hit))
        else:
            rest.append(chunk)
    return first + rest
