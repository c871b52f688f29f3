"""What a repository's words are worth: rarity over files, and the words of its names that a question's words stand for.

Rarity is kept in memory per published generation: names repeat the same few thousand words, and a generation never changes.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.domain.bm25 import inverse_frequency
from app.domain.query import GenerationKey, Scope, Snapshot
from app.domain.words import abbreviations_of, word_match
from app.retrievers.word_index import NO_FILES, WordIndex
from app.storage.engine import Reads
from app.storage.name_memory import NameMemory, counted_words

# A prefix is the range [low, high) in byte order, which the "C" collation of the column makes an index scan.
NAME_WORDS: Final = """
    SELECT word, sum(symbols)::int AS symbols FROM (
        SELECT repository_id, word, symbols FROM name_word WHERE repository_id = ANY($1::int[]) AND word = ANY($2::text[])
        UNION
        SELECT w.repository_id, w.word, w.symbols FROM unnest($3::text[], $4::text[]) AS p(low, high), unnest($1::int[]) AS r(id)
        JOIN LATERAL (SELECT * FROM name_word w WHERE w.repository_id = r.id AND w.word >= p.low AND w.word < p.high) w ON true
    ) AS w
    GROUP BY word
"""

_GENERATIONS_KEPT: Final = 64
_SHORTEST_PREFIX: Final = 4
_LAST_CHARACTER: Final = "\U0010ffff"


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A word of names that answers a word of the question with strength ``match``; ``symbols`` definitions have it in their names."""

    query_word: str
    word: str
    match: float
    symbols: int


@dataclass(slots=True)
class _Statistics:
    """What is known of one generation: the rarity of the words that were asked for."""

    rarity: dict[str, float] = field(default_factory=dict)


class Lexicon:
    """Word statistics of published generations, read when first needed."""

    def __init__(self, index: WordIndex) -> None:
        self._index = index
        self._generations: OrderedDict[GenerationKey, _Statistics] = OrderedDict()

    async def rarity(self, reads: Reads, scope: Scope, words: Iterable[str]) -> Mapping[int, Mapping[str, float]]:
        """repository id → word → ``inverse_frequency`` over files, of these words at least; a word that no file has is the rarest."""
        wanted = set(words)
        known = {snapshot.repository_id: self._generation(snapshot).rarity for snapshot in scope.snapshots}
        missing = {word for rarity in known.values() for word in wanted if word not in rarity}
        if missing:
            counted = await self._index.count_files(reads, scope, missing)
            for key, rarity in known.items():
                found = counted.get(key, NO_FILES)
                rarity.update((word, inverse_frequency(found.total, found.files.get(word, 0))) for word in missing if word not in rarity)
        return known

    def _generation(self, snapshot: Snapshot) -> _Statistics:
        key = snapshot.key
        if key not in self._generations:
            self._generations[key] = _Statistics()
            if len(self._generations) > _GENERATIONS_KEPT:
                self._generations.popitem(last=False)
        self._generations.move_to_end(key)
        return self._generations[key]


async def name_matches(reads: Reads, memory: NameMemory, scope: Scope, query_words: Iterable[str]) -> list[NameMatch]:
    """The words of the repositories' names that match words of the question (``words.word_match``), strongest first."""
    questions = list(dict.fromkeys(query_words))
    exact = {form for word in questions for form in (word, *abbreviations_of(word), *_prefixes(word))}
    prefixes = [word for word in questions if len(word) >= _SHORTEST_PREFIX]
    known = memory.of(scope)
    counted = await _read(reads, scope, exact, prefixes) if known is None else counted_words(known, exact, prefixes)
    beginning: dict[str, list[str]] = defaultdict(list)
    for question in questions:
        for form in (question, *_prefixes(question)):
            beginning[form].append(question)
    found = [
        NameMatch(question, word, match, symbols)
        for word, symbols in counted.items()
        for question in _related(word, beginning)
        if (match := word_match(question, word)) > 0
    ]
    return sorted(found, key=lambda item: (-item.match, item.word, item.query_word))


async def _read(reads: Reads, scope: Scope, words: Iterable[str], prefixes: Sequence[str]) -> Mapping[str, int]:
    """The words of names that are among these or begin with a prefix, and how many definitions have each."""
    ends = [word + _LAST_CHARACTER for word in prefixes]
    rows = await reads.fetch(NAME_WORDS, [snapshot.repository_id for snapshot in scope.snapshots], list(words), prefixes, ends)
    return {row["word"]: row["symbols"] for row in rows}


def _related(word: str, beginning: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """The question's words that can match a word of a name: those that begin with it, those that it begins with, and abbreviations.

    ``beginning``: the question's words by what they begin with. Comparing each with each takes seconds for a page of text.
    """
    shorter = (word[:length] for length in range(_SHORTEST_PREFIX, len(word)))
    abbreviated = (form for form in abbreviations_of(word) if form in beginning.get(form, ()))
    whole = (form for form in shorter if form in beginning.get(form, ()))
    return dict.fromkeys((*beginning.get(word, ()), *whole, *abbreviated))


def _prefixes(word: str) -> Iterable[str]:
    """The shorter words that a question's word begins with."""
    return (word[:length] for length in range(3, len(word)))
