"""What a chunk is worth for a boolean expression: the sum of its parts, each as well as it stands there and as rare as it is.

``foo or bar``: a chunk with both comes before a chunk with one, and of these the one with the rarer word first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from math import log
from typing import Final

from app.domain.expression import Term
from app.retrievers.matches import SAME_CASE, WHOLE_WORD, Match, stands_alone
from app.retrievers.wanted import Clock, Wanted

_BATCH: Final = 100
"""Chunks that are looked at before the time is asked for."""


async def with_scores(found: Sequence[Match], target: Wanted, clock: Clock) -> list[Match]:
    """The matches of an expression, each with its score. Those for which there is no time are worth the least that any is.

    Filters alone, and what only must not occur, say nothing of that.
    """
    terms = target.terms
    if not terms:
        return list(found)
    worth: list[list[float]] = []
    for start in range(0, len(found), _BATCH):
        if clock.is_late():
            break
        texts = [match.text for match in found[start : start + _BATCH]]
        worth += await asyncio.to_thread(_worth_of_each, texts, terms)
    rarity = [log(1 + len(worth) / max(1, sum(row[place] > 0 for row in worth))) for place in range(len(terms))]
    scores = [sum(value * rare for value, rare in zip(row, rarity, strict=True)) for row in worth]
    whole = sum(rarity) or 1.0
    least = min(scores, default=0.0)
    scores += [least] * (len(found) - len(scores))
    return [match._replace(score=1 + score / whole) for match, score in zip(found, scores, strict=True)]


def _worth_of_each(texts: Sequence[str], terms: Sequence[Term]) -> list[list[float]]:
    return [[_worth(term, text, lowered) for term in terms] for text, lowered in ((text, text.lower()) for text in texts)]


def _worth(term: Term, text: str, lowered: str) -> float:
    """0 where the term does not occur; more in the case given and as a whole word, as for a literal alone."""
    if term.regex or term.word:
        return 1 + SAME_CASE + WHOLE_WORD if term.matcher.lines(text) else 0.0
    if term.text in text:
        return 1 + SAME_CASE + WHOLE_WORD * stands_alone(term.text, text)
    return 1 + WHOLE_WORD * stands_alone(term.text.lower(), lowered) if term.any_case and term.matcher.lines(text) else 0.0
