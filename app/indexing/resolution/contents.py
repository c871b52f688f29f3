"""What collections hold: items by their keys, what a loop over a value gives, and what is added later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from app.domain.code import Binding, BindingKind
from app.indexing.resolution.expression_parser import parse
from app.indexing.resolution.expressions import UNKNOWN, Collection, Constant, Each, Expression, Slice, Subscript, Typed
from app.indexing.resolution.index import Definition
from app.indexing.resolution.meaning import MOST_LINKS, OPAQUE, Container, Meaning, Place, any_of

if TYPE_CHECKING:
    from app.indexing.resolution.flow import Flow
    from app.indexing.resolution.names import Names

_GIVING_ITEM: Final = frozenset({"get", "pop", "setdefault", "popleft", "at", "shift", "find"})
_GIVING_ITEMS: Final = frozenset({"values", "copy", "filter", "slice", "reverse", "concat"})
GIVING: Final = _GIVING_ITEM | _GIVING_ITEMS


class Contents:
    """Looks into containers; what an item is worth, ``flow`` says."""

    def __init__(self, names: Names, flow: Flow) -> None:
        self._names = names
        self._flow = flow

    def collection(self, place: Place, held: str, *, keyed: bool) -> Meaning:
        """A collection of objects of a declared type."""
        return Meaning(container=Container(place, Each(Typed(held), keyed)), certain=False)

    def given(self, of: Meaning, method: str, depth: int) -> Meaning | None:
        """What a method of a collection of one kind gives: an item, or the items again; None for all others."""
        container = of.container
        if container is None or not isinstance(container.items, Each) or method not in GIVING:
            return None
        if method in _GIVING_ITEMS:
            return Meaning(container=container._replace(items=Each(container.items.value)), certain=False)
        return self._flow.value(container.place, container.items.value, depth + 1)

    def item(self, value: Meaning, key: Expression, depth: int, place: Place | None = None) -> Meaning:
        """One item of a collection; any of them when it cannot be told which."""
        if depth > MOST_LINKS:
            return OPAQUE
        return any_of(self._item(one.container, key, depth, place) for one in value.each if one.container is not None).weakened(False)

    def _item(self, container: Container, key: Expression, depth: int, place: Place | None) -> Meaning:
        if container.generator is not None:
            return OPAQUE
        if isinstance(container.items, Each):
            if container.items.keyed and key is UNKNOWN and place is None:
                return OPAQUE
            return self._flow.value(container.place, container.items.value, depth + 1) or OPAQUE
        if isinstance(key, Slice):
            return Meaning(container=container._replace(items=_shifted(container.items, key.start), added=()), certain=False)
        found: list[Meaning | None] = []
        is_replaced = False
        for added, binding, where in container.added:
            if not _may_equal(key, added):
                continue
            value = self._flow.value(where, parse(binding.value), depth + 1)
            if place is not None and key == added and where.scope is place.scope and where.line <= place.line <= binding.until:
                found, is_replaced = [value], True
            else:
                found.append(value)
        if not is_replaced:
            found += [self._valued(container.place, value, depth) for value in _items(container.items, key)]
        return any_of(found)

    def _valued(self, place: Place, value: Expression, depth: int) -> Meaning | None:
        return self._flow.value(place._replace(line=0) if place.scope is None else place, value, depth + 1)

    def items(self, value: Meaning, depth: int) -> Meaning:
        """What a loop over a value gives."""
        if depth > MOST_LINKS:
            return OPAQUE
        found: list[Meaning | None] = []
        for one in value.each:
            if one.container is not None and one.container.generator is not None:
                found.append(self._yielded(one.container.generator, depth))
            elif one.container is not None:
                found.append(self._item(one.container, UNKNOWN, depth, None))
            elif one.instance:
                found.append(self._next(one, depth))
        return any_of(found)

    def _next(self, value: Meaning, depth: int) -> Meaning | None:
        iterator = self._names.member(value, "__iter__", depth + 1)
        made = self._names.called(iterator, depth + 1) if iterator is not None else value
        if made.container is not None:
            return self.items(made, depth + 1)
        following = self._names.member(made, "__next__", depth + 1) if not made.opaque else None
        return self._names.called(following, depth + 1) if following is not None else None

    def iteration(self, value: Meaning) -> list[Definition]:
        """The methods that a loop calls on an object: the one that makes an iterator, and the one that steps it."""
        iterator = self._names.member(value, "__iter__")
        if iterator is None or iterator.opaque:
            return []
        made = self._names.called(iterator, 1)
        following = self._names.member(made, "__next__", 1) if made.definitions else None
        return [*iterator.definitions, *(following.definitions if following is not None else ())]

    def _yielded(self, function: Definition, depth: int) -> Meaning:
        place = Place(function.module, function)
        given = self._flow.of(function.module).returns.get(function.ordinal, ())
        return any_of(
            self._flow.value(place._replace(line=binding.line), parse(binding.value), depth + 1)
            for binding in given
            if binding.kind is BindingKind.YIELD
        )


def _may_equal(key: Expression, other: Expression) -> bool:
    return not (isinstance(key, Constant) and isinstance(other, Constant)) or key == other


def _items(items: Expression | None, key: Expression) -> list[Expression]:
    if not isinstance(items, Collection):
        return []
    if isinstance(key, Constant) and isinstance(key.value, int) and key.value < 0:
        return [value for _, value in items.items[key.value :][:1]]
    if isinstance(key, Constant):
        exact = [value for other, value in items.items if other == key]
        return exact[-1:] or [Subscript(value, key) for other, value in items.items if other is UNKNOWN]
    return [value for _, value in items.items]


def _shifted(items: Expression | None, start: int) -> Expression:
    if not isinstance(items, Collection):
        return Collection(())
    return Collection(tuple((Constant(place), value) for place, (_, value) in enumerate(items.items[start:])))


def overlaid(items: Expression | None, assignments: Sequence[tuple[Subscript, Binding]]) -> Expression:
    """A collection of collections after ``d["a"]["b"] = value``."""
    found = items if isinstance(items, Collection) else Collection(())
    for target, binding in assignments:
        keys: list[Expression] = []
        at: Expression = target
        while isinstance(at, Subscript):
            keys.insert(0, at.key)
            at = at.owner
        found = _replaced(found, keys, parse(binding.value))
    return found


def _replaced(items: Collection, keys: Sequence[Expression], value: Expression) -> Collection:
    inner: Expression = value
    if len(keys) > 1:
        former = next((old for key, old in items.items if key == keys[0]), Collection(()))
        inner = _replaced(former if isinstance(former, Collection) else Collection(()), keys[1:], value)
    return Collection((*((key, old) for key, old in items.items if key != keys[0]), (keys[0], inner)))
