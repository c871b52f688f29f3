"""Whether values are others than before a change: what names hold, functions give back and parameters are given, traced in both states.

Words alone would let one new call of a function that everybody uses reach nearly every file. A value that is traced to the same
definitions as before ends the search there, unless one of these definitions is itself affected, or it is a collection, whose items are
only looked at when somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from app.domain.code import SymbolKind
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import Meaning
from app.indexing.resolution.names import Names


class Changes:
    """The repository before and after a change."""

    def __init__(self, before: DefinitionIndex, after: DefinitionIndex) -> None:
        self._before, self._after = before, after
        self._leads: dict[tuple[str, str], frozenset[str] | None] = {}
        self._given: dict[tuple[str, str], frozenset[Definition]] = {}

    def is_other(self, path: str, name: str, affected: Set[str]) -> bool:
        """Whether what the file binds to a name may be another value now. ``affected`` are names that mean something else."""
        key = (path, name)
        if key not in self._leads:
            self._leads[key] = self._leads_of(path, name)
        leads = self._leads[key]
        return leads is None or not affected.isdisjoint(leads)

    def given_otherwise(self, path: str, callee: str, affected: Set[str]) -> Iterator[Definition]:
        """The functions whose parameters may be given other values by the file's calls of ``callee``."""
        before, after = self._before.modules.get(path), self._after.modules.get(path)
        functions = {function.id: function for function in self._reached(self._before, before, callee)}
        functions |= {function.id: function for function in self._reached(self._after, after, callee)}
        for function in functions.values():
            if self._is_given_otherwise(function, affected):
                yield function

    def _is_given_otherwise(self, function: Definition, affected: Set[str]) -> bool:
        key = (function.module.path, f"{function.local}({function.ordinal}")
        if key not in self._leads:
            was, now = _same(self._before, function), _same(self._after, function)
            self._leads[key] = None
            if was is not None and now is not None:
                self._leads[key] = _leads(_given(self._before, was), _given(self._after, now))
        leads = self._leads[key]
        return leads is None or not affected.isdisjoint(leads)

    def _leads_of(self, path: str, name: str) -> frozenset[str] | None:
        was, now = self._before.modules.get(path), self._after.modules.get(path)
        if was is None or now is None:
            return None
        before, after = _values(self._before.derived(Names), was, name), _values(self._after.derived(Names), now, name)
        if before is None or after is None or not (before or after):
            return None
        return _leads(before, after)

    def _reached(self, index: DefinitionIndex, module: Module | None, callee: str) -> Iterator[Definition]:
        """The functions that calls in the file can pass something to: see ``CallSites.of``."""
        names = index.derived(Names)
        for definition in index.everywhere(callee):
            if definition.is_type:
                made = names.constructor(definition)
                yield from made.definitions if made is not None else ()
            elif definition.is_callable and definition.kind not in (SymbolKind.CONSTRUCTOR, SymbolKind.METHOD):
                yield definition
        for definition in module.definitions if module is not None else ():
            if definition.is_callable and definition.name == callee:
                yield definition
        if module is not None:
            yield from names.flow.passed.by_another_name(module)


def _same(index: DefinitionIndex, definition: Definition) -> Definition | None:
    module = index.modules.get(definition.module.path)
    if module is definition.module or module is None:
        return definition if module is not None else None
    return next((other for other in module.definitions if other.id == definition.id and other.signature == definition.signature), None)


def _given(index: DefinitionIndex, function: Definition) -> list[Meaning | None]:
    names = index.derived(Names)
    return [names.flow.passed.parameter(function, name, 0) for name in names.parameters_of(function)]


def _values(names: Names, module: Module, name: str) -> list[Meaning | None] | None:
    """All that a file lets a name stand for; None where that cannot be listed."""
    facts = names.flow.of(module)
    if name in facts.items:
        return None
    bounds = [bound for _, bound in facts.attributes.get(name, ())]
    bounds += [bound for (_, bound_name), several in facts.names.items() if bound_name == name for bound in several]
    found = [names.flow.bound(module, bound, 0) for bound in bounds]
    for definition in module.definitions:
        if definition.name != name:
            continue
        found.append(names.flow.decorated(definition, 0))
        if definition.is_callable:
            found.append(names.called(Meaning((definition,), certain=False)))
        if not definition.is_type:
            found.append(names.object_of(definition))
    return found


def _leads(before: Iterable[Meaning | None], after: Iterable[Meaning | None]) -> frozenset[str] | None:
    """The names of the definitions that both come to; None when they differ or show a collection."""
    was, now = _identities(before), _identities(after)
    if was is None or was != now:
        return None
    return frozenset(definition.name for meaning in after if meaning is not None for one in meaning.each for definition in one.definitions)


def _identities(meanings: Iterable[Meaning | None]) -> list[frozenset[object]] | None:
    found: list[frozenset[object]] = []
    for meaning in meanings:
        each = meaning.each if meaning is not None else ()
        if any(one.container is not None for one in each):
            return None
        found.append(frozenset((one.identity, one.certain, one.opaque) for one in each))
    return found
