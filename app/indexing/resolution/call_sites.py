"""Who calls a function and passes something on, so that its parameters can be traced to what they are given."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.domain.code import Binding, SymbolKind
from app.indexing.resolution.expression_parser import parse
from app.indexing.resolution.expressions import Argument, Attribute, Call, Expression, Name
from app.indexing.resolution.index import Definition, Module
from app.indexing.resolution.meaning import Meaning, Place
from app.indexing.resolution.unique import is_test

if TYPE_CHECKING:
    from app.indexing.resolution.flow import Flow
    from app.indexing.resolution.names import Names

MOST_CALL_SITES: Final = 12
"""A function that is called from more places gets its parameters' types from none: they would say nothing."""

_LAST_NAME: Final = re.compile(r"([^\W\d]\w*)\s*$")
_FIRST_NAME: Final = re.compile(r"(?:new\s+)?([^\W\d]\w*)")
_CHAINED: Final = frozenset({"super", "__init__", "constructor"})
_ALIASED: Final = ":"  # in place of the callee's name: it goes by another than the function's

CallSite = tuple[Place, Call]


@dataclass(slots=True, eq=False)
class Site:
    """A call, read only when somebody asks for it."""

    place: Place
    text: str
    call: Call | None = None
    is_read: bool = False

    @property
    def may_be_imported(self) -> bool:
        """Whether the callee's first name is one that its file imports."""
        module = self.place.module
        match = _FIRST_NAME.match(self.text)
        return match is None or bool(module.stars) or match[1] in module.bindings or match[1] in module.packages

    def read(self) -> Call | None:
        if self.call is None and not self.is_read:
            found = parse(self.text)
            self.call = found if isinstance(found, Call) else None
            self.is_read = True
        return self.call


class CallSites:
    """All calls that pass on something known, by the callee's last name. Tests do not count: they pass what nobody else would."""

    def __init__(self, names: Names, flow: Flow) -> None:
        self._names = names
        self._flow = flow
        self._sites: dict[tuple[str, str], list[Site]] | None = None
        self._own_sites: dict[tuple[int, str], list[Site]] = {}
        self._callees: dict[tuple[Site, int], Meaning | None] = {}
        self._found: dict[tuple[int, int], list[CallSite]] = {}
        self._aliased: dict[tuple[int, int], dict[Definition, list[CallSite]]] = {}

    def of(self, function: Definition, depth: int) -> list[CallSite]:
        """The calls of a function or, for a constructor, of its type; of a method, and by another name, those in its own file only.

        None when they are very many: a parameter that is given everything says nothing.
        """
        depth += depth & 1
        key = (function.id, depth)
        if key not in self._found:
            self._found[key] = self._of(function, depth)
        return self._found[key]

    def _of(self, function: Definition, depth: int) -> list[CallSite]:
        family = function.module.family.name
        name = function.owner.rpartition(".")[2] if function.kind is SymbolKind.CONSTRUCTOR else function.name
        named = self._named().get((family, name), [])
        if len(named) > MOST_CALL_SITES or function.kind is SymbolKind.METHOD:
            named = self._own_sites.get((function.module.id, name), [])
        else:
            named = [site for site in named if site.place.module is function.module or site.may_be_imported]
        if len(named) > MOST_CALL_SITES:
            return []
        found: list[CallSite] = []
        for site in named:
            call = site.read()
            if call is not None and any(self._is_call_of(one, function) for one in self._callee(site, call, depth)):
                found.append((site.place, call))
        return found + self.by_another_name(function.module, depth).get(function, [])

    def by_another_name(self, module: Module, depth: int) -> dict[Definition, list[CallSite]]:
        """Function → the calls in a file whose callee goes by another name than the function's."""
        key = (module.id, depth)
        if key not in self._aliased:
            aliased: dict[Definition, list[CallSite]] = {}
            for site in (site for name, site in self._sites_of(module) if name == _ALIASED):
                call = site.read()
                if call is None:
                    continue
                for target in self._called(self._callee(site, call, depth)):
                    aliased.setdefault(target, []).append((site.place, call))
            self._aliased[key] = aliased
        return self._aliased[key]

    def _called(self, callee: Sequence[Meaning]) -> dict[Definition, None]:
        """What runs when this is called: functions, and of types the constructors."""
        found: dict[Definition, None] = {}
        for one in callee:
            found |= dict.fromkeys(one.definitions)
            for type_ in one.types if not one.instance else ():
                made = self._names.constructor(type_)
                found |= dict.fromkeys(made.definitions if made is not None else ())
        return found

    def _is_parameter(self, name: str, place: Place) -> bool:
        scope = place.scope
        return scope is not None and scope.is_callable and name in scope.signature and name in self._names.parameters_of(scope)

    def _callee(self, site: Site, call: Call, depth: int) -> Sequence[Meaning]:
        depth += depth & 1
        key = (site, depth)
        if key not in self._callees:
            self._callees[key] = self._flow.value(site.place, call.callee, depth + 1)
        callee = self._callees[key]
        return callee.each if callee is not None else ()

    def _is_call_of(self, callee: Meaning, function: Definition) -> bool:
        if function in callee.definitions:
            return True
        if function.kind is not SymbolKind.CONSTRUCTOR or callee.instance:
            return False
        made = [self._names.constructor(type_) for type_ in callee.types]
        return any(one is not None and function in one.definitions for one in made)

    def _named(self) -> dict[tuple[str, str], list[Site]]:
        if self._sites is None:
            self._sites = self._gathered()
        return self._sites

    def _gathered(self) -> dict[tuple[str, str], list[Site]]:
        found: defaultdict[tuple[str, str], list[Site]] = defaultdict(list)
        for path in sorted(self._names.index.modules):
            module = self._names.index.modules[path]
            for name, site in self._sites_of(module):
                if name != _ALIASED:
                    found[module.family.name, name].append(site)
                    self._own_sites.setdefault((module.id, name), []).append(site)
        return found

    def _sites_of(self, module: Module) -> Sequence[tuple[str, Site]]:
        """The calls of a file by the callee's name, read once."""
        if not module.assigned or is_test(module.path):
            return ()
        if module.sites is None:
            module.sites = list(self._sites_in(module))
        return module.sites

    def _sites_in(self, module: Module) -> Iterator[tuple[str, Site]]:
        facts = self._flow.of(module)
        for binding in facts.passes:
            site = Site(Place(module, module.at(binding.enclosing), binding.line), binding.value)
            match = _LAST_NAME.search(binding.value.partition("(")[0])
            name = match[1] if match is not None else ""
            yield name, site
            if name in facts.bound_names or name in facts.attributes or name in _CHAINED or self._is_parameter(name, site.place):
                yield _ALIASED, site
        for (enclosing, target), bindings in facts.decorated.items():
            for place, call in decorations(module, enclosing, target, bindings):
                site = Site(place, "", call)
                if isinstance(call.callee, Name | Attribute):
                    yield call.callee.name, site
                else:
                    yield _ALIASED, site


def decorations(module: Module, enclosing: int | None, target: str, bindings: Sequence[Binding]) -> list[CallSite]:
    """``@a`` over ``@b`` over ``f`` as the calls ``a(b(f))`` and ``b(f)``, the outermost first."""
    value: Expression = Name(target)
    found: list[CallSite] = []
    for binding in reversed(bindings):
        call = Call(parse(binding.value), (Argument(None, value),))
        found.append((Place(module, module.at(enclosing)), call))
        value = call
    return found[::-1]
