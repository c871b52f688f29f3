"""Whether values are others than before a change: what names hold, functions give back and parameters are given, traced in both states.

Words alone would let one new call of a function that everybody uses reach nearly every file. A value that is traced to the same
definitions as before ends the search there, unless one of these definitions is itself another now: what it gives back is only looked
at when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from typing import Final, NamedTuple

from app.domain.code import SymbolKind
from app.indexing.resolution.expression_parser import parse
from app.indexing.resolution.expressions import Collection
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import Container, Meaning, Place
from app.indexing.resolution.names import Names

DEEPEST: Final = 5
"""Collections in collections that are compared; beyond it they count as changed."""

NameInFile = tuple[str, str]
"""A file, and a name that it defines or binds."""


class _Trace(NamedTuple):
    """What values come to, and the names through which they do."""

    identity: object
    leads: frozenset[NameInFile]


class Changes:
    """The repository before and after a change."""

    def __init__(self, before: DefinitionIndex, after: DefinitionIndex) -> None:
        self._before, self._after = before, after
        self._leads: dict[NameInFile, frozenset[NameInFile] | None] = {}
        self._called: dict[NameInFile, Sequence[Definition]] = {}
        self._anywhere: dict[str, Sequence[Definition]] = {}

    def is_other(self, path: str, name: str, others: Set[NameInFile]) -> bool:
        """Whether what the file binds to a name may be another value now. ``others`` are names of which that is known."""
        return self._differs((path, name), others, lambda: self._leads_of(path, name))

    def given_otherwise(self, path: str, callee: str, others: Set[NameInFile]) -> Iterator[Definition]:
        """The functions whose parameters may be given other values by the file's calls of ``callee``."""
        for function in self._reached(path, callee):
            key = (function.module.path, f"{function.local}({function.ordinal}")
            if self._differs(key, others, partial(self._leads_into, function)):
                yield function

    def _differs(self, key: NameInFile, others: Set[NameInFile], leads_of: Callable[[], frozenset[NameInFile] | None]) -> bool:
        if key not in self._leads:
            self._leads[key] = leads_of()
        leads = self._leads[key]
        return leads is None or not others.isdisjoint(leads)

    def _leads_of(self, path: str, name: str) -> frozenset[NameInFile] | None:
        was, now = self._before.modules.get(path), self._after.modules.get(path)
        if was is None or now is None:
            return None
        before, after = self._before.derived(Names), self._after.derived(Names)
        return _compared(_traced(before, _values(before, was, name)), _traced(after, _values(after, now, name)))

    def _leads_into(self, function: Definition) -> frozenset[NameInFile] | None:
        was, now = _same(self._before, function), _same(self._after, function)
        if was is None or now is None:
            return None
        before, after = self._before.derived(Names), self._after.derived(Names)
        return _compared(_traced(before, _given(before, was)), _traced(after, _given(after, now)))

    def _reached(self, path: str, callee: str) -> Sequence[Definition]:
        """The functions that calls in the file can pass something to, before or after: see ``CallSites.of``."""
        if (path, callee) not in self._called:
            functions = {function.id: function for function in self._reached_anywhere(callee)}
            for index in (self._before, self._after):
                if (module := index.modules.get(path)) is not None:
                    functions |= {function.id: function for function in _reached_in(index, module, callee)}
            self._called[path, callee] = tuple(functions.values())
        return self._called[path, callee]

    def _reached_anywhere(self, callee: str) -> Sequence[Definition]:
        """Those of them that calls in any file can reach: asked for by many files."""
        if callee not in self._anywhere:
            found = [function for index in (self._before, self._after) for function in _functions_named(index, callee)]
            self._anywhere[callee] = tuple({function.id: function for function in found}.values())
        return self._anywhere[callee]


def _functions_named(index: DefinitionIndex, callee: str) -> Iterator[Definition]:
    names = index.derived(Names)
    for definition in index.everywhere(callee):
        if definition.is_type:
            made = names.constructor(definition)
            yield from made.definitions if made is not None else ()
        elif definition.is_callable and definition.kind not in (SymbolKind.CONSTRUCTOR, SymbolKind.METHOD):
            yield definition


def _reached_in(index: DefinitionIndex, module: Module, callee: str) -> Iterator[Definition]:
    for definition in module.definitions:
        if definition.is_callable and definition.name == callee:
            yield definition
    yield from index.derived(Names).flow.passed.by_another_name(module)


def _same(index: DefinitionIndex, definition: Definition) -> Definition | None:
    module = index.modules.get(definition.module.path)
    if module is definition.module or module is None:
        return definition if module is not None else None
    return next((other for other in module.definitions if other.id == definition.id and other.signature == definition.signature), None)


def _given(names: Names, function: Definition) -> list[Meaning | None]:
    return [names.flow.passed.parameter(function, name, 0) for name in names.parameters_of(function)]


def _values(names: Names, module: Module, name: str) -> list[Meaning | None]:
    """All that a file lets a name stand for, and what it puts into it."""
    flow, facts = names.flow, names.flow.of(module)
    bounds = [bound for _, bound in facts.attributes.get(name, ())]
    bounds += [bound for (_, bound_name), several in facts.names.items() if bound_name == name for bound in several]
    found = [flow.bound(module, bound, 0) for bound in bounds]
    for _, binding in facts.items.get(name, ()):
        found.append(flow.value(Place(module, module.at(binding.enclosing), binding.line), parse(binding.value), 0))
    for definition in module.definitions:
        if definition.name != name:
            continue
        found.append(flow.decorated(definition, 0))
        if definition.is_callable:
            found.append(names.called(Meaning((definition,), certain=False)))
        if not definition.is_type:
            found.append(names.object_of(definition))
    return found


def _inside(names: Names, meaning: Meaning, container: Container) -> list[Meaning | None]:
    """The values in a collection, or those that a generator gives."""
    if not isinstance(container.items, Collection):
        return [names.flow.contents.items(meaning, 0)]
    found = [names.flow.value(container.place, value, 0) for _, value in container.items.items]
    return found + [names.flow.value(place, parse(binding.value), 0) for _, binding, place in container.added]


def _compared(before: _Trace | None, after: _Trace | None) -> frozenset[NameInFile] | None:
    """The names that both lead through; None when they come to something else or are too deep to tell."""
    if before is None or after is None or before.identity != after.identity:
        return None
    return before.leads | after.leads


def _traced(names: Names, meanings: Iterable[Meaning | None], around: Sequence[object] = ()) -> _Trace | None:
    """``around``: the collections that hold these values, outermost first. One that holds itself is said by its place among them."""
    identities: list[object] = []
    leads: set[NameInFile] = set()
    for meaning in meanings:
        each: set[object] = set()
        for one in meaning.each if meaning is not None else ():
            held: object = None
            if one.container is not None:
                collection = (one.identity, tuple((binding, place) for _, binding, place in one.container.added))
                if collection in around:
                    held = around.index(collection)
                elif len(around) == DEEPEST:
                    return None
                else:
                    inside = _traced(names, _inside(names, one, one.container), (*around, collection))
                    if inside is None:
                        return None
                    held = inside.identity
                    leads |= inside.leads
                if one.container.generator is not None:
                    leads.add((one.container.generator.module.path, one.container.generator.name))
            each.add((one.identity, one.certain, one.opaque, held))
            leads |= {(definition.module.path, definition.name) for definition in one.definitions}
        identities.append(frozenset(each))
    return _Trace(tuple(identities), frozenset(leads))
