"""What the trigram index can be asked, and how.

pg_trgm takes trigrams from runs of letters and digits, each padded with two blanks before and one behind where its end is known. A
condition from which it can take none is no condition to it: the index would hand over every chunk.
"""

from __future__ import annotations

from typing import Final

from app.retrievers.required import AllOf, Atom, Condition, InOrder
from app.storage.like import containing
from app.storage.tables import ODD_CASE

MOST_CONDITIONS: Final = 3
"""Of so many that must all hold, the longest are asked for; the others would cost more than they keep out."""

_PADDING_BEFORE: Final = 2
_TRIGRAM: Final = 3
_LAST_CERTAIN_LETTER: Final = "\uffff"


def has_trigram(literal: str) -> bool:
    """Whether pg_trgm takes a trigram from ``%literal%``, whatever the server's locale says of characters that are no letters."""
    padding = letters = 0
    for character in literal:
        if _is_part_of_run(character):
            letters += 1
            if padding + letters >= _TRIGRAM:
                return True
        elif character.isascii():
            if letters and padding + letters + 1 >= _TRIGRAM:  # one blank behind
                return True
            padding, letters = _PADDING_BEFORE, 0
        else:
            padding = letters = 0
    return False


def _is_part_of_run(character: str) -> bool:
    """Marks, digits of other scripts and rare letters may be part of a run or end it: that depends on the server."""
    return character.isalnum() if character.isascii() else character.isalpha() and character <= _LAST_CERTAIN_LETTER


def is_indexed(condition: Condition) -> bool:
    """Whether the index can tell for which texts the condition may hold, short of all."""
    if isinstance(condition, Atom):
        return has_trigram(condition.text)
    if isinstance(condition, AllOf | InOrder):
        return any(map(is_indexed, condition.parts))
    return all(map(is_indexed, condition.parts))


def worth_asking(condition: Condition) -> Condition:
    """The condition without the parts that the index cannot use beside others that it can, and with few of these."""
    if isinstance(condition, InOrder):
        indexed = [atom for atom in condition.parts if is_indexed(atom)] or condition.parts
        longest = sorted(range(len(indexed)), key=lambda place: -len(indexed[place].text))[:MOST_CONDITIONS]
        kept = tuple(indexed[place] for place in sorted(longest))
        return InOrder(kept) if len(kept) > 1 else kept[0]
    if not isinstance(condition, AllOf):
        return condition
    parts = [worth_asking(part) for part in condition.parts if is_indexed(part)] or condition.parts
    return AllOf(tuple(sorted(parts, key=_selectivity, reverse=True)[:MOST_CONDITIONS]))


def _selectivity(condition: Condition) -> int:
    """Characters that must occur."""
    if isinstance(condition, Atom):
        return len(condition.text)
    lengths = [_selectivity(part) for part in condition.parts]
    if isinstance(condition, InOrder):
        return sum(lengths)
    return max(lengths, default=0) if isinstance(condition, AllOf) else min(lengths, default=0)


def to_sql(condition: Condition, column: str, first_parameter: int) -> tuple[str, list[str]]:
    """The condition on a text column, and the values of the parameters from $``first_parameter`` on.

    Where case does not matter, ſ is an s and ς a σ, but not for ILIKE: the few chunks that hold such a letter have an index of their own.
    """
    values: list[str] = []

    def render(part: Condition) -> str:
        if isinstance(part, Atom | InOrder):
            atoms = (part,) if isinstance(part, Atom) else part.parts
            values.append(containing(*(atom.text for atom in atoms)))
            return f"{column} {'ILIKE' if atoms[0].any_case else 'LIKE'} ${first_parameter + len(values) - 1}"
        if not part.parts:
            return "true" if isinstance(part, AllOf) else "false"
        return "(" + (" AND " if isinstance(part, AllOf) else " OR ").join(map(render, part.parts)) + ")"

    sql = render(condition)
    return (f"({sql} OR {column} ~ '{ODD_CASE}')" if "ILIKE" in sql else sql), values
