"""Where values come from: variables, attributes, items, what functions give back and what they are given.

An answer depends on the index and on how many links are left, never on what was asked before: an expression whose trace is longer than
``MOST_LINKS`` is unknown, which also ends every circle. Everything found this way is ``likely`` at best.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from app.domain.code import Binding, BindingKind, SymbolKind
from app.indexing.resolution.assigned import Assigned, Bound, assigned, in_force, scope_of
from app.indexing.resolution.call_sites import CallSite, CallSites, decorations
from app.indexing.resolution.expressions import (
    UNKNOWN,
    Attribute,
    Call,
    Choice,
    Collection,
    Constant,
    Each,
    Expression,
    Name,
    Slice,
    Subscript,
    Typed,
    parse,
)
from app.indexing.resolution.families import PYTHON
from app.indexing.resolution.index import Definition, Module
from app.indexing.resolution.meaning import OPAQUE, Container, Meaning, Place, any_of
from app.indexing.resolution.signatures import defaults

if TYPE_CHECKING:
    from app.indexing.resolution.names import Names

_STORED: Final = frozenset({SymbolKind.VARIABLE, SymbolKind.CONSTANT, SymbolKind.FIELD})

_GIVING_ITEM: Final = frozenset({"get", "pop", "setdefault", "popleft", "at", "shift", "find"})
_GIVING_ITEMS: Final = frozenset({"values", "copy", "filter", "slice", "reverse", "concat"})
_GIVING: Final = _GIVING_ITEM | _GIVING_ITEMS

MOST_LINKS: Final = 7


class Flow:
    """Evaluates expressions by the bindings of their scopes; asks ``names`` for everything that is declared."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._assigned: dict[int, Assigned] = {}
        self._sites = CallSites(names, self)
        self._locals: dict[tuple[int, int, str, int, int], Meaning | None] = {}
        self._returned: dict[tuple[int, int], Meaning] = {}
        self._attributes: dict[tuple[int, str, int], Meaning | None] = {}
        self._parameters: dict[tuple[int, str, int], Meaning] = {}

    def of(self, module: Module) -> Assigned:
        found = self._assigned.get(module.id)
        if found is None:
            found = self._assigned[module.id] = assigned(module)
        return found

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
            return self.parameter(scope, name, depth) if is_parameter else None
        values = [self._bound(scope.module, bound, depth) for bound in in_force(bounds, line)]
        if is_parameter and not any(bound.binding.line < line <= bound.binding.until for bound in bounds):
            values.append(self.parameter(scope, name, depth))
        return self._with_items(scope.module, scope, name, any_of(values), line)

    def top(self, module: Module, name: str, line: int, depth: int, owner: Definition | None = None) -> Meaning | None:
        """What a variable of the file, or of the type ``owner``, holds; None when nothing is said of it."""
        bounds = self.of(module).names.get((owner.ordinal if owner is not None else None, name))
        if not bounds and name not in self.of(module).items:
            return None
        key = (module.id, owner.ordinal if owner is not None else -1, name, line, depth)
        if key not in self._locals:
            found = any_of(self._bound(module, bound, depth) for bound in in_force(bounds or (), line)).weakened(False)
            self._locals[key] = self._with_items(module, owner, name, found, line)
        return self._locals[key]

    def _with_items(self, module: Module, scope: Definition | None, name: str, found: Meaning, line: int) -> Meaning:
        """The collection that a name holds, together with what is assigned to its items anywhere in the file."""
        items = self.of(module).items.get(name)
        if not items:
            return found
        added = [
            (target.key, binding, Place(module, scope_of(module, binding.enclosing), binding.line))
            for target, binding in items
            if isinstance(target.owner, Name) and (line == 0 or binding.line <= line or binding.enclosing != _ordinal(scope))
        ]
        nested = [(t, b) for t, b in items if not isinstance(t.owner, Name)]
        if not added and not nested:
            return found
        container = found.container or Container(Place(module, scope, line), Collection(()))
        if nested:
            paths = [(t, b) for t, b in nested if line == 0 or b.line <= line]
            container = container._replace(items=_overlaid(container.items, paths))
        return Meaning(container=container._replace(added=tuple(added)), certain=False)

    def _bound(self, module: Module, bound: Bound, depth: int) -> Meaning | None:
        binding = bound.binding
        place = Place(module, scope_of(module, binding.enclosing), binding.line)
        if depth >= MOST_LINKS:
            return OPAQUE
        if binding.kind is BindingKind.DECLARE:
            return self._names.object_of_type(module, place.scope, self._names.type_written(binding.value), depth + 1)
        value = self.value(place, parse(binding.value), depth + 1)
        if value is None:
            return None
        if binding.kind is BindingKind.ITEM:
            value = self.items(value, depth + 1)
        elif binding.kind is BindingKind.ENTER:
            value = self._entered(value, depth + 1)
        for key in bound.path:
            value = self.item(value, key, depth + 1)
        return value

    def _entered(self, value: Meaning, depth: int) -> Meaning:
        entered = self._names.member(value, "__enter__", depth) if value.definitions else None
        if entered is not None and not entered.opaque:
            return self._names.called(entered, depth)
        return self.items(value, depth) if value.container is not None else value

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
            return None if of is None else self.item(of, expression.key, depth + 1, place)
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
        if isinstance(call.callee, Attribute) and call.callee.name in _GIVING:
            of = self.value(place, call.callee.owner, depth)
            given = self.given(of, call.callee.name, depth) if of is not None else None
            if given is not None:
                return given
        callee = self.value(place, call.callee, depth)
        if isinstance(call.callee, Name) and callee is not None and callee.above:
            return callee
        if isinstance(call.callee, Attribute) and call.callee.name == "bind" and callee is not None and not callee.instance:
            return callee
        return None if callee is None else self._names.called(callee, depth + 1, (place, call))

    # Collections

    def collection(self, place: Place, held: str, *, keyed: bool) -> Meaning:
        """A collection of objects of a declared type."""
        return Meaning(container=Container(place, Each(Typed(held), keyed)), certain=False)

    def given(self, of: Meaning, method: str, depth: int) -> Meaning | None:
        """What a method of a collection of one kind gives: an item, or the items again; None for all others."""
        container = of.container
        if container is None or not isinstance(container.items, Each) or method not in _GIVING:
            return None
        if method in _GIVING_ITEMS:
            return Meaning(container=container._replace(items=Each(container.items.value)), certain=False)
        return self.value(container.place, container.items.value, depth + 1)

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
            return self.value(container.place, container.items.value, depth + 1) or OPAQUE
        if isinstance(key, Slice):
            return Meaning(container=container._replace(items=_shifted(container.items, key.start), added=()), certain=False)
        found: list[Meaning | None] = []
        is_replaced = False
        for added, binding, where in container.added:
            if not _may_equal(key, added):
                continue
            value = self.value(where, parse(binding.value), depth + 1)
            if place is not None and key == added and where.scope is place.scope and where.line <= place.line <= binding.until:
                found, is_replaced = [value], True
            else:
                found.append(value)
        if not is_replaced:
            found += [self._valued(container.place, value, depth) for value in _items(container.items, key)]
        return any_of(found)

    def _valued(self, place: Place, value: Expression, depth: int) -> Meaning | None:
        return self.value(place._replace(line=0) if place.scope is None else place, value, depth + 1)

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
        given = self.of(function.module).returns.get(function.ordinal, ())
        return any_of(
            self.value(place._replace(line=binding.line), parse(binding.value), depth + 1)
            for binding in given
            if binding.kind is BindingKind.YIELD
        )

    # Functions

    def returned(self, function: Definition, depth: int, site: CallSite | None = None) -> Meaning:
        """What a call gives back; with the ``site``, a parameter that is given back is what was passed there."""
        if depth > MOST_LINKS:
            return OPAQUE
        given = self.of(function.module).returns.get(function.ordinal, ())
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
            if site is not None and name in parameters and (function.ordinal, name) not in self.of(function.module).names:
                passed.append(self._argument(function, name, site, depth + 1))
            else:
                rest.append(binding)
        key = (function.id, depth)
        if not passed and key in self._returned:
            return self._returned[key]
        found = any_of(
            [*passed, *(self.value(Place(function.module, function, b.line), parse(b.value), depth + 1) for b in rest)]
        ).weakened(False)
        if not passed:
            self._returned[key] = found
        return found

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
        return self.value(Place(function.module, function.container), parse(written), depth + 1) if written else None

    def _argument(self, function: Definition, name: str, site: CallSite, depth: int) -> Meaning | None:
        place, call = site
        names = self._positional(function)
        position = names.index(name) if name in names else -1
        for number, argument in enumerate(call.arguments):
            if argument.spread:
                return OPAQUE
            if argument.name == name or (argument.name is None and number == position):
                return self.value(place, argument.value, depth + 1)
        return self._default(function, name, depth)

    def _positional(self, function: Definition) -> list[str]:
        names = list(self._names.parameters_of(function))
        if function.module.family is PYTHON and function.owner and names[:1] in (["self"], ["cls"]):
            return names[1:]
        return names

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
        values = [self._bound(type_.module, bound, depth) for bound in bounds]
        values += [self._bound(type_.module, bound, depth) for bound in facts.names.get((type_.ordinal, name), ())]
        return any_of(values) if values else None

    def _holds(self, type_: Definition, owner: Name, bound: Bound, depth: int) -> bool:
        """Whether a variable to whose attribute something is assigned is an object of the type."""
        binding = bound.binding
        place = Place(type_.module, scope_of(type_.module, binding.enclosing), binding.line)
        value = self.value(place, owner, depth + 2)
        return value is not None and any(one.instance and type_ in one.definitions for one in value.each)

    def _belongs(self, type_: Definition, binding: Binding) -> bool:
        return self._names.own_type(type_.module, scope_of(type_.module, binding.enclosing)) is type_

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


def _overlaid(items: Expression | None, assignments: Sequence[tuple[Subscript, Binding]]) -> Expression:
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
