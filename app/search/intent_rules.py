"""What the classifier's tables hold: rules in groups, their patterns, and the words around an operand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import re2

from app.domain.query import Intent, Relation


class Group(StrEnum):
    """The groups of rules in the order in which they are tried; within a group ``any.toml`` comes first, then file order."""

    PASTED = "pasted"
    SNIPPET = "snippet"
    EXPLANATION = "explanation"
    REFERENCES = "references"
    IMPACT = "impact"
    SIMILAR = "similar"
    DEFINITION = "definition"
    KEYWORD = "keyword"
    LITERAL = "literal"
    QUOTE_OR_ERROR = "quote_or_error"
    NAME = "name"
    TOPIC = "topic"


class Scope(StrEnum):
    """What a rule's patterns see: the question on one line, without courtesy and final punctuation, or the whole text."""

    LINE = "line"
    TEXT = "text"


class OperandKind(StrEnum):
    """How the group ``operand`` of a pattern is read; without that group, all that the rule saw is the operand.

    ``symbol``: a name or a word that stands for one; ``name``: only what looks like a name; ``literal``: the words as they are,
    without the quotes around them; ``text``: exactly as written.
    """

    SYMBOL = "symbol"
    NAME = "name"
    LITERAL = "literal"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern with its phrases expanded; ``operand_group`` is the number of its group ``operand``, 0 without one."""

    text: str
    compiled: re2._Regexp
    operand_group: int


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. ``confidence`` holds for a name or when nothing is named; ``word`` and ``phrase`` for weaker operands.

    Without ``phrase`` the rule does not apply to an operand of several words that name no symbol. ``outgoing``: what the operand uses is
    asked for, instead of what uses it.
    """

    name: str
    group: Group
    intent: Intent
    confidence: float
    patterns: tuple[Pattern, ...]
    examples: tuple[str, ...]
    unless: tuple[Pattern, ...] = ()
    word: float | None = None
    phrase: float | None = None
    operand: OperandKind = OperandKind.SYMBOL
    scope: Scope = Scope.LINE
    outgoing: bool = False


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words around an operand, lower case, over all languages.

    ``fillers`` are articles and the like, ``kinds`` say what a symbol is, ``pointers`` stand for something not named ("this"),
    ``places`` begin the part that says where, ``conjunctions`` join two operands, ``proper_nouns`` look like identifiers in prose.
    """

    fillers: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    pointers: frozenset[str] = frozenset()
    places: frozenset[str] = frozenset()
    conjunctions: frozenset[str] = frozenset()
    proper_nouns: frozenset[str] = frozenset()
    quotes: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class IntentTables:
    """All tables together: rules in the order in which they are tried, courtesy at either end of a question, words.

    ``stop_words_of``: language → its function words, lower case. ``relations``: the words by which a question for uses asks for one kind
    of them, or, under None, for any kind.
    """

    rules: tuple[Rule, ...]
    openings: tuple[Pattern, ...]
    closings: tuple[Pattern, ...]
    vocabulary: Vocabulary
    stop_words_of: Mapping[str, frozenset[str]]
    relations: Mapping[Relation | None, tuple[Pattern, ...]]

    @property
    def stop_words(self) -> frozenset[str]:
        """Those of all languages."""
        return frozenset().union(*self.stop_words_of.values())
