"""A boolean query over texts: terms that must or must not occur, joined by and, or, not. Decided for a chunk as a whole.

The grammar that people type is read by ``app/search/query_language.py``; here is what it means.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from app.domain.matching import Matcher, Span, matcher


@dataclass(frozen=True, slots=True)
class Term:
    """A string, or with ``regex`` a pattern of RE2, that occurs within a line."""

    text: str
    regex: bool = False
    any_case: bool = False
    word: bool = False

    @property
    def matcher(self) -> Matcher:
        """Raises InvalidRequest for what is no pattern."""
        return matcher(self.text, regex=self.regex, case=not self.any_case, word=self.word)


@dataclass(frozen=True, slots=True)
class Not:
    part: Expression


@dataclass(frozen=True, slots=True)
class And:
    """Of no parts: it holds for every text."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Expression, ...]


Expression: TypeAlias = Term | Not | And | Or

EVERYTHING: Final = And(())


def holds(expression: Expression, text: str) -> bool:
    """Whether a text fulfils the expression."""
    if isinstance(expression, Term):
        return next(iter(expression.matcher.lines(text)), None) is not None
    if isinstance(expression, Not):
        return not holds(expression.part, text)
    if isinstance(expression, And):
        return all(holds(part, text) for part in expression.parts)
    return any(holds(part, text) for part in expression.parts)


def terms(expression: Expression, *, positive: bool = True) -> Iterator[Term]:
    """The terms in order; ``positive``: only those that speak for a text, which stand under an even number of negations."""
    if isinstance(expression, Term):
        yield from (expression,) if positive else ()
    elif isinstance(expression, Not):
        yield from terms(expression.part, positive=not positive)
    else:
        for part in expression.parts:
            yield from terms(part, positive=positive)


def written(expression: Expression) -> str:
    """The expression in the form in which it is typed, with all parentheses that matter."""
    if isinstance(expression, Term):
        return f"regex:/{expression.text.replace('/', chr(92) + '/')}/" if expression.regex else _quoted(expression.text)
    if isinstance(expression, Not):
        return "-" + (written(expression.part) if isinstance(expression.part, Term) else f"({written(expression.part)})")
    if isinstance(expression, Or):
        return " or ".join(written(part) for part in expression.parts)
    return " ".join(f"({written(part)})" if isinstance(part, Or) else written(part) for part in expression.parts)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class ExpressionMatcher:
    """The lines of the positive terms of a text that fulfils the expression; its first line where no term is positive."""

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._positive = tuple(dict.fromkeys(terms(expression)))

    @cached_property
    def size(self) -> int:
        """See Matcher."""
        return max(1, sum(term.matcher.size for term in {*self._positive, *terms(self._expression, positive=False)}))

    def lines(self, text: str) -> list[int]:
        """See Matcher. ``text`` is a whole chunk."""
        if not holds(self._expression, text):
            return []
        return sorted({line for term in self._positive for line in term.matcher.lines(text)}) or [0]

    def lines_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """See Matcher."""
        return [self.lines(text) for text in texts]

    def spans(self, text: str) -> Iterator[Span]:
        """See Matcher; spans of different terms may overlap."""
        if holds(self._expression, text):
            yield from sorted(span for term in self._positive for span in term.matcher.spans(text))
