"""Finds code by its definitions: exact names first, then names that cover the question's words, then file names, then typos.

A question that names a file by its path is answered with that file, one for definitions of a kind ("async functions in app/http") with
these.

Reads the symbol table that tree-sitter filled. For a question that names a symbol the order is exact name, exported and top-level before
private and nested, definition before declaration; for a question in words the score is that of 7-ranking.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final

import asyncpg

from app.domain.code import PathClass
from app.domain.query import Intent, Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileHit, FileKey, RankedList
from app.retrievers.constructs import construct_of, find_constructs
from app.retrievers.file_paths import files_at
from app.retrievers.files import FoundChunk, file_hit, group_by_file, ranked
from app.retrievers.names import (
    EXACT_IN_QUESTION,
    EXACT_SINGLE,
    FILE_STEM,
    FIRST_CHUNKS,
    QUESTION_IN_PATH,
    FoundDefinition,
    NamedFile,
    NameSearch,
)
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments, text_patterns
from app.storage.engine import Reads
from app.storage.live_files import LiveFiles, LiveFilesCache
from app.storage.pool import Pool

DEFINITION_COVERAGE, DEFINED_WORDS = 0.5, 0.2
CHUNKS_KEPT: Final = 200
LONGEST_NAME: Final = 100
"""Characters; what is longer is no name, and comparing it with every name takes a second."""

SIMILAR: Final = f"""{SCOPE}
    SELECT c.repository_id, c.file_id, c.chunk_id, c.qualified, c.name_line, f.path, f.language, f.path_class,
           similarity(c.name, ${FIRST_FREE}) AS similarity
    FROM scope s
    JOIN symbol c ON c.repository_id = s.repository_id AND c.name % ${FIRST_FREE}
    {LIVE} {SYMBOL_FILTER}
    ORDER BY similarity DESC, f.path, c.name_line
    LIMIT 50
"""


class StructuralRetriever:
    """The structural modality."""

    modality: Final = Modality.STRUCTURAL

    def __init__(self, pool: Pool, names: NameSearch, live: LiveFilesCache) -> None:
        self._pool = pool
        self._live = live
        self._names = names

    async def retrieve(self, query: RetrievalQuery) -> RankedList:
        """See ports.Retriever."""
        began = perf_counter()
        found = await self._by_construct(query) or await self._by_name(query)
        if not found.files:
            found = await self._typos(query)
        return replace(found, took_ms=(perf_counter() - began) * 1000, total_files=len(found.files))

    async def _by_construct(self, query: RetrievalQuery) -> RankedList | None:
        """Definitions of the kind that the question asks for, if it does and there are any."""
        construct = construct_of(query)
        if not construct:
            return None
        async with self._pool.connection() as connection:
            if await files_at(connection, query):
                return None
            chunks, complete = await find_constructs(connection, query, construct)
        return RankedList(Modality.STRUCTURAL, _in_order(chunks), complete=complete) if chunks else None

    async def _by_name(self, query: RetrievalQuery) -> RankedList:
        live = await self._live.of(query.scope)
        async with self._pool.reader(keyed=not is_filtered(query)) as reads:
            if at_path := await _with_chunks(reads, query, live, await files_at(reads, query)):
                return RankedList(Modality.STRUCTURAL, at_path)
            if _asks_for_symbol(query):
                exact = [definition for definition in await self._names.exact(reads, query) if definition.exact > 0]
                definitions, named = _as_written(exact, query)[:CHUNKS_KEPT], list[NamedFile]()
            else:
                sharing = await self._names.definitions(reads, query)
                files = await self._names.files(reads, query)
                # A name of a file alone is no definition of a kind.
                by_kind = query.filters.kinds or query.filters.symbols
                definitions, named = list(sharing.best), files.best(sharing.files if by_kind else None)
            return RankedList(Modality.STRUCTURAL, await _with_chunks(reads, query, live, _rank(query, definitions, named)))

    async def _typos(self, query: RetrievalQuery) -> RankedList:
        """Names that look like the one asked for, marked as such; only when no name is right."""
        if not query.terms.identifiers or len(query.terms.identifiers[0][1]) > LONGEST_NAME:
            return RankedList(Modality.STRUCTURAL, ())
        async with self._pool.connection() as connection:
            rows = await connection.fetch(SIMILAR, *scope_arguments(query), query.terms.identifiers[0][1])
        found = [
            FoundChunk(
                FileKey(row["repository_id"], row["path"]),
                row["file_id"],
                row["language"],
                PathClass(row["path_class"]),
                ChunkHit(row["chunk_id"], row["similarity"], (_fuzzy_evidence(row),)),
            )
            for row in rows
        ]
        by_file = group_by_file(found).values()
        files = ranked(file_hit(chunks, chunks[0].hit.score, {"alike": chunks[0].hit.score}) for chunks in by_file)
        return RankedList(Modality.STRUCTURAL, files, warnings=("fuzzy",) if files else ())


def _in_order(found: Iterable[FoundChunk]) -> tuple[FileHit, ...]:
    """Files of definitions that are just what was asked for, in the order in which these were found."""
    features = {"ex": 1.0, "defcov": 1.0, "fdef": 0.0, "stem": 0.0, "pathq": 0.0}
    return ranked(file_hit(chunks, chunks[0].hit.score, features) for chunks in group_by_file(found).values())


def _fuzzy_evidence(row: asyncpg.Record) -> Evidence:
    return Evidence(Modality.STRUCTURAL, row["similarity"], "definition", line=row["name_line"], symbol=row["qualified"], fuzzy=True)


def _as_written(definitions: list[FoundDefinition], query: RetrievalQuery) -> list[FoundDefinition]:
    """Those that bear the name exactly as it was asked for, when there are any: ``run`` is not ``_run``."""
    names = {last for _, last in query.terms.identifiers}
    return [definition for definition in definitions if definition.name in names] or definitions


def _asks_for_symbol(query: RetrievalQuery) -> bool:
    """A question for one symbol wants that symbol, not names that share a word with it."""
    return query.classification.intent is Intent.FIND_DEFINITION and bool(query.classification.operands) and bool(query.terms.identifiers)


def _rank(query: RetrievalQuery, definitions: Iterable[FoundDefinition], named: Iterable[NamedFile]) -> tuple[FileHit, ...]:
    best = list(definitions)
    chunks = group_by_file(_found_chunk(definition) for definition in best)
    worth = _defined_words(best)
    names = {item.file.key: item for item in named}
    by_file: dict[FileKey, list[FoundDefinition]] = defaultdict(list)
    for definition in best:
        by_file[definition.file.key].append(definition)
    exact_weight = EXACT_SINGLE if query.terms.single or _asks_for_symbol(query) else EXACT_IN_QUESTION
    files = []
    for key in by_file.keys() | names.keys():
        features = _features(by_file.get(key, ()), names.get(key), worth.get(key, 0.0))
        score = (
            exact_weight * features["ex"]
            + DEFINITION_COVERAGE * features["defcov"]
            + DEFINED_WORDS * features["fdef"]
            + FILE_STEM * features["stem"]
            + QUESTION_IN_PATH * features["pathq"]
        )
        if key in chunks:
            files.append(file_hit(chunks[key], score, features))
        else:
            files.append(FileHit._make((*names[key].file.columns, score, (), features)))
    return ranked(files)


def _found_chunk(definition: FoundDefinition) -> FoundChunk:
    # Exported and top-level break ties between chunks of equal match; far below any difference of a match.
    score = definition.exact + definition.defcov + 0.002 * definition.exported + 0.001 * definition.top_level
    evidence = Evidence._make((Modality.STRUCTURAL, score, "definition", None, definition.line, None, definition.qualified, False, ()))
    return FoundChunk._make((*definition.file.columns, ChunkHit._make((definition.chunk_id, score, (evidence,)))))


def _defined_words(definitions: Iterable[FoundDefinition]) -> Mapping[FileKey, float]:
    """``fdef``: the part of the question's worth that occurs in names of the file's types and callables."""
    words: dict[FileKey, dict[str, float]] = defaultdict(dict)
    for definition in definitions:
        words[definition.file.key].update(definition.words)
    return {key: min(1.0, sum(found.values())) for key, found in words.items()}


def _features(definitions: Sequence[FoundDefinition], named: NamedFile | None, defined_words: float) -> dict[str, float]:
    return {
        "ex": max([definition.exact for definition in definitions]) if definitions else 0.0,
        "defcov": max([definition.defcov for definition in definitions]) if definitions else 0.0,
        "fdef": defined_words,
        "stem": named.stem if named else 0.0,
        "pathq": named.pathq if named else 0.0,
    }


async def _with_chunks(
    reads: Reads, query: RetrievalQuery, live: Mapping[int, LiveFiles], files: tuple[FileHit, ...]
) -> tuple[FileHit, ...]:
    """Files found by their name alone show their first chunk; a file without any (it is empty, or none passes the filters) is dropped."""
    bare = [file for file in files if not file.chunks]
    first = await _first_chunks(reads, query, bare) if query.filters.without else _first_shown(live, bare)
    out = []
    for file in files:
        if file.chunks:
            out.append(file)
        elif (chunk_id := first.get((file.key.repository_id, file.file_id))) is not None:
            evidence = Evidence._make((Modality.STRUCTURAL, file.score, "file_name", None, 1, None, None, False, ()))
            out.append(FileHit._make((*file[:5], (ChunkHit._make((chunk_id, file.score, (evidence,))),), file.features)))
    return tuple(out)


async def _first_chunks(reads: Reads, query: RetrievalQuery, files: Sequence[FileHit]) -> Mapping[tuple[int, int], int]:
    """Of each file by (repository id, file id) the first chunk that passes the filters."""
    wanted = ([file.key.repository_id for file in files], [file.file_id for file in files])
    rows = await reads.fetch(FIRST_CHUNKS, *wanted, text_patterns(query.filters)) if files else []
    return {(row["repository_id"], row["file_id"]): row["chunk_id"] for row in rows}


def _first_shown(live: Mapping[int, LiveFiles], files: Sequence[FileHit]) -> Mapping[tuple[int, int], int]:
    """The same where every chunk passes."""
    spans = (((file.key.repository_id, file.file_id), live[file.key.repository_id].chunk_span(file.file_id)) for file in files)
    return {place: first for place, (first, end) in spans if first < end}
