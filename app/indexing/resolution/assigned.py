"""The bindings of one file by what they bind, so that a name's values are found without reading all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from app.domain.code import Binding, BindingKind
from app.indexing.resolution.expression_parser import parse_target
from app.indexing.resolution.expressions import (
    UNKNOWN,
    Attribute,
    Collection,
    Constant,
    Expression,
    Name,
    Slice,
    Subscript,
)
from app.indexing.resolution.index import Module

_WORD = re.compile(r"[^\W\d]\w*")

Path = tuple[Expression, ...]
"""The keys that lead from a value into what a pattern takes from it: of ``a, (b, c) = …``, (1, 0) for ``b``."""


class Bound(NamedTuple):
    """One binding of a name or attribute, with the part of its value that is meant."""

    binding: Binding
    path: Path = ()


@dataclass(slots=True)
class Assigned:
    """A file's bindings. Scopes are symbol ordinals, None for the file's top level; ``items`` and ``attributes`` go by the last name.

    ``bound_names`` are all in ``names``, ``varying`` those whose value depends on the line, ``keys`` the words in collections.
    """

    names: dict[tuple[int | None, str], list[Bound]] = field(default_factory=dict)
    attributes: dict[str, list[tuple[Expression, Bound]]] = field(default_factory=dict)
    items: dict[str, list[tuple[Subscript, Binding]]] = field(default_factory=dict)
    returns: dict[int | None, list[Binding]] = field(default_factory=dict)
    decorated: dict[tuple[int | None, str], list[Binding]] = field(default_factory=dict)
    passes: list[Binding] = field(default_factory=list)
    iterated: list[Binding] = field(default_factory=list)
    bound_names: set[str] = field(default_factory=set)
    varying: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)


def facts_of(module: Module) -> Assigned:
    """A file's bindings, sorted once."""
    if module.facts is None:
        module.facts = _sorted(module)
    return module.facts


def _sorted(module: Module) -> Assigned:
    found = Assigned()
    for binding in module.assigned:
        if binding.kind is BindingKind.RETURN or binding.kind is BindingKind.YIELD:
            found.returns.setdefault(binding.enclosing, []).append(binding)
        elif binding.kind is BindingKind.CALL:
            found.passes.append(binding)
        elif binding.kind is BindingKind.DECORATE:
            found.decorated.setdefault((binding.enclosing, binding.target), []).append(binding)
        else:
            if binding.kind is BindingKind.ITEM:
                found.iterated.append(binding)
            if binding.value[0] == "{":
                found.keys.update(_WORD.findall(binding.value))
            if binding.target.isidentifier():
                found.names.setdefault((binding.enclosing, binding.target), []).append(Bound(binding))
            else:
                _take_apart(found, parse_target(binding.target), Bound(binding))
    found.bound_names = {name for _, name in found.names}
    found.varying = found.items.keys() | {name for (_, name), bounds in found.names.items() if len(bounds) > 1}
    return found


def _take_apart(found: Assigned, target: Expression, bound: Bound) -> None:
    if isinstance(target, Name):
        found.names.setdefault((bound.binding.enclosing, target.name.lstrip("$@")), []).append(bound)
    elif isinstance(target, Attribute):
        found.attributes.setdefault(target.name, []).append((target.owner, bound))
    elif isinstance(target, Subscript):
        found.items.setdefault(last_name(target.owner), []).append((target, bound.binding))
    elif isinstance(target, Collection):
        starred = False
        for position, (key, item) in enumerate(target.items):
            if key is UNKNOWN:
                starred, key = True, Slice(position)
            elif starred and isinstance(key, Constant) and isinstance(key.value, int):
                key = Constant(position - len(target.items))
            _take_apart(found, item, Bound(bound.binding, (*bound.path, key)))


def in_force(bounds: Sequence[Bound], line: int) -> list[Bound]:
    """Of the bindings of one name in one scope those that can hold at ``line``: a later one in a block around it ends the earlier."""
    if not line:
        return list(bounds)
    kept: list[Bound] = []
    for bound in bounds:
        binding = bound.binding
        if binding.line < line <= binding.until:
            kept = [other for other in kept if other.binding.line == binding.line and other.binding is binding]
        kept.append(bound)
    before = [bound for bound in kept if bound.binding.line <= line]
    return before or kept


def last_name(expression: Expression) -> str:
    """``d`` for ``d``, ``x.d`` and ``d["a"]``; empty for what has no name."""
    while isinstance(expression, Subscript):
        expression = expression.owner
    return expression.name if isinstance(expression, Name | Attribute) else ""
