"""Matches of a question's words with the names of files and definitions; features of 7-ranking.md, all in [0, 1].

``stem``: how much of the file's name the question covers. ``pathq``: how much of the question the file's name covers. ``defcov``: the same
both ways for the best definition. ``fdef``: how much of the question occurs in any type's or callable's name. ``ex``: a definition of an
identifier of the question.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

import asyncpg

from app.domain.code import PathClass, SymbolKind
from app.domain.query import QueryTerms, RetrievalQuery, Scope
from app.domain.ranking import FileKey
from app.domain.words import bare, folded
from app.retrievers.lexicon import Lexicon, NameMatch, name_matches
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, scope_arguments
from app.storage.engine import Connection

FILE_NAMES: Final = f"""{SCOPE}
    SELECT c.repository_id, c.file_id, c.name_words, f.path, f.language, f.path_class
    FROM scope s
    JOIN file_version c ON c.repository_id = s.repository_id AND c.name_words && ${FIRST_FREE}::text[]
    {LIVE}
    LIMIT {{limit}}
"""

# OFFSET 0: the planner expects few files and would read the symbols of them all.
DEFINITIONS: Final = f"""{SCOPE}
    SELECT c.repository_id, c.file_id, c.chunk_id, c.name, c.qualified, c.kind, c.exported, c.words, c.name_line,
           c.container IS NULL AS top, f.path, f.language, f.path_class
    FROM scope s
    CROSS JOIN LATERAL (
        SELECT * FROM symbol c
        WHERE c.repository_id = s.repository_id AND (c.lname = ANY(${FIRST_FREE}::text[]) OR c.words && ${FIRST_FREE + 1}::text[])
        OFFSET 0
    ) c
    {LIVE} {SYMBOL_FILTER}
    LIMIT {{limit}}
"""

FIRST_CHUNKS: Final = """
    SELECT DISTINCT ON (c.repository_id, c.file_id) c.repository_id, c.file_id, c.chunk_id
    FROM unnest($1::int[], $2::int[]) AS w(repository_id, file_id)
    JOIN chunk c ON c.repository_id = w.repository_id AND c.file_id = w.file_id
    ORDER BY c.repository_id, c.file_id, c.start_line
"""

# How much a name counts in the lists of text and definitions: as in the rescoring stage, so that all agree on what a good name is.
EXACT_SINGLE, EXACT_IN_QUESTION = 1.0, 0.25
FILE_STEM, QUESTION_IN_PATH = 0.5, 0.2

MOST_FILES: Final = 5_000
MOST_DEFINITIONS: Final = 5_000
DEFINITIONS_SCORED: Final = 800
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
class _Matcher:
    """The question's words with what they are worth in one repository, and the strength of every matching word of names."""

    worth: Mapping[str, float]
    total: float
    strengths: Mapping[str, Mapping[str, float]]
    rarity: Mapping[str, float]

    def question_coverage(self, words: Iterable[str]) -> float:
        """The part of the question's worth that these words answer."""
        return self._answered(words) / self.total

    def worths(self, words: Iterable[str]) -> dict[str, float]:
        """The question's words among these, with their part of its worth."""
        return {word: self.worth[word] / self.total for word in words if word in self.worth}

    def _answered(self, words: Iterable[str]) -> float:
        best: dict[str, float] = {}
        for word in words:
            for question, match in self.strengths.get(word, {}).items():
                best[question] = max(best.get(question, 0.0), match)
        return sum(self.worth[question] * match for question, match in best.items())

    def name_coverage(self, words: Sequence[str]) -> float:
        """The part of a name that the question answers."""
        weights = [self.rarity.get(word, 0.0) + SMOOTHING for word in words]
        hits = [max(self.strengths.get(word, {}).values(), default=0.0) for word in words]
        return sum(hit * weight for hit, weight in zip(hits, weights, strict=True)) / (sum(weights) or 1.0)

    def definition_coverage(self, words: Sequence[str]) -> float:
        """``qc · (.5 + .5 nc)``: the question's part that the name answers, more when little of the name is left over."""
        answered = self._answered(words)
        name = sum(self.rarity.get(word, 0.0) for word in words) + SMOOTHING
        return answered / self.total * (0.5 + 0.5 * min(1.0, answered / name))


class NameSearch:
    """Finds files and definitions by their names."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon

    async def matches(self, connection: Connection, query: RetrievalQuery) -> list[NameMatch]:
        """The words of names that the question's words stand for."""
        return await name_matches(connection, query.scope, query.terms.words)

    async def files(self, connection: Connection, query: RetrievalQuery, matches: Sequence[NameMatch]) -> list[NamedFile]:
        """Files whose names share a word with the question, with ``stem`` and ``pathq``."""
        words = [match.word for match in matches]
        if not words:
            return []
        rows = await connection.fetch(FILE_NAMES.format(limit=MOST_FILES), *scope_arguments(query), words)
        matchers = await self._matchers(connection, query.scope, query.terms, matches, (row["name_words"] for row in rows))
        return [_named_file(row, matchers[row["repository_id"]], query.terms) for row in rows]

    async def definitions(self, connection: Connection, query: RetrievalQuery, matches: Sequence[NameMatch]) -> list[FoundDefinition]:
        """Definitions that are identifiers of the question or share a word with it."""
        identifiers = sorted({folded(last) for _, last in query.terms.identifiers})
        words = telling_words(matches)
        if not identifiers and not words:
            return []
        rows = await connection.fetch(DEFINITIONS.format(limit=MOST_DEFINITIONS), *scope_arguments(query), identifiers, words)
        matchers = await self._matchers(connection, query.scope, query.terms, matches, (row["words"] for row in rows))
        exact_names = {row["name"] for row in rows} & {last for _, last in query.terms.identifiers}
        return [_found_definition(row, matchers[row["repository_id"]], query.terms, exact_names) for row in rows]

    async def _matchers(
        self,
        connection: Connection,
        scope: Scope,
        terms: QueryTerms,
        matches: Sequence[NameMatch],
        names: Iterable[Sequence[str]],
    ) -> dict[int, _Matcher]:
        strengths: dict[str, dict[str, float]] = defaultdict(dict)
        for match in matches:
            strengths[match.word][match.query_word] = match.match
        wanted = {word for words in names for word in words} | set(terms.words)
        rarity = await self._lexicon.rarity(connection, scope, wanted)
        return {
            key: _Matcher({word: values[word] for word in terms.words}, sum(values[word] for word in terms.words) or 1.0, strengths, values)
            for key, values in rarity.items()
        }


def telling_words(matches: Sequence[NameMatch]) -> list[str]:
    """The rarest of the matching words of names, as many as lead to a bounded number of definitions, at least one.

    A definition that shares only a word like ``get`` with the question covers little of it; one that shares more is found by the rest.
    """
    frequencies = {match.word: match.symbols for match in matches}
    rarest = sorted(frequencies, key=lambda word: (frequencies[word], word))
    reached = list(accumulate(frequencies[word] for word in rarest))
    return rarest[: max(1, bisect_right(reached, DEFINITIONS_SCORED))]


def _named_file(row: asyncpg.Record, matcher: _Matcher, terms: QueryTerms) -> NamedFile:
    words = row["name_words"]
    stem, pathq = matcher.name_coverage(words), matcher.question_coverage(words)
    if "".join(words) in terms.wholes:
        stem, pathq = 1.0, max(pathq, 1.0)
    return NamedFile(
        FileKey(row["repository_id"], row["path"]), row["file_id"], row["language"], PathClass(row["path_class"]), stem, min(pathq, 1.0)
    )


def _found_definition(row: asyncpg.Record, matcher: _Matcher, terms: QueryTerms, exact_names: set[str]) -> FoundDefinition:
    kind = SymbolKind(row["kind"])
    words = row["words"]
    return FoundDefinition(
        key=FileKey(row["repository_id"], row["path"]),
        file_id=row["file_id"],
        language=row["language"],
        path_class=PathClass(row["path_class"]),
        chunk_id=row["chunk_id"],
        name=row["name"],
        qualified=row["qualified"],
        kind=kind,
        line=row["name_line"],
        exported=row["exported"],
        top_level=row["top"],
        exact=_exactness(row["name"], row["qualified"], kind, terms, exact_names),
        defcov=_coverage_weight(kind) * matcher.definition_coverage(words),
        words=matcher.worths(words) if kind.is_type or kind.is_callable else {},
    )


def _exactness(name: str, qualified: str, kind: SymbolKind, terms: QueryTerms, exact_names: set[str]) -> float:
    """How far a definition is an identifier of the question: 1 as written, a little less with sigils around it, .8 in another case when
    no definition has that one; × kind; × 1.3 in the parent that the question names."""
    best = 0.0
    for written, last in terms.identifiers:
        if name == last:
            value = 1.0
        elif bare(name) == bare(last):
            value = WITH_SIGILS
        elif folded(name) == folded(last) and last not in exact_names:
            value = 0.8
        else:
            continue
        best = max(best, value * (1.3 if _parent_matches(written, qualified) else 1.0))
    return best * _exact_weight(kind)


def _parent_matches(written: str, qualified: str) -> bool:
    parents = written.replace("::", ".").replace("#", ".").split(".")[:-1]
    return bool(parents) and qualified.split(".")[:-1][-1:] == parents[-1:]


def _exact_weight(kind: SymbolKind) -> float:
    return 1.0 if kind.is_type else 0.9 if kind.is_callable else 0.5


def _coverage_weight(kind: SymbolKind) -> float:
    return 1.0 if kind.is_type else 0.9 if kind.is_callable else 0.4
