"""Finds code by its text: a literal exactly, a question in words by fielded BM25 over split, stemmed identifiers.

The words' weights are stored saturated (``indexing/postings.py``), so a question is one aggregate over arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Final

from app.domain.code import PathClass
from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileKey, RankedList
from app.retrievers.files import FoundChunk, coherent_sum, file_hit, group_by_file, ranked
from app.retrievers.lexicon import Lexicon
from app.retrievers.literal import find_exact
from app.retrievers.names import EXACT_IN_QUESTION, EXACT_SINGLE, FILE_STEM, QUESTION_IN_PATH, FoundDefinition, NameSearch
from app.retrievers.scope import CHUNK_OF, FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments
from app.retrievers.spelling import similar_words
from app.storage.engine import Connection
from app.storage.pool import Pool

CHUNKS_KEPT: Final = 200
DECAY: Final = 0.5
BEST_CHUNK: Final = 0.3

# Replaced content keeps its postings until it is swept: rank more than are kept, then drop the dead ones.
OVERFETCH: Final = 3

# ``worth`` is weight × idf of a term, worked out once per term: inside the sum it would be worked out for every posting.
WORDS: Final = f"""{SCOPE},
    sizes AS (
        SELECT g.repository_id, sum(g.chunks)::float8 AS chunks
        FROM segment g JOIN scope s ON s.repository_id = g.repository_id GROUP BY 1
    ),
    found AS (
        SELECT p.repository_id, p.chunks, p.weights, t.weight,
               (sum(cardinality(p.chunks)) OVER (PARTITION BY p.repository_id, p.term))::float8 AS frequency
        FROM unnest(${FIRST_FREE}::text[], ${FIRST_FREE + 1}::real[]) AS t(term, weight)
        CROSS JOIN scope s
        JOIN posting p ON p.repository_id = s.repository_id AND p.term = t.term
    ),
    postings AS MATERIALIZED (
        SELECT f.repository_id, f.chunks, f.weights,
               f.weight * ln(1 + (greatest(z.chunks - f.frequency, 0) + 0.5::float8) / (f.frequency + 0.5::float8)) / 1000 AS worth
        FROM found f JOIN sizes z ON z.repository_id = f.repository_id
    ),
    scored AS (
        SELECT p.repository_id, u.chunk_id, sum(p.worth * u.weight) AS score
        FROM postings p
        CROSS JOIN LATERAL unnest(p.chunks, p.weights) AS u(chunk_id, weight)
        GROUP BY 1, 2
    ),
    best AS MATERIALIZED (SELECT * FROM scored ORDER BY score DESC LIMIT ${FIRST_FREE + 2})
    SELECT b.repository_id, b.chunk_id, b.score, c.file_id, f.path, f.language, f.path_class
    FROM best b
    {CHUNK_OF.format(repository="b.repository_id", chunk="b.chunk_id")}
    JOIN scope s ON s.repository_id = b.repository_id
    {LIVE} {SYMBOL_FILTER}
    ORDER BY b.score DESC, f.path, b.chunk_id
    LIMIT ${FIRST_FREE + 3}
"""


class TextRetriever:
    """The text modality."""

    modality: Final = Modality.TEXT

    def __init__(self, pool: Pool, lexicon: Lexicon, unindexed_scan_chunks: int) -> None:
        self._pool = pool
        self._names = NameSearch(lexicon)
        self._unindexed_scan_chunks = unindexed_scan_chunks

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        """See ports.Retriever."""
        began = perf_counter()
        async with self._pool.connection() as connection:
            if query.literal is not None:
                found = await find_exact(connection, query, self._unindexed_scan_chunks)
            else:
                found = await self._words(connection, query)
        return replace(found, took_ms=(perf_counter() - began) * 1_000)

    async def _words(self, connection: Connection, query: RetrievalQuery) -> RankedList:
        found = await self._best_chunks(connection, query, query.terms.terms)
        misspelt = not found and await similar_words(connection, query.scope, query.terms.words)
        if misspelt:
            found = [_as_fuzzy(chunk) for chunk in await self._best_chunks(connection, query, misspelt)]
        by_file = group_by_file(found)
        exact = _best_definitions(await self._names.definitions(connection, query, []))
        exact_weight = EXACT_SINGLE if query.terms.single else EXACT_IN_QUESTION
        matches = await self._names.matches(connection, query)
        names = {file.key: file for file in await self._names.files(connection, query, matches)}
        sums = {key: coherent_sum((chunk.hit.score for chunk in chunks), DECAY) for key, chunks in by_file.items()}
        largest_sum = max(sums.values(), default=0.0) or 1.0
        largest = max((chunks[0].hit.score for chunks in by_file.values()), default=0.0) or 1.0
        files = []
        for key, chunks in by_file.items():
            named = names.get(key)
            stem, pathq = (named.stem, named.pathq) if named else (0.0, 0.0)
            best = chunks[0].hit.score
            score = sums[key] / largest_sum + BEST_CHUNK * best / largest + FILE_STEM * stem + QUESTION_IN_PATH * pathq
            definition = exact.get(key)
            if definition is not None:
                score += exact_weight * definition.exact
                chunks = _defining_first(chunks, definition, largest)
            files.append(file_hit(chunks, score, {"text_sum": sums[key], "text_max": best, "stem": stem, "pathq": pathq}))
        return RankedList(
            Modality.TEXT,
            ranked(files),
            total_files=len(files),
            complete=len(found) < CHUNKS_KEPT,
            warnings=("similar_words",) if misspelt and found else (),
        )

    async def _best_chunks(self, connection: Connection, query: RetrievalQuery, terms: Mapping[str, float]) -> list[FoundChunk]:
        """The chunks that say the ``terms``, each with its weight, best first."""
        if not terms:
            return []
        rows = await connection.fetch(
            WORDS,
            *scope_arguments(query),
            list(terms.keys()),
            list(terms.values()),
            None if is_filtered(query) else CHUNKS_KEPT * OVERFETCH,
            CHUNKS_KEPT,
        )
        return [
            FoundChunk(
                FileKey(row["repository_id"], row["path"]),
                row["file_id"],
                row["language"],
                PathClass(row["path_class"]),
                ChunkHit(row["chunk_id"], row["score"], (Evidence(Modality.TEXT, row["score"], "words"),)),
            )
            for row in rows
        ]


def _as_fuzzy(chunk: FoundChunk) -> FoundChunk:
    return replace(chunk, hit=replace(chunk.hit, evidence=tuple(replace(item, fuzzy=True) for item in chunk.hit.evidence)))


def _best_definitions(definitions: Iterable[FoundDefinition]) -> dict[FileKey, FoundDefinition]:
    """Of each file the definition that is most exactly an identifier of the question."""
    best: dict[FileKey, FoundDefinition] = {}
    for definition in definitions:
        if definition.exact > (best[definition.key].exact if definition.key in best else 0.0):
            best[definition.key] = definition
    return best


def _defining_first(chunks: list[FoundChunk], definition: FoundDefinition, lead: float) -> list[FoundChunk]:
    """The chunk that defines the name is shown before those that mention it more often."""
    evidence = Evidence(Modality.TEXT, definition.exact, "definition", line=definition.line, symbol=definition.qualified)
    first, rest = [], []
    for chunk in chunks:
        if chunk.hit.chunk_id == definition.chunk_id:
            hit = replace(chunk.hit, score=chunk.hit.score + lead, evidence=(*chunk.hit.evidence, evidence))
            first.append(replace(chunk, hit=hit))
        else:
            rest.append(chunk)
    return first + rest
