"""Where values come from: variables, attributes, items, what functions give back and what they are given.

An answer depends on the index and on how many links are left, never on what was asked before: an expression whose trace is longer than
``MOST_LINKS`` is unknown, which also ends every circle. Everything found this way is ``likely`` at best.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from app.domain.code import Binding, BindingKind, SymbolKind
from app.indexing.resolution.assigned import Assigned, Bound, facts_of, in_force
from app.indexing.resolution.call_sites import decorations
from app.indexing.resolution.contents import GIVING, Contents, overlaid
from app.indexing.resolution.expression_parser import parse
from app.indexing.resolution.expressions import (
    Attribute,
    Call,
    Choice,
    Collection,
    Each,
    Expression,
    Name,
    Subscript,
    Typed,
)
from app.indexing.resolution.index import Definition, Module
from app.indexing.resolution.meaning import MOST_LINKS, OPAQUE, Container, Meaning, Place, any_of
from app.indexing.resolution.passed import Passed

if TYPE_CHECKING:
    from app.indexing.resolution.names import Names

_STORED: Final = frozenset({SymbolKind.VARIABLE, SymbolKind.CONSTANT, SymbolKind.FIELD})


class Flow:
    """Evaluates expressions by the bindings of their scopes; asks ``names`` for everything that is declared."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self.contents = Contents(names, self)
        self.passed = Passed(names, self)
        self._locals: dict[tuple[int, int, str, int, int], Meaning | None] = {}
        self._attributes: dict[tuple[int, str, int], Meaning | None] = {}

    def of(self, module: Module) -> Assigned:
        """The file's bindings, sorted once."""
        return facts_of(module)

    # Names

    def local(self, scope: Definition, name: str, line: int, depth: int) -> Meaning | None:
        """What a function's own variable or parameter holds at a line (anywhere, if 0); None when it binds no such name."""
        if name not in scope.signature and (scope.ordinal, name) not in self.of(scope.module).names:
            return None
        depth += depth & 1  # answers are remembered by the links that are left: half as many are enough
        key = (scope.module.id, scope.ordinal, name, line, depth)
        if key not in self._locals:
            found = self._local(scope, name, line, depth)
            self._locals[key] = found.weakened(False) if found is not None else None
        return self._locals[key]

    def _local(self, scope: Definition, name: str, line: int, depth: int) -> Meaning | None:
        bounds = self.of(scope.module).names.get((scope.ordinal, name))
        is_parameter = name in scope.signature and name in self._names.parameters_of(scope)
        if not bounds:
            return self.passed.parameter(scope, name, depth) if is_parameter else None
        values = [self.bound(scope.module, bound, depth) for bound in in_force(bounds, line)]
        if is_parameter and not any(bound.binding.line < line <= bound.binding.until for bound in bounds):
            values.append(self.passed.parameter(scope, name, depth))
        return self._with_items(scope.module, scope, name, any_of(values), line)

    def top(self, module: Module, name: str, line: int, depth: int, owner: Definition | None = None) -> Meaning | None:
        """What a variable of the file, or of the type ``owner``, holds; None when nothing is said of it."""
        bounds = self.of(module).names.get((owner.ordinal if owner is not None else None, name))
        if not bounds and name not in self.of(module).items:
            return None
        key = (module.id, owner.ordinal if owner is not None else -1, name, line, depth)
        if key not in self._locals:
            found = any_of(self.bound(module, bound, depth) for bound in in_force(bounds or (), line)).weakened(False)
            self._locals[key] = self._with_items(module, owner, name, found, line)
        return self._locals[key]

    def _with_items(self, module: Module, scope: Definition | None, name: str, found: Meaning, line: int) -> Meaning:
        """The collection that a name holds, together with what is assigned to its items anywhere in the file."""
        items = self.of(module).items.get(name)
        if not items:
            return found
        added = [
            (target.key, binding, Place(module, module.at(binding.enclosing), binding.line))
            for target, binding in items
            if isinstance(target.owner, Name) and (line == 0 or binding.line <= line or binding.enclosing != _ordinal(scope))
        ]
        nested = [(t, b) for t, b in items if not isinstance(t.owner, Name)]
        if not added and not nested:
            return found
        container = found.container or Container(Place(module, scope, line), Collection(()))
        if nested:
            paths = [(t, b) for t, b in nested if line == 0 or b.line <= line]
            container = container._replace(items=overlaid(container.items, paths))
        return Meaning(container=container._replace(added=tuple(added)), certain=False)

    def bound(self, module: Module, bound: Bound, depth: int) -> Meaning | None:
        """What one binding gives."""
        binding = bound.binding
        place = Place(module, module.at(binding.enclosing), binding.line)
        if depth >= MOST_LINKS:
            return OPAQUE
        if binding.kind is BindingKind.DECLARE:
            return self._names.object_of_type(module, place.scope, self._names.type_written(binding.value), depth + 1)
        value = self.value(place, parse(binding.value), depth + 1)
        if value is None:
            return None
        if binding.kind is BindingKind.ITEM:
            value = self.contents.items(value, depth + 1)
        elif binding.kind is BindingKind.ENTER:
            value = self._entered(value, depth + 1)
        for key in bound.path:
            value = self.contents.item(value, key, depth + 1)
        return value

    def _entered(self, value: Meaning, depth: int) -> Meaning:
        entered = self._names.member(value, "__enter__", depth) if value.definitions else None
        if entered is not None and not entered.opaque:
            return self._names.called(entered, depth)
        return self.contents.items(value, depth) if value.container is not None else value

    # Expressions

    def value(self, place: Place, expression: Expression, depth: int) -> Meaning | None:
        """What an expression gives; None when nothing is known of its first name, OPAQUE when it is known to be out of sight."""
        if depth > MOST_LINKS:
            return OPAQUE
        if isinstance(expression, Name):
            return self._held(self._names.word(place, expression.name, depth), depth)
        if isinstance(expression, Attribute):
            package = self._names.dotted_package(place, expression) if place.module.packages else None
            if package is not None:
                return package
            of = self.value(place, expression.owner, depth)
            return None if of is None else self._attribute(of, expression.name, depth)
        if isinstance(expression, Call):
            return self._call(place, expression, depth)
        if isinstance(expression, Subscript):
            of = self.value(place, expression.owner, depth)
            return None if of is None else self.contents.item(of, expression.key, depth + 1, place)
        if isinstance(expression, Choice):
            return any_of(self.value(place, value, depth) for value in expression.values)
        if isinstance(expression, Typed):
            return self._names.object_of_type(place.module, place.scope, expression.written, depth + 1)
        if isinstance(expression, Collection | Each):
            return Meaning(container=Container(place, expression), certain=False)
        return OPAQUE

    def _held(self, meaning: Meaning | None, depth: int) -> Meaning | None:
        """Variables and fields replaced by what they hold, where that is known."""
        if meaning is None:
            return None
        if not meaning.alternatives:
            return self._held_by(meaning, depth)
        return any_of(self._held_by(one, depth) for one in meaning.each)

    def _held_by(self, meaning: Meaning, depth: int) -> Meaning | None:
        if meaning.instance or not meaning.definitions or meaning.definitions[0].kind not in _STORED:
            return meaning
        held = self._names.object_of(meaning.definitions[0], depth + 1, meaning.line)
        return meaning if held is None or (held.opaque and not held.external) else held

    def _attribute(self, of: Meaning, name: str, depth: int) -> Meaning:
        found = self._held(self._names.member(of, name, depth + 1), depth)
        if found is not None:
            return found
        if name == "bind" and any(one.definitions and one.definitions[0].is_callable for one in of.each):
            return of
        return OPAQUE

    def _call(self, place: Place, call: Call, depth: int) -> Meaning | None:
        if isinstance(call.callee, Attribute) and call.callee.name in GIVING:
            of = self.value(place, call.callee.owner, depth)
            given = self.contents.given(of, call.callee.name, depth) if of is not None else None
            if given is not None:
                return given
        callee = self.value(place, call.callee, depth)
        if isinstance(call.callee, Name) and callee is not None and callee.above:
            return callee
        if isinstance(call.callee, Attribute) and call.callee.name == "bind" and callee is not None and not callee.instance:
            return callee
        return None if callee is None else self._names.called(callee, depth + 1, (place, call))

    # Attributes

    def attribute(self, line_of_descent: Iterable[Definition], name: str, depth: int) -> Meaning | None:
        """What ``self.name`` is given in the methods of any of these types."""
        depth += depth & 1
        values: list[Meaning] = []
        for type_ in line_of_descent:
            facts = self.of(type_.module)
            if name not in facts.attributes and (type_.ordinal, name) not in facts.names:
                continue
            key = (type_.id, name, depth)
            if key not in self._attributes:
                self._attributes[key] = self._attribute_of(type_, name, depth)
            found = self._attributes[key]
            if found is not None:
                values.append(found)
        return any_of(values).weakened(False) if values else None

    def _attribute_of(self, type_: Definition, name: str, depth: int) -> Meaning | None:
        facts = self.of(type_.module)
        selves = type_.module.family.self_names
        bounds = [
            bound
            for owner, bound in facts.attributes.get(name, ())
            if isinstance(owner, Name)
            and (self._belongs(type_, bound.binding) if owner.name in selves else self._holds(type_, owner, bound, depth))
        ]
        values = [self.bound(type_.module, bound, depth) for bound in bounds]
        values += [self.bound(type_.module, bound, depth) for bound in facts.names.get((type_.ordinal, name), ())]
        return any_of(values) if values else None

    def _holds(self, type_: Definition, owner: Name, bound: Bound, depth: int) -> bool:
        """Whether a variable to whose attribute something is assigned is an object of the type."""
        binding = bound.binding
        place = Place(type_.module, type_.module.at(binding.enclosing), binding.line)
        value = self.value(place, owner, depth + 2)
        return value is not None and any(one.instance and type_ in one.definitions for one in value.each)

    def _belongs(self, type_: Definition, binding: Binding) -> bool:
        return self._names.own_type(type_.module, type_.module.at(binding.enclosing)) is type_

    def decorated(self, definition: Definition, depth: int) -> Meaning | None:
        """What a decorated function's name means to others, when the decorators give something else of the repository."""
        container = definition.container
        bindings = self.of(definition.module).decorated.get((_ordinal(container), definition.name))
        if not bindings or depth >= MOST_LINKS:
            return None
        place, call = decorations(definition.module, _ordinal(container), definition.name, bindings)[0]
        return self.value(place, call, depth + 1)


def _ordinal(scope: Definition | None) -> int | None:
    return None if scope is None else scope.ordinal
