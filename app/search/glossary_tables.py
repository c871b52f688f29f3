"""Reads and validates the glossaries (``app/glossaries/*.toml``): every mistake in them is found at start, not by a query."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import Stemmer

from app.domain.errors import ConfigurationError
from app.domain.words import CJK

MOST_ENGLISH: Final = 3
"""English words for one word: more would drown the rest of the question."""

_KEYS: Final = {"language", "stemmer", "joints", "also_english", "spelling", "words"}
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ENGLISH: Final = re.compile(r"[a-z]+")
_WITHOUT_BLANKS: Final = re.compile(f"[{CJK}]+")


@dataclass(frozen=True, slots=True)
class GlossaryTable:
    """One file. ``words``: word → the English words that stand for it in code.

    ``stemmer`` takes endings off, ``joints`` stand between the parts of a compound (None: words have none), ``also_english`` are words that
    tell nothing of a question's language, ``spelling`` says which characters stand for others. ``blanks``: words stand apart.
    """

    language: str
    words: Mapping[str, tuple[str, ...]]
    stemmer: str | None = None
    joints: tuple[str, ...] | None = None
    also_english: frozenset[str] = frozenset()
    spelling: Mapping[str, str] | None = None
    blanks: bool = True


def read_glossaries() -> list[GlossaryTable]:
    """The glossaries that ship with the package; raises ConfigurationError naming file and fault."""
    sources = {
        entry.name.removesuffix(".toml"): entry.read_text(encoding="utf-8")
        for entry in files("app.glossaries").iterdir()
        if entry.name.endswith(".toml")
    }
    return [parse_glossary(name, sources[name]) for name in sorted(sources)]


def parse_glossary(name: str, source: str) -> GlossaryTable:
    """Raises ConfigurationError naming file and fault."""
    where = f"glossaries/{name}.toml"
    try:
        data = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        raise ConfigurationError(f"{where}: {error}") from error
    if unknown := set(data) - _KEYS:
        raise ConfigurationError(f"{where}: unknown key {', '.join(sorted(unknown))}")
    if data.get("language") != name:
        raise ConfigurationError(f"{where}: language must be {name!r}, as the file's name says, not {data.get('language')!r}")
    stemmer = data.get("stemmer")
    if stemmer is not None and stemmer not in Stemmer.algorithms():
        raise ConfigurationError(f"{where}: stemmer {stemmer!r} is none of {', '.join(Stemmer.algorithms())}")
    words = _words(where, data.get("words", {}))
    blanks = not any(map(_WITHOUT_BLANKS.fullmatch, words))
    joints = data.get("joints")
    return GlossaryTable(
        language=name,
        words=words,
        stemmer=stemmer,
        joints=None if joints is None else ("", *joints),
        also_english=frozenset(data.get("also_english", [])),
        spelling=_spelling(where, data.get("spelling", {}), blanks=blanks),
        blanks=blanks,
    )


def _words(where: str, rows: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    words: dict[str, tuple[str, ...]] = {}
    for english, meant in rows.items():
        if not _ENGLISH.fullmatch(english):
            raise ConfigurationError(f"{where}: {english!r} is no English word in lower case, as names in code are made of")
        if not isinstance(meant, list) or not meant:
            raise ConfigurationError(f"{where}: {english} must have a list of words with at least one in it")
        for word in meant:
            if not isinstance(word, str) or not _WORD.fullmatch(word) or word != word.lower():
                raise ConfigurationError(f"{where}: {english}: {word!r} is not one word in lower case")
            if english in words.get(word, ()):
                raise ConfigurationError(f"{where}: {english}: {word!r} stands there twice")
            words[word] = (*words.get(word, ()), english)
            if len(words[word]) > MOST_ENGLISH:
                raise ConfigurationError(f"{where}: {word!r} has more than {MOST_ENGLISH} English words: {', '.join(words[word])}")
    return words


def _spelling(where: str, rows: Mapping[str, str], *, blanks: bool) -> dict[str, str]:
    """Without blanks a word's place is counted in characters, which must stay as many."""
    for written, meant in rows.items():
        if len(written) != 1 or not isinstance(meant, str) or not meant or (not blanks and len(meant) != 1):
            raise ConfigurationError(f"{where}: spelling of {written!r}: one character stands for {'others' if blanks else 'another'}")
    return dict(rows)
