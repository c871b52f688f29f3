"""Matches of a question's words with the names of files and definitions; features of 7-ranking.md, all in [0, 1].

``stem``: how much of the file's name the question covers. ``pathq``: how much of the question the file's name covers. ``defcov``: the same
both ways for the best definition. ``fdef``: how much of the question occurs in any type's or callable's name. ``ex``: a definition of an
identifier of the question.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

import asyncpg
import numpy as np
from numpy.typing import NDArray

from app.domain.code import SymbolKind
from app.domain.query import QueryTerms, RetrievalQuery
from app.domain.ranking import FileKey
from app.domain.words import bare, folded
from app.observability import metrics
from app.retrievers.lexicon import Lexicon, NameMatch, name_matches
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, is_filtered, scope_arguments
from app.storage.engine import Reads
from app.storage.live_files import LiveFile, LiveFiles, LiveFilesCache, Names, file_of
from app.storage.name_memory import NameMemory
from app.storage.name_table import EXPORTED, KINDS, TOP_LEVEL, NameGroup, NameTable, packed

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
    SELECT repository_id, file_id, ordinal, chunk_id, name, lname, qualified, kind, exported, words, name_line, container IS NULL AS top
    FROM symbol c WHERE c.repository_id = s.repository_id AND
"""
_NAMED: Final = _SYMBOLS + "c.lname = ANY(${0}::text[])"
_SHARING: Final = _SYMBOLS + "c.words && ${1}::text[] AND NOT c.lname = ANY(${0}::text[])"

FIRST_CHUNKS: Final = """
    SELECT DISTINCT ON (c.repository_id, c.file_id) c.repository_id, c.file_id, c.chunk_id
    FROM unnest($1::int[], $2::int[]) AS w(repository_id, file_id)
    JOIN chunk c ON c.repository_id = w.repository_id AND c.file_id = w.file_id
    WHERE NOT c.text ~ ANY($3::text[])
    ORDER BY c.repository_id, c.file_id, c.start_line
"""

# How much a name counts in the lists of text and definitions: as in the rescoring stage, so that all agree on what a good name is.
EXACT_SINGLE, EXACT_IN_QUESTION = 1.0, 0.25
FILE_STEM, QUESTION_IN_PATH = 0.5, 0.2

MOST_FILES: Final = 5_000
MOST_DEFINITIONS: Final = 5_000
FILES_BY_NAME: Final = 200
DEFINITIONS_SCORED: Final = 400
DEFINITIONS_KEPT: Final = 100
WITH_SIGILS: Final = 0.98
IN_PARENT: Final = 1.3
SMOOTHING: Final = 0.1  # a name made of words that every file has must not divide by nothing


class NamedFile(NamedTuple):
    """A file whose name answers the question."""

    file: LiveFile
    stem: float
    pathq: float


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The names of files that share a word with the question: how well each answers it, and who bears it. By (repository id, name)."""

    live: Mapping[int, LiveFiles]
    coverages: Mapping[tuple[int, Names], tuple[float, float]]
    bearers: Mapping[tuple[int, Names], Sequence[LiveFile]]

    def of(self, key: FileKey, file_id: int) -> tuple[float, float]:
        """``stem`` and ``pathq`` of a file that passes the filters."""
        return self.coverages.get((key.repository_id, self.live[key.repository_id].name_of(file_id)), (0.0, 0.0))

    def best(self, among: Set[FileKey] | None = None) -> list[NamedFile]:
        """The ``FILES_BY_NAME`` files of the best names, best first; only files that are ``among`` some, if given."""
        worth = {name: FILE_STEM * stem + QUESTION_IN_PATH * pathq for name, (stem, pathq) in self.coverages.items()}
        found: list[tuple[float, str, int, NamedFile]] = []
        least = 0.0
        for name in sorted(worth, key=lambda name: -worth[name]):
            if len(found) >= FILES_BY_NAME and worth[name] < least:
                break
            least = worth[name]
            for file in self.bearers[name]:
                if among is None or file.key in among:
                    found.append((-least, file.key.path, file.key.repository_id, NamedFile(file, *self.coverages[name])))
        found.sort(key=lambda item: item[:3])
        return [item[3] for item in found[:FILES_BY_NAME]]


class FoundDefinition(NamedTuple):
    """A definition whose name answers the question. ``exact`` is 0 unless it is one of the question's identifiers.

    ``words`` are the question's words that occur in the name of a type or callable, with their part of the question's worth.
    """

    file: LiveFile
    chunk_id: int
    name: str
    qualified: str
    line: int
    exported: bool
    top_level: bool
    exact: float
    defcov: float
    words: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Definitions:
    """The best definitions, best first, and every file that has one of those that were found, where filters may drop files."""

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

Tables: TypeAlias = Mapping[int, NameTable]
"""Of each repository definitions, among them those that were asked for."""


class NameSearch:
    """Finds files and definitions by their names; of one question once, whoever asks."""

    def __init__(self, lexicon: Lexicon, memory: NameMemory, live: LiveFilesCache) -> None:
        self._lexicon = lexicon
        self._memory = memory
        self._live = live

    async def files(self, reads: Reads, query: RetrievalQuery) -> NamedFiles:
        """Files whose names share a word with the question, with ``stem`` and ``pathq``."""
        return await query.once.result("named_files", lambda: self._files(reads, query))

    async def exact(self, reads: Reads, query: RetrievalQuery) -> list[FoundDefinition]:
        """Definitions that are identifiers of the question, best first; without their coverage, which takes more than one look."""
        identifiers = _identifiers(query)
        if not identifiers:
            return []
        tables = self._in_memory(query) or await self._named(reads, query, identifiers)
        live, exactness = await self._live.of(query.scope), _Exactness(query.terms, identifiers, tables)
        scored = [_Scored.of(key, table, table.bearing(identifiers), None, exactness) for key, table in tables.items()]
        return _best(scored, live, None)

    async def definitions(self, reads: Reads, query: RetrievalQuery) -> Definitions:
        """Definitions that are identifiers of the question or share a word with it."""
        identifiers = _identifiers(query)
        matches = await self._matches(reads, query)
        words = telling_words(matches)
        tables = self._in_memory(query) or await self._sharing(reads, query, identifiers, words)
        names = {key: sorted({*table.bearing(identifiers), *table.sharing(words)}) for key, table in tables.items()}
        used = {word for key, numbers in names.items() for number in numbers for word in tables[key].words[number]}
        matchers = await self._matchers(reads, query, matches, used)
        exactness = _Exactness(query.terms, identifiers, tables)
        scored = [_Scored.of(key, table, names[key], matchers[key], exactness) for key, table in tables.items()]
        live = await self._live.of(query.scope)
        files = {file.key for item in scored for file in item.found_in(live)} if is_filtered(query) else set[FileKey]()
        return Definitions(_best(scored, live, DEFINITIONS_KEPT), files)

    def _in_memory(self, query: RetrievalQuery) -> Tables | None:
        """All definitions of the scope; None where they are not in memory, or filters may drop some."""
        known = None if is_filtered(query) else self._memory.of(query.scope)
        metrics.count_ranking_reads("names", in_memory=known is not None)
        return None if known is None else {key: names.definitions for key, names in known.items()}

    async def _named(self, reads: Reads, query: RetrievalQuery, identifiers: list[str]) -> Tables:
        """Those that bear a name of the question."""
        return _tables(await self._named_rows(reads, query, identifiers))

    async def _sharing(self, reads: Reads, query: RetrievalQuery, identifiers: list[str], words: list[str]) -> Tables:
        """Those that bear a name of the question or share one of these words with it."""
        rows = await self._named_rows(reads, query, identifiers) if identifiers else []
        return _tables(rows + (await self._rows(reads, query, _SHARING, MOST_DEFINITIONS, identifiers, words) if words else []))

    async def _named_rows(self, reads: Reads, query: RetrievalQuery, identifiers: list[str]) -> list[Row]:
        return await query.once.result("named_definitions", lambda: self._rows(reads, query, _NAMED, MOST_DEFINITIONS, identifiers))

    async def _matches(self, reads: Reads, query: RetrievalQuery) -> list[NameMatch]:
        """The words of names that the question's words stand for."""
        return await query.once.result("name_matches", lambda: name_matches(reads, self._memory, query.scope, query.terms.words))

    async def _files(self, reads: Reads, query: RetrievalQuery) -> NamedFiles:
        matches = await self._matches(reads, query)
        words = [match.word for match in matches]
        live = await self._live.of(query.scope)
        bearers: dict[tuple[int, Names], Sequence[LiveFile]]
        if is_filtered(query):
            found: dict[tuple[int, Names], list[LiveFile]] = defaultdict(list)
            for row, file in await self._rows(reads, query, _FILE_NAMES, MOST_FILES, words) if words else ():
                found[file.key.repository_id, tuple(row["name_words"])].append(file)
            bearers = {**found}
        else:
            bearers = {(key, name): borne for key, files in live.items() for name, borne in files.named(words).items()}
        matchers = await self._matchers(reads, query, matches, {word for _, name in bearers for word in name}) if matches else {}
        return NamedFiles(live, {(key, name): _coverages(name, matchers[key], query.terms) for key, name in bearers}, bearers)

    async def _rows(self, reads: Reads, query: RetrievalQuery, found: str, limit: int, *arguments: list[str]) -> list[Row]:
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
            return [(row, file_of(row)) for row in await reads.fetch(statement, *scope_arguments(query), *arguments)]
        live = await self._live.of(query.scope)
        inner = found.format(*range(2, 2 + len(arguments)))
        statement = _FIND.format(scope="", file="", repositories=_ANY, found=inner, live="", limit=limit)
        rows = await reads.fetch(statement, query.scope.columns[0], *arguments)
        return [(row, file) for row in rows if (file := live[row["repository_id"]].by_id(row["file_id"])) is not None]

    async def _matchers(self, reads: Reads, query: RetrievalQuery, matches: Sequence[NameMatch], names: Set[str]) -> dict[int, _Matcher]:
        rarity = await self._lexicon.rarity(reads, query.scope, names | set(query.terms.words))
        answered = {match.query_word for match in matches}
        # A word beside which its English stands lowers the worth of that only where names are made of words of its language.
        words = [word for word in query.terms.words if word in answered or word not in query.terms.translations]
        return {key: _Matcher(words, matches, values) for key, values in rarity.items()}


def _identifiers(query: RetrievalQuery) -> list[str]:
    return sorted({folded(last) for _, last in query.terms.identifiers})


def _tables(rows: Sequence[Row]) -> Tables:
    """The definitions that were read, by their names."""
    found: dict[int, dict[str, list[asyncpg.Record]]] = defaultdict(lambda: defaultdict(list))
    for row, _ in rows:
        found[row["repository_id"]][row["name"]].append(row)
    return {key: NameTable(_group(sorted(same, key=_place)) for same in names.values()) for key, names in found.items()}


def _place(row: asyncpg.Record) -> tuple[int, int]:
    return row["file_id"], row["ordinal"]


def _group(rows: Sequence[asyncpg.Record]) -> NameGroup:
    """The definitions of one name."""
    first = rows[0]
    numbers = [
        (row["file_id"], row["chunk_id"], row["name_line"], _NUMBERS[row["kind"]], EXPORTED * row["exported"] + TOP_LEVEL * row["top"])
        for row in rows
    ]
    return NameGroup(first["name"], first["lname"], tuple(first["words"]), packed(numbers), [row["qualified"] for row in rows])


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


@dataclass(frozen=True, slots=True)
class _Scored:
    """Definitions of one repository with what they are worth: for each its number, its name's number, ``exact`` and ``coverage``."""

    repository_id: int
    table: NameTable
    matcher: _Matcher | None
    definitions: NDArray[np.int64]
    names: NDArray[np.int64]
    exact: NDArray[np.float64]
    coverage: NDArray[np.float64]

    @classmethod
    def of(cls, repository_id: int, table: NameTable, names: Sequence[int], matcher: _Matcher | None, exactness: _Exactness) -> _Scored:
        """The definitions of these names; without a matcher nothing is covered."""
        definitions, at = table.definitions(names)
        exact, coverage = np.zeros(len(at)), np.zeros(len(at))
        numbers = np.array(names, np.int64)[at]
        if matcher is not None:
            covered = np.array([matcher.definition_coverage(table.words[name]) for name in names])
            coverage = _COVERAGE_WEIGHTS[table.kinds[definitions]] * covered[at]
        for place in np.flatnonzero(np.isin(numbers, table.bearing(exactness.folded))).tolist():
            name, definition = int(numbers[place]), int(definitions[place])
            exact[place] = exactness.of(table.names[name], table.qualified(name, definition), KINDS[table.kinds[definition]])
        return cls(repository_id, table, matcher, definitions, numbers, exact, coverage)

    def ordered(
        self, files: LiveFiles, worth: NDArray[np.float64], least: float
    ) -> Iterator[tuple[tuple[object, ...], _Scored, LiveFile, int]]:
        """Those that are worth so much at least, each with what it is ordered by."""
        places = np.flatnonzero(worth >= least)
        at = self.definitions[places]
        columns = (
            (-worth[places]).tolist(),
            (~self.table.exported[at]).tolist(),
            (~self.table.top_level[at]).tolist(),
            self.table.files[at].tolist(),
            self.table.lines[at].tolist(),
            self.exact[places].tolist(),
            places.tolist(),
        )
        for negative, private, nested, file_id, line, exact, place in zip(*columns, strict=True):
            if (file := files.by_id(file_id)) is not None:
                order = (negative, private, nested, file.key.path, line, exact, self.repository_id, file_id, place)
                yield order, self, file, place

    def completed(self, chosen: Sequence[tuple[LiveFile, int]]) -> Iterator[FoundDefinition]:
        """Some of the definitions with all that is known of them."""
        table, places = self.table, [place for _, place in chosen]
        definitions = self.definitions[places]
        columns = (
            definitions.tolist(),
            self.names[places].tolist(),
            table.kinds[definitions].tolist(),
            table.chunks[definitions].tolist(),
            table.lines[definitions].tolist(),
            table.exported[definitions].tolist(),
            table.top_level[definitions].tolist(),
            self.exact[places].tolist(),
            self.coverage[places].tolist(),
        )
        for (file, _), definition, name, kind, chunk_id, line, exported, top_level, exact, coverage in zip(chosen, *columns, strict=True):
            words = self.matcher.worths(table.words[name]) if self.matcher and _SAYS[kind] else {}
            qualified = table.qualified(name, definition)
            yield FoundDefinition(file, chunk_id, table.names[name], qualified, line, exported, top_level, exact, coverage, words)

    def found_in(self, live: Mapping[int, LiveFiles]) -> Iterable[LiveFile]:
        """The files of the definitions."""
        found = (live[self.repository_id].by_id(file_id) for file_id in np.unique(self.table.files[self.definitions]).tolist())
        return (file for file in found if file is not None)


def _best(scored: Sequence[_Scored], live: Mapping[int, LiveFiles], most: int | None) -> list[FoundDefinition]:
    """The best definitions, best first; of equal ones the exported before the private, the outer before the nested."""
    worth = [10 * item.exact + item.coverage for item in scored]
    total = np.concatenate(worth) if worth else np.empty(0)
    least = np.partition(total, -most)[-most] if most is not None and len(total) > most else -np.inf
    found = [entry for item, value in zip(scored, worth, strict=True) for entry in item.ordered(live[item.repository_id], value, least)]
    found.sort(key=itemgetter(0))
    found = found[:most]
    made = {item.repository_id: item.completed([(file, place) for _, owner, file, place in found if owner is item]) for item in scored}
    return [next(made[item.repository_id]) for _, item, _, _ in found]


class _Exactness:
    """How far a definition is an identifier of the question: 1 as written, a little less with sigils around it (``_run`` for ``run``),
    without the question's own sigils or in another case (.8) only when no definition has these; × 1.3 in the parent that the question
    names, and nothing elsewhere when that has it; × kind, in proportion to the best that bears the name."""

    def __init__(self, terms: QueryTerms, identifiers: Sequence[str], tables: Tables) -> None:
        """``identifiers`` are folded."""
        self._identifiers = terms.identifiers
        self.folded = identifiers
        self._defined: set[str] = set()
        self._in_parent: set[str] = set()
        self._best_kind: dict[str, float] = defaultdict(float)
        for table in tables.values():
            for number in table.bearing(identifiers):
                self._learn(table, number)

    def _learn(self, table: NameTable, number: int) -> None:
        name, definitions = table.names[number], table.definitions([number])[0]
        key = folded(name)
        self._defined.add(name)
        self._best_kind[key] = max(self._best_kind[key], *map(_exact_weight, {KINDS[kind] for kind in table.kinds[definitions].tolist()}))
        parted = [written for written, last in self._identifiers if written != last and folded(last) == key]
        if parted:
            names = {table.qualified(number, definition) for definition in definitions.tolist()}
            self._in_parent |= {written for written in parted if any(_parent_matches(written, qualified) for qualified in names)}

    def of(self, name: str, qualified: str, kind: SymbolKind) -> float:
        """Of a definition whose folded name is one of the identifiers."""
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
            if written in self._in_parent:
                value *= IN_PARENT if _parent_matches(written, qualified) else 0.0
            best = max(best, value)
        return best * _exact_weight(kind) / self._best_kind[folded(name)]


def _parent_matches(written: str, qualified: str) -> bool:
    parents = written.replace("::", ".").replace("#", ".").split(".")[:-1]
    return bool(parents) and qualified.split(".")[:-1][-1:] == parents[-1:]


def _exact_weight(kind: SymbolKind) -> float:
    return 1.0 if kind.is_type else 0.9 if kind.is_callable else 0.5


_COVERAGE_WEIGHTS: Final = np.array([1.0 if kind.is_type else 0.9 if kind.is_callable else 0.4 for kind in KINDS])
"""By a kind's number."""

_SAYS: Final = [kind.is_type or kind.is_callable for kind in KINDS]
"""By a kind's number whether the words of its names count as what a file defines."""

_NUMBERS: Final = {kind.value: number for number, kind in enumerate(KINDS)}
