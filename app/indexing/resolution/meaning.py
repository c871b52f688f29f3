"""What an expression stands for, and the parts of a receiver's text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from app.domain.code import Binding, SymbolKind
from app.indexing.resolution.expressions import Expression
from app.indexing.resolution.index import Definition, Module

MOST_OVERLOADS = 8

MOST_LINKS = 7
"""The longest trace of a value; beyond it nothing is known."""


class Place(NamedTuple):
    """Where an expression stands. ``line`` is 0 where the order of statements plays no part."""

    module: Module
    scope: Definition | None
    line: int = 0


class Container(NamedTuple):
    """A collection, or with ``generator`` what a call of it yields. ``added``: items that are assigned after it was made."""

    place: Place
    items: Expression | None = None
    generator: Definition | None = None
    added: tuple[tuple[Expression, Binding, Place], ...] = ()


@dataclass(slots=True, eq=False)  # not frozen: hundreds of thousands are made, and freezing doubles the price
class Meaning:
    """Definitions, modules or a namespace that a name stands for.

    ``instance``: an object of the types in ``definitions``; ``above``: seen through ``super``, the own type left out;
    ``certain``: found by scope and imports alone, without inferring a type or trusting that a name is unique;
    ``opaque``: bound to something that cannot be seen, so that looking further out would find a namesake;
    ``container``: a collection of values; ``external``: the dotted name of something in a library;
    ``alternatives``: it can be any of these, and everything else is empty; ``line``: where a variable of the file was read.
    """

    definitions: tuple[Definition, ...] = ()
    modules: tuple[Module, ...] = ()
    namespace: str = ""
    instance: bool = False
    above: bool = False
    certain: bool = True
    opaque: bool = False
    container: Container | None = None
    external: str = ""
    alternatives: tuple[Meaning, ...] = ()
    line: int = 0

    @property
    def is_external(self) -> bool:
        """From outside of the repository; ``external`` is empty when it is not known from where."""
        return self.opaque and not self.certain

    def below(self, name: str) -> Meaning:
        """A member of something out of sight."""
        return Meaning(opaque=True, certain=self.certain, external=f"{self.external}.{name}") if self.external else self

    @property
    def each(self) -> tuple[Meaning, ...]:
        """The alternatives, or itself when there are none."""
        return self.alternatives or (self,)

    @property
    def identity(self) -> object:
        """Equal for meanings that say the same."""
        where = (self.container.place, self.container.items, self.container.generator) if self.container else None
        return (tuple(d.id for d in self.definitions), self.modules[:1], self.namespace, self.instance, self.above, self.external, where)

    @property
    def types(self) -> tuple[Definition, ...]:
        return tuple(definition for definition in self.definitions if definition.is_type)

    def weakened(self, certain: bool) -> Meaning:
        """The same, certain only if both are."""
        if certain or not self.certain or self.opaque:
            return self
        return Meaning(
            self.definitions,
            self.modules,
            self.namespace,
            self.instance,
            self.above,
            certain=False,
            container=self.container,
            alternatives=tuple(meaning.weakened(False) for meaning in self.alternatives),
            line=self.line,
        )


OPAQUE = Meaning(opaque=True)  # a parameter without a type, a dynamic attribute
EXTERNAL = Meaning(opaque=True, certain=False)  # imported from outside the repository


def any_of(meanings: Iterable[Meaning | None]) -> Meaning:
    """What can be any of these; OPAQUE when nothing is known of any, or when they are too many to say anything."""
    telling: list[Meaning] = []
    for meaning in meanings:
        if meaning is None:
            continue
        if meaning.alternatives:
            telling += [one for one in meaning.alternatives if not one.opaque or one.external]
        elif not meaning.opaque or meaning.external:
            telling.append(meaning)
    if len(telling) == 1:
        return telling[0]
    found: dict[object, Meaning] = {}
    for one in telling:
        found.setdefault(one.identity, one)
    if len(found) == 1:
        return telling[0]
    if not found or len(found) > MOST_OVERLOADS:
        return OPAQUE
    return Meaning(alternatives=tuple(one.weakened(False) for one in found.values()), certain=False)


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


@lru_cache(maxsize=1 << 16)
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
