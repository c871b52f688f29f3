"""Expressions as trees: names, members, calls, subscripts, collections and alternatives, in any of the languages.

What a value cannot be learnt from (arithmetic, comparisons, functions without a name) is ``UNKNOWN``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias


# Not frozen, although nobody changes them: to freeze them would double the price of making one.
@dataclass(slots=True, unsafe_hash=True)
class Name:
    name: str


@dataclass(slots=True, unsafe_hash=True)
class Attribute:
    owner: Expression
    name: str


@dataclass(slots=True, unsafe_hash=True)
class Argument:
    """``name`` is None for one that is passed by its position; ``spread`` stands for several."""

    name: str | None
    value: Expression
    spread: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Call:
    """``new``: certainly of a type."""

    callee: Expression
    arguments: tuple[Argument, ...]
    new: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Subscript:
    owner: Expression
    key: Expression


@dataclass(slots=True, unsafe_hash=True)
class Constant:
    """A string or a whole number."""

    value: str | int


@dataclass(slots=True, unsafe_hash=True)
class Collection:
    """A list, tuple, dictionary or object: its items with their keys (the position for those without)."""

    items: tuple[tuple[Expression, Expression], ...]


@dataclass(slots=True, unsafe_hash=True)
class Slice:
    start: int


@dataclass(slots=True, unsafe_hash=True)
class Choice:
    """One of several: ``a or b``, ``c ? a : b``."""

    values: tuple[Expression, ...]


@dataclass(slots=True, unsafe_hash=True)
class Each:
    """``[value for target in source]``: a collection of ``value``; ``keyed``: a loop over it gives its keys."""

    value: Expression
    keyed: bool = False


@dataclass(slots=True, unsafe_hash=True)
class Typed:
    """An object of a declared type, as signatures give it."""

    written: str


@dataclass(slots=True, unsafe_hash=True)
class Unknown:
    pass


Expression: TypeAlias = Name | Attribute | Call | Subscript | Constant | Collection | Slice | Choice | Each | Typed | Unknown

UNKNOWN: Final = Unknown()
