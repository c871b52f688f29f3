"""What functions give back, and what their parameters are given."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from app.domain.code import Binding, BindingKind
from app.indexing.resolution.call_sites import CallSite, CallSites
from app.indexing.resolution.expression_parser import parse
from app.indexing.resolution.families import PYTHON
from app.indexing.resolution.index import Definition, Module
from app.indexing.resolution.meaning import MOST_LINKS, OPAQUE, Container, Meaning, Place, any_of
from app.indexing.resolution.signatures import defaults

if TYPE_CHECKING:
    from app.indexing.resolution.flow import Flow
    from app.indexing.resolution.names import Names


class Passed:
    """Follows values into functions and out of them; remembers what it found by the links that were left."""

    def __init__(self, names: Names, flow: Flow) -> None:
        self._names = names
        self._flow = flow
        self._sites = CallSites(names, flow)
        self._returned: dict[tuple[int, int], Meaning] = {}
        self._parameters: dict[tuple[int, str, int], Meaning] = {}

    def returned(self, function: Definition, depth: int, site: CallSite | None = None) -> Meaning:
        """What a call gives back; with the ``site``, a parameter that is given back is what was passed there."""
        if depth > MOST_LINKS:
            return OPAQUE
        given = self._flow.of(function.module).returns.get(function.ordinal, ())
        if not given:
            return OPAQUE
        if any(binding.kind is BindingKind.YIELD for binding in given):
            return Meaning(container=Container(Place(function.module, function), generator=function), certain=False)
        depth += depth & 1
        parameters = self._names.parameters_of(function)
        passed: list[Meaning | None] = []
        rest: list[Binding] = []
        for binding in given:
            name = binding.value
            if site is not None and name in parameters and (function.ordinal, name) not in self._flow.of(function.module).names:
                passed.append(self._argument(function, name, site, depth + 1))
            else:
                rest.append(binding)
        key = (function.id, depth)
        if not passed and key in self._returned:
            return self._returned[key]
        found = any_of(
            [*passed, *(self._flow.value(Place(function.module, function, b.line), parse(b.value), depth + 1) for b in rest)]
        ).weakened(False)
        if not passed:
            self._returned[key] = found
        return found

    def by_another_name(self, module: Module) -> Iterable[Definition]:
        """The functions that calls in the file pass something to under another name than theirs."""
        return self._sites.by_another_name(module, 0)

    def parameter(self, function: Definition, name: str, depth: int) -> Meaning:
        """What a parameter is given: its declared type, else its default and what the calls of the function pass."""
        depth += depth & 1
        key = (function.id, name, depth)
        if key not in self._parameters:
            self._parameters[key] = self._parameter(function, name, depth)
        return self._parameters[key]

    def _parameter(self, function: Definition, name: str, depth: int) -> Meaning:
        declared = self._names.parameters_of(function).get(name)
        if declared is not None:
            return self._names.object_of_type(function.module, function.container, declared)
        if depth > MOST_LINKS // 2:
            return OPAQUE
        sites = self._sites.of(function, depth)
        values = [self._argument(function, name, site, depth + 1) for site in sites]
        if not sites:
            values.append(self._default(function, name, depth))
        return any_of(values)

    def _default(self, function: Definition, name: str, depth: int) -> Meaning | None:
        written = defaults(function.signature, function.name, function.module.family).get(name)
        return self._flow.value(Place(function.module, function.container), parse(written), depth + 1) if written else None

    def _argument(self, function: Definition, name: str, site: CallSite, depth: int) -> Meaning | None:
        place, call = site
        names = self._positional(function)
        position = names.index(name) if name in names else -1
        for number, argument in enumerate(call.arguments):
            if argument.spread:
                return OPAQUE
            if argument.name == name or (argument.name is None and number == position):
                return self._flow.value(place, argument.value, depth + 1)
        return self._default(function, name, depth)

    def _positional(self, function: Definition) -> list[str]:
        names = list(self._names.parameters_of(function))
        if function.module.family is PYTHON and function.owner and names[:1] in (["self"], ["cls"]):
            return names[1:]
        return names
