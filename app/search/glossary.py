"""Says the words of a question in English, the language that names in code are made of (``app/glossaries``; docs/intents.md).

Only what is surely meant as a word of the other language: what stands in quotes, names and code are left as they are, and nothing at all
is translated of a question that does not show by one of its words that it is in that language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import Stemmer

from app.domain.query import Translated
from app.domain.words import CJK, stem
from app.search.classify import LONGEST_QUESTION, load_classifier
from app.search.glossary_tables import GlossaryTable, read_glossaries
from app.search.operand import quotations

SHORTEST_PART: Final = 3
"""Letters of a part of a compound; shorter ones stand in any word by chance."""

LONGEST_COMPOUND: Final = 32
"""Letters; taking a word apart costs more than its length."""

SURE_STEM: Final = 6
"""Letters of a stem that tells a language: English words may have shorter ones, too ("maps" and "mappe")."""

_TOKEN: Final = re.compile(r"\S+")
_LETTERS: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_RUN: Final = re.compile(f"[{CJK}]+")
_OTHER_SCRIPTS: Final = re.compile("[\u3040-\u30ff\uff66-\uff9f\uac00-\ud7af]")  # kana, Hangul: such a text is no Chinese one
_PUNCTUATION: Final = "?!.,:;…"


@dataclass(frozen=True, slots=True)
class _Found:
    """What a word stands for; ``sure``: no English question has this word."""

    english: tuple[str, ...]
    sure: bool


class Glossary:
    """One language. Holds no state between calls and may be shared by threads."""

    def __init__(self, table: GlossaryTable, stop_words: frozenset[str] = frozenset(), english: frozenset[str] = frozenset()) -> None:
        """``stop_words``: the function words of the language, which have no translation; ``english``: those of English."""
        self._table = table
        self._spelling = str.maketrans(dict(table.spelling or {}))
        self._stemmer = Stemmer.Stemmer(table.stemmer, 0) if table.stemmer else None
        self._stop_words = frozenset(map(self._spelled, stop_words))
        self._unsure = frozenset(map(self._spelled, table.also_english | english))
        self._unsure_stems = frozenset(map(self._stem, self._unsure))
        self._words: dict[str, tuple[str, ...]] = {}
        self._stems: dict[str, tuple[str, ...]] = {}
        for word, meant in table.words.items():
            spelled = self._spelled(word)
            for index, key in ((self._words, spelled), (self._stems, self._stem(spelled))):
                index[key] = tuple(dict.fromkeys((*index.get(key, ()), *meant)))
        self._has_other_scripts = any(map(_OTHER_SCRIPTS.search, self._words))
        self._longest = max(map(len, (*self._words, *self._stop_words)), default=0)

    def knows(self, word: str) -> bool:
        """Whether there is a translation of a word, as it is listed, with another ending, or of its parts."""
        return self._find(self._spelled(word)) is not None

    def translate(self, text: str) -> list[Translated]:
        """The words of ``text`` that have a translation, in order; none when the text is not in this language."""
        return self._apart(text) if self._table.blanks else list(self._in_runs(text))

    def _apart(self, text: str) -> list[Translated]:
        said, is_sure = [], False
        for position, match in enumerate(_TOKEN.finditer(text)):
            word = match[0].strip(_PUNCTUATION)
            # Within a sentence a capital begins a name.
            if not _LETTERS.fullmatch(word) or not (word.islower() or (position == 0 and word.istitle())):
                continue
            spelled = self._spelled(word)
            if spelled in self._stop_words:
                is_sure = is_sure or spelled not in self._unsure
            elif found := self._find(spelled):
                is_sure = is_sure or found.sure
                said.append(Translated(word, found.english))
        return [item for item in said if not _says_the_same(item)] if is_sure else []

    def _find(self, word: str) -> _Found | None:
        if found := self._entry(word):
            return found
        parts = self._parts(word) if self._table.joints is not None and len(word) <= LONGEST_COMPOUND else None
        if parts is None:
            return None
        english = tuple(dict.fromkeys(meant for part in parts for meant in part.english))
        return _Found(english, all(part.sure for part in parts))

    def _entry(self, word: str) -> _Found | None:
        """A word as it is listed, or one that differs by its ending."""
        if english := self._words.get(word):
            return _Found(english, word not in self._unsure and stem(word) not in map(stem, english))
        stemmed = self._stem(word)
        if english := self._stems.get(stemmed):
            is_sure = len(stemmed) >= SURE_STEM and stemmed not in self._unsure_stems and stem(word) not in map(stem, english)
            return _Found(english, is_sure)
        return None

    def _parts(self, word: str) -> list[_Found] | None:
        """The words that a compound is made of, the first one as long as it can be."""
        for end in range(len(word) - SHORTEST_PART, SHORTEST_PART - 1, -1):
            first = self._entry(word[:end])
            if first is None:
                continue
            for joint in self._table.joints or ():
                rest = word[end:].removeprefix(joint)
                if len(rest) < SHORTEST_PART or not word[end:].startswith(joint):
                    continue
                last = self._entry(rest)
                others = [last] if last else self._parts(rest)
                if others:
                    return [first, *others]
        return None

    def _in_runs(self, text: str) -> Iterator[Translated]:
        """By the longest word at each place. A single character counts only where it stands between words: it is part of too many."""
        if not self._has_other_scripts and _OTHER_SCRIPTS.search(text):
            return
        for run in _RUN.finditer(text):
            written, spelled = run[0], self._spelled(run[0])
            if len(spelled) != len(written):
                continue
            for start, end in self._pieces(spelled):
                if english := self._words.get(spelled[start:end]):
                    yield Translated(written[start:end], english)

    def _pieces(self, run: str) -> Iterator[tuple[int, int]]:
        """Known words, and what stands between them."""
        unknown = at = 0
        while at < len(run):
            end = next((end for end in range(min(len(run), at + self._longest), at, -1) if self._is_word(run[at:end])), None)
            if end is None:
                at += 1
                continue
            if unknown < at:
                yield unknown, at
            yield at, end
            unknown = at = end
        if unknown < at:
            yield unknown, at

    def _is_word(self, piece: str) -> bool:
        return piece in self._stop_words or (len(piece) > 1 and piece in self._words)

    def _spelled(self, word: str) -> str:
        return unicodedata.normalize("NFC", word.lower()).translate(self._spelling)

    def _stem(self, word: str) -> str:
        return str(self._stemmer.stemWord(word)) if self._stemmer else word


class Glossaries:
    """All languages that have a glossary."""

    def __init__(self, glossaries: Sequence[Glossary], quotes: Sequence[tuple[str, str]] = ()) -> None:
        self._glossaries = tuple(glossaries)
        self._quoted = quotations(quotes)

    def translate(self, text: str) -> tuple[Translated, ...]:
        """The words of a question with what they are in English; of several lines, or a long text, none: that is code or a log."""
        if len(text) > LONGEST_QUESTION or len(text.splitlines()) > 1:
            return ()
        said = self._quoted.sub(lambda quoted: " " * len(quoted[0]), text)
        found = [item for glossary in self._glossaries for item in glossary.translate(said)]
        return tuple({item.word: item for item in found}.values())


def _says_the_same(item: Translated) -> bool:
    return item.english == (item.word.lower(),)


NO_GLOSSARIES: Final = Glossaries(())


@cache
def load_glossaries() -> Glossaries:
    """The glossaries that ship with the package; raises ConfigurationError when one is not valid."""
    tables = load_classifier().tables
    stop_words: Mapping[str, frozenset[str]] = tables.stop_words_of
    english = stop_words.get("en", frozenset())
    glossaries = [Glossary(table, stop_words.get(table.language, frozenset()), english) for table in read_glossaries()]
    return Glossaries(glossaries, tables.vocabulary.quotes)
