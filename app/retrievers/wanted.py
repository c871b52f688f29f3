"""What an exact search wants: the matcher that decides, and the condition that the index is asked for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from app.domain.errors import InvalidRequest
from app.domain.expression import And, Expression, ExpressionMatcher, Not, Term, terms, written
from app.domain.matching import Matcher, matcher
from app.domain.query import RetrievalQuery
from app.retrievers.required import ALWAYS, NEVER, AnyOf, Atom, Condition, all_of, any_of, literal_condition, pattern_condition
from app.retrievers.trigrams import has_trigram, worth_asking

LARGEST_WORK: Final = 10_000_000_000
"""Instructions × bytes that one text may cost: about two seconds at worst. Only a huge line under a large pattern costs more."""

_WORK_IN_PLACE: Final = 50_000_000
"""About ten milliseconds at worst; more is done in a thread, where RE2 lets the event loop go on."""

_WORK_OF_A_CALL: Final = 25_000
"""What it costs to begin, in the same measure; an expression begins once for each of its terms."""

_WORK_OF_A_LINE: Final = 10_000
"""Of one that matches a pattern: each is an object of Python."""

FEW: Final = 40
"""Occurrences of a string, than which most chunks have more lines."""

_BATCH: Final = 500_000_000
_NAME: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A literal or a pattern (``regex``). ``condition`` holds for every text that ``matcher`` finds a line in.

    ``terms``: those that speak for a text, of a boolean expression, which is decided for a chunk as a whole (``of_chunk``).
    """

    text: str
    regex: bool
    any_case: bool
    whole_word: bool
    matcher: Matcher
    condition: Condition
    of_chunk: bool = False
    terms: tuple[Term, ...] = ()

    @property
    def is_block(self) -> bool:
        """A literal of several lines, which may begin in one chunk and end in another."""
        return not self.regex and "\n" in self.text

    @property
    def relation(self) -> str:
        """What an evidence calls it."""
        if self.of_chunk:
            return "expression"
        return "pattern" if self.regex else "literal"

    @property
    def fits_anything(self) -> bool:
        """Whether every text has a match, as that of ``.*`` or of filters alone; nobody expects an index to help with that."""
        return bool(self.matcher.lines(""))

    def names(self) -> list[str]:
        """The names, in lower case, that a literal, or a literal of an expression, may say the definition of."""
        literals = [term.text for term in self.terms if not term.regex] if self.of_chunk else [] if self.regex else [self.text]
        return [name.lower() for literal in literals for name in _NAME.findall(literal)]

    @property
    def is_like(self) -> bool:
        """Whether LIKE alone decides as the matcher does."""
        return not (self.regex or self.any_case or self.whole_word or self.is_block)


def wanted(query: RetrievalQuery, *, any_case: bool) -> Wanted:
    """Raises InvalidRequest for what is no pattern, and for one that can match no line."""
    if query.expression is not None:
        return _of_expression(query.expression)
    text, filters = query.literal or "", query.filters
    if filters.regex:
        condition = worth_asking(pattern_condition(text, any_case=any_case))
    elif "\n" in text:
        condition = _longest_line(text, any_case)
    else:
        condition = literal_condition(text, any_case=any_case)
    if condition == NEVER:
        raise InvalidRequest("the pattern needs a line end, and patterns are matched line by line", field="query")
    found_by = matcher(text, regex=filters.regex, case=not any_case, word=filters.word)
    return Wanted(text, filters.regex, any_case, filters.word, found_by, condition)


def _of_expression(expression: Expression) -> Wanted:
    return Wanted(
        written(expression),
        regex=True,
        any_case=False,
        whole_word=False,
        matcher=ExpressionMatcher(expression),
        condition=worth_asking(_condition_of(expression)),
        of_chunk=True,
        terms=tuple(dict.fromkeys(terms(expression))),
    )


def _condition_of(expression: Expression) -> Condition:
    """What a text that fulfils the expression must hold; of what must not occur the index says nothing."""
    if isinstance(expression, Term):
        read = pattern_condition if expression.regex else literal_condition
        return read(expression.text, any_case=expression.any_case)
    if isinstance(expression, Not):
        return ALWAYS
    join = all_of if isinstance(expression, And) else any_of
    return join(_condition_of(part) for part in expression.parts)


def _longest_line(text: str, any_case: bool) -> Condition:
    """The condition of a literal of several lines: any of them must be in some chunk, all of them need not be in one."""
    line = max(text.split("\n"), key=lambda part: (has_trigram(part), len(part)))
    return literal_condition(line, any_case=any_case)


class Clock:
    """How much of a retriever's time is over."""

    def __init__(self, deadline_ms: int) -> None:
        self._began = monotonic()
        self._seconds = deadline_ms / 1_000

    def is_late(self, share: float = 0.7) -> bool:
        """Whether so much time is over that what was found should be handed over."""
        return monotonic() - self._began > share * self._seconds


def most_matching(text: str, counted: Sequence[str] | None) -> int:
    """As many lines of the text may match a pattern: no more than hold one of the ``counted`` strings, of which each match has one.

    A few more than there are is close enough: lines are counted only where it matters.
    """
    most = None if counted is None else sum(map(text.count, counted))
    return most if most is not None and most < FEW else min(text.count("\n") + 1, most or len(text) + 1)


def counted_strings(condition: Condition) -> tuple[str, ...] | None:
    """Strings of which one at least is in every line that matches what needs the condition; None where lines are counted faster.

    Of what all must be there the longest, as that will be the rarest.
    """
    if isinstance(condition, Atom):
        return None if condition.any_case else (condition.text,)
    parts = [counted_strings(part) for part in condition.parts]
    if isinstance(condition, AnyOf):
        return None if None in parts else tuple(text for part in parts if part is not None for text in part)
    return max((part for part in parts if part), key=lambda strings: min(map(len, strings)), default=None)


async def matching_lines(texts: Sequence[str], target: Wanted, clock: Clock | None) -> list[list[int] | None]:
    """For each text the 0-based numbers of its lines that match; None for a text that was not looked at, being too long or too late."""
    lines: list[list[int] | None] = []
    batch: list[str] = []
    work = 0
    counted = None if target.of_chunk else counted_strings(target.condition)
    for text in texts:
        cost = len(text) * target.matcher.size + _WORK_OF_A_CALL * len(target.terms)
        if target.regex:
            cost += _WORK_OF_A_LINE * most_matching(text, counted)
        if cost > LARGEST_WORK or (clock is not None and clock.is_late()):
            lines += await _checked(batch, target, work)
            lines.append(None)
            batch, work = [], 0
            continue
        batch.append(text)
        work += cost
        if work > _BATCH:
            lines += await _checked(batch, target, work)
            batch, work = [], 0
    return lines + await _checked(batch, target, work)


async def _checked(texts: Sequence[str], target: Wanted, work: int) -> list[list[int]]:
    if work <= _WORK_IN_PLACE:
        return target.matcher.lines_of_each(texts)
    return await asyncio.to_thread(target.matcher.lines_of_each, texts)
