"""Matches of a question's words with the names of files and definitions; features of 7-ranking.md, all in [0, 1].

``stem``: how much of the file's name the question covers. ``pathq``: how much of the question the file's name covers. ``defcov``: the same
both ways for the best definition. ``fdef``: how much of the question occurs in any type's or callable's name. ``ex``: a definition of an
identifier of the question.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from heapq import nsmallest
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias

import asyncpg

from app.domain.code import PathClass, SymbolKind
from app.domain.query import QueryTerms, RetrievalQuery
from app.domain.ranking import FileKey
from app.domain.words import bare, folded
from app.retrievers.lexicon import Lexicon, NameMatch, name_matches
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments
from app.storage.engine import Connection
from app.storage.live_files import LiveFile, LiveFilesCache, file_of

# Where filters may drop files the database looks which pass; otherwise memory knows which are shown. Read per repository, since an index
# of words takes one key only. OFFSET 0: the planner expects few files and would read the symbols of them all.
_ANY: Final = "unnest($1::int[]) AS s(repository_id)"
_FIND: Final = "{scope} SELECT c.*{file} FROM {repositories} CROSS JOIN LATERAL ({found} OFFSET 0) c {live} LIMIT {limit}"
_IN_FILE: Final = ", f.path, f.language, f.path_class"

_FILE_NAMES: Final = """
    SELECT repository_id, file_id, name_words FROM file_version c
    WHERE c.repository_id = s.repository_id AND c.name_words && ${0}::text[]
"""
_SYMBOLS: Final = """
    SELECT repository_id, file_id, chunk_id, name, lname, qualified, kind, exported, words, name_line, container IS NULL AS top
    FROM symbol c WHERE c.repository_id = s.repository_id AND
"""
_NAMED: Final = _SYMBOLS + "c.lname = ANY(${0}::text[])"
_SHARING: Final = _SYMBOLS + "c.words && ${1}::text[] AND NOT c.lname = ANY(${0}::text[])"

FIRST_CHUNKS: Final = """
    SELECT DISTINCT ON (c.repository_id, c.file_id) c.repository_id, c.file_id, c.chunk_id
    FROM unnest($1::int[], $2::int[]) AS w(repository_id, file_id)
    JOIN chunk c ON c.repository_id = w.repository_id AND c.file_id = w.file_id
    WHERE $3::text[] IS NULL OR NOT c.text ~ ANY($3)
    ORDER BY c.repository_id, c.file_id, c.start_line
"""

# How much a name counts in the lists of text and definitions: as in the rescoring stage, so that all agree on what a good name is.
EXACT_SINGLE, EXACT_IN_QUESTION = 1.0, 0.25
FILE_STEM, QUESTION_IN_PATH = 0.5, 0.2

MOST_FILES: Final = 5_000
MOST_DEFINITIONS: Final = 5_000
DEFINITIONS_SCORED: Final = 400
DEFINITIONS_KEPT: Final = 100
WITH_SIGILS: Final = 0.98
SMOOTHING: Final = 0.1  # a name made of words that every file has must not divide by nothing


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file whose name answers the question."""

    key: FileKey
    file_id: int
    language: str | None
    path_class: PathClass
    stem: float
    pathq: float


@dataclass(frozen=True, slots=True)
class FoundDefinition:
    """A definition whose name answers the question. ``exact`` is 0 unless it is one of the question's identifiers.

    ``words`` are the question's words that occur in the name of a type or callable, with their part of the question's worth.
    """

    key: FileKey
    file_id: int
    language: str | None
    path_class: PathClass
    chunk_id: int
    name: str
    qualified: str
    kind: SymbolKind
    line: int
    exported: bool
    top_level: bool
    exact: float
    defcov: float
    words: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Definitions:
    """The best definitions, best first, and every file that has one of those that were found."""

    best: Sequence[FoundDefinition]
    files: Set[FileKey]


class _Matcher:
    """The question's words with what they are worth in one repository, and what every matching word of names answers of them."""

    def __init__(self, words: Sequence[str], matches: Sequence[NameMatch], rarity: Mapping[str, float]) -> None:
        self._rarity = rarity
        self._worth = {word: rarity[word] for word in words}
        self._total = sum(rarity[word] for word in words) or 1.0
        self._answers: dict[str, dict[str, float]] = defaultdict(dict)
        self._strength: dict[str, float] = defaultdict(float)
        for match in matches:
            self._answers[match.word][match.query_word] = self._worth[match.query_word] * match.match
            self._strength[match.word] = max(self._strength[match.word], match.match)
        self._alone = {word: sum(answers.values()) for word, answers in self._answers.items()}

    def question_coverage(self, words: Iterable[str]) -> float:
        """The part of the question's worth that these words answer."""
        return self._answered(words) / self._total

    def worths(self, words: Iterable[str]) -> dict[str, float]:
        """The question's words among these, with their part of its worth."""
        return {word: self._worth[word] / self._total for word in words if word in self._worth}

    def _answered(self, words: Iterable[str]) -> float:
        answering = [word for word in words if word in self._alone]
        if len(answering) == 1:
            return self._alone[answering[0]]
        best: dict[str, float] = {}
        for word in answering:
            for question, worth in self._answers[word].items():
                best[question] = max(best.get(question, 0.0), worth)
        return sum(best.values())

    def name_coverage(self, words: Sequence[str]) -> float:
        """The part of a name that the question answers."""
        weights = [self._rarity.get(word, 0.0) + SMOOTHING for word in words]
        hits = [self._strength.get(word, 0.0) for word in words]
        return sum(hit * weight for hit, weight in zip(hits, weights, strict=True)) / (sum(weights) or 1.0)

    def definition_coverage(self, words: Sequence[str]) -> float:
        """``qc · (.5 + .5 nc)``: the question's part that the name answers, more when little of the name is left over."""
        answered = self._answered(words)
        name = sum([self._rarity.get(word, 0.0) for word in words]) + SMOOTHING
        return answered / self._total * (0.5 + 0.5 * min(1.0, answered / name))


Row: TypeAlias = tuple[asyncpg.Record, LiveFile]


class NameSearch:
    """Finds files and definitions by their names; of one question once, whoever asks."""

    def __init__(self, lexicon: Lexicon, live: LiveFilesCache) -> None:
        self._lexicon = lexicon
        self._live = live

    async def files(self, connection: Connection, query: RetrievalQuery) -> list[NamedFile]:
        """Files whose names share a word with the question, with ``stem`` and ``pathq``."""
        return await query.once.result("named_files", lambda: self._files(connection, query))

    async def exact(self, connection: Connection, query: RetrievalQuery) -> list[FoundDefinition]:
        """Definitions that are identifiers of the question, best first; without their coverage, which takes more than one look."""
        rows = await self._named(connection, query)
        exactness = _Exactness(query.terms, {row["name"] for row, _ in rows})
        return sorted((_found_definition(_scored(row, file, None, exactness), None) for row, file in rows), key=definition_order)

    async def definitions(self, connection: Connection, query: RetrievalQuery) -> Definitions:
        """Definitions that are identifiers of the question or share a word with it."""
        rows = await self._named(connection, query)
        exactness = _Exactness(query.terms, {row["name"] for row, _ in rows})
        matches = await self._matches(connection, query)
        if words := telling_words(matches):
            rows = rows + await self._rows(connection, query, _SHARING, MOST_DEFINITIONS, _identifiers(query), words)
        matchers = await self._matchers(connection, query, matches, {word for row, _ in rows for word in row["words"]})
        scored = (_scored(row, file, matchers[file.key.repository_id], exactness) for row, file in rows)
        best = [_found_definition(item, matchers[item.file.key.repository_id]) for item in nsmallest(DEFINITIONS_KEPT, scored)]
        return Definitions(best, {file.key for _, file in rows})

    async def _named(self, connection: Connection, query: RetrievalQuery) -> list[Row]:
        """The definitions that bear a name of the question."""
        identifiers = _identifiers(query)
        if not identifiers:
            return []
        return await query.once.result("named_definitions", lambda: self._rows(connection, query, _NAMED, MOST_DEFINITIONS, identifiers))

    async def _matches(self, connection: Connection, query: RetrievalQuery) -> list[NameMatch]:
        """The words of names that the question's words stand for."""
        return await query.once.result("name_matches", lambda: name_matches(connection, query.scope, query.terms.words))

    async def _files(self, connection: Connection, query: RetrievalQuery) -> list[NamedFile]:
        matches = await self._matches(connection, query)
        if not matches:
            return []
        words = [match.word for match in matches]
        if is_filtered(query):
            rows = await self._rows(connection, query, _FILE_NAMES, MOST_FILES, words)
            named = [(file, tuple(row["name_words"])) for row, file in rows]
        else:
            live = await self._live.of(query.scope)
            named = [found for files in live.values() for found in files.named(words)][:MOST_FILES]
        names = {(file.key.repository_id, name) for file, name in named}
        matchers = await self._matchers(connection, query, matches, {word for _, name in names for word in name})
        covered = {(key, name): _coverages(name, matchers[key], query.terms) for key, name in names}
        return [
            NamedFile(file.key, file.file_id, file.language, file.path_class, *covered[file.key.repository_id, name])
            for file, name in named
        ]

    async def _rows(self, connection: Connection, query: RetrievalQuery, found: str, limit: int, *arguments: list[str]) -> list[Row]:
        """What is ``found`` in the files that are shown and pass the filters, each with its file."""
        if is_filtered(query):
            statement = _FIND.format(
                scope=SCOPE,
                file=_IN_FILE,
                repositories="scope s",
                found=found.format(*range(FIRST_FREE, FIRST_FREE + len(arguments))),
                live=LIVE + (SYMBOL_FILTER if found is not _FILE_NAMES else ""),
                limit=limit,
            )
            return [(row, file_of(row)) for row in await connection.fetch(statement, *scope_arguments(query), *arguments)]
        live = await self._live.of(query.scope)
        inner = found.format(*range(2, 2 + len(arguments)))
        statement = _FIND.format(scope="", file="", repositories=_ANY, found=inner, live="", limit=limit)
        rows = await connection.fetch(statement, query.scope.columns[0], *arguments)
        return [(row, file) for row in rows if (file := live[row["repository_id"]].by_id(row["file_id"])) is not None]

    async def _matchers(
        self, connection: Connection, query: RetrievalQuery, matches: Sequence[NameMatch], names: Set[str]
    ) -> dict[int, _Matcher]:
        rarity = await self._lexicon.rarity(connection, query.scope, names | set(query.terms.words))
        answered = {match.query_word for match in matches}
        # A word beside which its English stands lowers the worth of that only where names are made of words of its language.
        words = [word for word in query.terms.words if word in answered or word not in query.terms.translations]
        return {key: _Matcher(words, matches, values) for key, values in rarity.items()}


def _identifiers(query: RetrievalQuery) -> list[str]:
    return sorted({folded(last) for _, last in query.terms.identifiers})


def definition_order(definition: FoundDefinition) -> tuple[object, ...]:
    """Best first; of equal ones the exported before the private, the outer before the nested."""
    return (
        -(10 * definition.exact + definition.defcov),
        not definition.exported,
        not definition.top_level,
        definition.key.path,
        definition.line,
    )


def telling_words(matches: Sequence[NameMatch]) -> list[str]:
    """The rarest of the matching words of names, as many as lead to a bounded number of definitions, at least one.

    A definition that shares only a word like ``get`` with the question covers little of it; one that shares more is found by the rest.
    """
    frequencies = {match.word: match.symbols for match in matches}
    rarest = sorted(frequencies, key=lambda word: (frequencies[word], word))
    reached = list(accumulate(frequencies[word] for word in rarest))
    return rarest[: max(1, bisect_right(reached, DEFINITIONS_SCORED))]


def _coverages(words: Sequence[str], matcher: _Matcher, terms: QueryTerms) -> tuple[float, float]:
    """``stem`` and ``pathq`` of a file whose name has these words."""
    stem, pathq = matcher.name_coverage(words), matcher.question_coverage(words)
    if "".join(words) in terms.wholes:
        stem, pathq = 1.0, max(pathq, 1.0)
    return stem, min(pathq, 1.0)


class _Scored(NamedTuple):
    """A definition's row in the order of ``definition_order``; most are dropped before more is made of them."""

    negative_score: float
    private: bool
    nested: bool
    path: str
    line: int
    exact: float
    coverage: float
    file: LiveFile
    row: asyncpg.Record


def _scored(row: asyncpg.Record, file: LiveFile, matcher: _Matcher | None, exactness: _Exactness) -> _Scored:
    exact = exactness.of(row)
    coverage = _COVERAGE_WEIGHTS[row["kind"]] * matcher.definition_coverage(row["words"]) if matcher else 0.0
    order = -(10 * exact + coverage), not row["exported"], not row["top"], file.key.path, row["name_line"]
    return _Scored(*order, exact, coverage, file, row)


def _found_definition(scored: _Scored, matcher: _Matcher | None) -> FoundDefinition:
    row, file = scored.row, scored.file
    kind = SymbolKind(row["kind"])
    return FoundDefinition(
        key=file.key,
        file_id=file.file_id,
        language=file.language,
        path_class=file.path_class,
        chunk_id=row["chunk_id"],
        name=row["name"],
        qualified=row["qualified"],
        kind=kind,
        line=row["name_line"],
        exported=row["exported"],
        top_level=row["top"],
        exact=scored.exact,
        defcov=scored.coverage,
        words=matcher.worths(row["words"]) if matcher and (kind.is_type or kind.is_callable) else {},
    )


class _Exactness:
    """How far a definition is an identifier of the question: 1 as written, a little less with sigils around it (``_run`` for ``run``),
    without the question's own sigils or in another case (.8) only when no definition has these; × kind; × 1.3 in the parent that the
    question names."""

    def __init__(self, terms: QueryTerms, defined: Set[str]) -> None:
        """``defined``: names that are defined as they are written."""
        self._identifiers = terms.identifiers
        self._defined = defined
        self._folded = {folded(last) for _, last in terms.identifiers}

    def of(self, row: asyncpg.Record) -> float:
        if row["lname"] not in self._folded:
            return 0.0
        name: str = row["name"]
        best = 0.0
        for written, last in self._identifiers:
            if name == last:
                value = 1.0
            elif bare(name) == bare(last) and (last not in self._defined or last == bare(last)):
                value = WITH_SIGILS
            elif folded(name) == folded(last) and last not in self._defined:
                value = 0.8
            else:
                continue
            best = max(best, value * (1.3 if _parent_matches(written, row["qualified"]) else 1.0))
        return best * _exact_weight(SymbolKind(row["kind"]))


def _parent_matches(written: str, qualified: str) -> bool:
    parents = written.replace("::", ".").replace("#", ".").split(".")[:-1]
    return bool(parents) and qualified.split(".")[:-1][-1:] == parents[-1:]


def _exact_weight(kind: SymbolKind) -> float:
    return 1.0 if kind.is_type else 0.9 if kind.is_callable else 0.5


_COVERAGE_WEIGHTS: Final = {kind.value: 1.0 if kind.is_type else 0.9 if kind.is_callable else 0.4 for kind in SymbolKind}
