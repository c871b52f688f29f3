"""What an expression stands for, and the parts of a receiver's text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from app.domain.code import SymbolKind
from app.indexing.resolution.index import Definition, Module

MOST_OVERLOADS = 8


@dataclass(slots=True, eq=False)  # not frozen: hundreds of thousands are made, and freezing doubles the price
class Meaning:
    """Definitions, modules or a namespace that a name stands for.

    ``instance``: an object of the types in ``definitions``; ``above``: seen through ``super``, the own type left out;
    ``certain``: found by scope and imports alone, without inferring a type or trusting that a name is unique;
    ``opaque``: bound to something that cannot be seen, so that looking further out would find a namesake.
    """

    definitions: tuple[Definition, ...] = ()
    modules: tuple[Module, ...] = ()
    namespace: str = ""
    instance: bool = False
    above: bool = False
    certain: bool = True
    opaque: bool = False

    @property
    def types(self) -> tuple[Definition, ...]:
        return tuple(definition for definition in self.definitions if definition.is_type)

    def weakened(self, certain: bool) -> Meaning:
        """The same, certain only if both are."""
        return self if certain or not self.certain or self.opaque else replace(self, certain=False)


OPAQUE = Meaning(opaque=True)  # a parameter without a type, a dynamic attribute
EXTERNAL = Meaning(opaque=True, certain=False)  # imported from outside the repository


def meaning_of(definitions: Sequence[Definition]) -> Meaning | None:
    """One name's definitions in one scope. Functions and types shadow variables; of several variables the first counts.

    Overloads are all meant, none for certain. ``impl`` blocks and declarations that have a definition are left out.
    """
    if len(definitions) == 1:
        return Meaning((definitions[0],))
    chosen = [d for d in definitions if d.kind is not SymbolKind.IMPL] or list(definitions)
    if len(chosen) > 1:
        chosen = [d for d in chosen if not d.is_prototype] or chosen
        strong = [d for d in chosen if d.is_callable or d.is_type]
        chosen = strong or chosen[:1]
    if not chosen:
        return None
    return Meaning(tuple(chosen[:MOST_OVERLOADS]), certain=len(chosen) == 1)


class Segment(NamedTuple):
    """One link of a receiver: ``app.make(x)`` is ``app``, then ``make`` called."""

    name: str
    called: bool


_LINK = re.compile(r"(?:\.|\?\.|!\.|->|::|\\)?([$@]{0,2}[^\W\d]\w*)[!?]?")


def segments(text: str) -> tuple[Segment, ...] | None:
    """The links of a receiver; None when it is anything else (a literal, a subscript, an operator)."""
    if text.isidentifier():
        return (Segment(text, False),)
    text = re.sub(r"\s+", " ", text.strip())
    constructed = text.startswith("new ")
    text = text.removeprefix("await ").removeprefix("new ").lstrip("\\")
    while text.startswith("(") and _closing(text, 0) == len(text) - 1:
        constructed = constructed or text.startswith("(new ")
        text = text[1:-1].strip().removeprefix("await ").removeprefix("new ")
    found: list[Segment] = []
    position = 0
    while position < len(text):
        link = _LINK.match(text, position)
        if not link:
            return None
        position = link.end()
        called = False
        if text[position : position + 1] == "<":
            position = text.find(">", position) + 1 or len(text)
        if text[position : position + 1] in ("(", "{"):
            position = _closing(text, position) + 1
            called = True
        found.append(Segment(link[1], called))
        if position < len(text) and text[position] not in ".?!-:\\":
            return None
    if constructed and found:
        found[-1] = Segment(found[-1].name, True)
    return tuple(found) or None


def _closing(text: str, start: int) -> int:
    depth = 0
    for index in range(start, len(text)):
        if text[index] in "([{":
            depth += 1
        elif text[index] in ")]}":
            depth -= 1
            if not depth:
                return index
    return len(text)
