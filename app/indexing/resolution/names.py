"""Lookup of names: scopes first, then imports, then what the package and the family make visible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.code import SymbolKind
from app.indexing.resolution.expression_parser import parse
from app.indexing.resolution.expressions import Attribute, Call, Constant, Each, Expression, Name
from app.indexing.resolution.families import CSHARP, JAVASCRIPT, NAMESPACED, PHP, PYTHON, RUBY, RUST, C, Package
from app.indexing.resolution.flow import Flow
from app.indexing.resolution.imports import ImportedNames
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.inheritance import Inheritance
from app.indexing.resolution.meaning import EXTERNAL, MOST_LINKS, OPAQUE, Meaning, Place, Segment, any_of, meaning_of, segments
from app.indexing.resolution.signatures import MAPPINGS, named_type, parameters, return_type, value_type

_DEEPEST = 12  # links of type inference: a field of a field of a call; also the end of definitions that refer to each other


class Names:
    """Answers what a name means at a place. Remembers base classes and imports; pure otherwise."""

    def __init__(self, index: DefinitionIndex) -> None:
        self.index = index
        self.inheritance = Inheritance(index, self.type_named)
        self.imports = ImportedNames(index, self.inheritance.member)
        self.flow = Flow(self)
        self._parameters: dict[int, dict[str, str | None]] = {}
        self._modules: dict[tuple[int, str], Meaning | None] = {}

    # Bare names

    def bare(
        self, module: Module, scope: Definition | None, name: str, *, is_type: bool = False, line: int = 0, depth: int = 0
    ) -> Meaning | None:
        """The meaning of a name without receiver inside ``scope``; a type's name is not looked for among parameters.

        ``line`` tells which of a variable's values is meant there; 0: any of them.
        """
        family = module.family
        innermost = scope
        inside = False
        while scope is not None:
            found = self._in_scope(module, scope, name, is_type, direct=scope is innermost, line=0 if inside else line, depth=depth)
            if found is not None:
                return found
            inside = inside or scope.is_callable
            scope = scope.container
        if family.bare_members and innermost is not None:
            owner = self.own_type(module, innermost)
            found = self.member(Meaning((owner,)), name) if owner else None
            if found is not None and not found.opaque:
                return found
        found = self._in_module(module, name)
        if found is not None and line and not inside and name in self.flow.of(module).varying and found.definitions:
            return Meaning(found.definitions, certain=found.certain, line=line)
        found = found or self.flow.top(module, name, 0 if inside else line, depth)
        return found or self._in_package(module, innermost, name) or self._everywhere(module, name)

    def _in_scope(
        self, module: Module, scope: Definition, name: str, is_type: bool, *, direct: bool, line: int, depth: int
    ) -> Meaning | None:
        if scope.is_type:
            if module.family.bare_members:
                found = self.member(Meaning((scope,)), name)
                return found if found is not None and not found.opaque else None
            if not (direct and module.family is PYTHON):
                return None
        elif not is_type and scope.is_callable:
            held = self.flow.local(scope, name, line, depth)
            if held is not None:
                return held
        nested = module.by_local.get(f"{scope.local}.{name}")
        return meaning_of([d for d in nested if d.container is scope]) if nested else None

    def _in_module(self, module: Module, name: str) -> Meaning | None:
        """What the file defines or imports under the name."""
        key = (module.id, name)
        if key not in self._modules:
            top = meaning_of(module.by_local.get(name, ()))
            if top is None and module.family is JAVASCRIPT and self.index.is_namespace(JAVASCRIPT, name):
                top = Meaning(tuple(d for d in module.definitions if d.full == name and d.kind is SymbolKind.NAMESPACE), namespace=name)
            self._modules[key] = top or self.imports.bound(module, name) or self.imports.starred(module, name)
        return self._modules[key]

    def _in_package(self, module: Module, scope: Definition | None, name: str) -> Meaning | None:
        family = module.family
        if family.package is Package.DIRECTORY:
            modules = self.index.in_directory(family, module.directory)
            return meaning_of([d for other in modules for d in other.by_local.get(name, ())])
        if family.package is Package.NAMESPACE or family is C:
            namespace = scope.namespace if scope is not None else module.namespace
            for enclosing in (namespace,) if family is PHP else _outwards(namespace):
                found = meaning_of(self.index.qualified(family, f"{enclosing}.{name}"))
                if found is not None:
                    return found
            if family is CSHARP or family is PHP:
                return self._in_root_namespace(module, name, types=family is CSHARP or not namespace)
        if family is RUST:
            below = self.imports.locator.submodule(module, name)
            return Meaning(modules=tuple(below)) if below else None
        return None

    def _in_root_namespace(self, module: Module, name: str, *, types: bool) -> Meaning | None:
        """C# sees all of the root namespace from everywhere; PHP its functions and constants, and its types from there only."""
        return meaning_of([d for d in self.index.qualified(module.family, name) if not d.namespace and (types or not d.is_type)])

    def _everywhere(self, module: Module, name: str) -> Meaning | None:
        """A definition of a kind that the family's linker or loader makes visible to all, when there is one such."""
        family = module.family
        if not family.global_kinds:
            return None
        named = [d for d in self.index.named(family, name) if d.kind in family.global_kinds and _is_open(d)]
        if family is C:
            return self._linked(module, named)
        if len(named) != 1:
            return None
        return Meaning((named[0],), certain=family is RUBY and named[0].module.path in self.imports.reached(module))

    def _linked(self, module: Module, named: Sequence[Definition]) -> Meaning | None:
        """C and C++: a header's declaration vouches for the definition that the linker will find."""
        named = [d for d in named if not (d.signature.startswith("static ") and not _is_header(d.module.path))]
        reached = self.imports.reached(module)
        defined = [d for d in named if not d.is_prototype] or list(named)
        if len(defined) > 1:
            defined = [d for d in defined if d.module.path in reached]
        if len(defined) != 1:
            return None
        return Meaning((defined[0],), certain=any(d.module.path in reached for d in named))

    # Members

    def member(self, meaning: Meaning, name: str, depth: int = 0) -> Meaning | None:
        """What ``.name`` of something means; OPAQUE when the thing is known to be out of sight, None when it has no such member."""
        if meaning.opaque:
            return meaning.below(name)
        if meaning.alternatives:
            found_any = any_of(self.member(one, name, depth) for one in meaning.alternatives)
            return None if found_any.opaque else found_any.weakened(meaning.certain)
        if meaning.container is not None:
            if isinstance(meaning.container.items, Each):  # a method of a collection: no item of it
                return None
            item = self.flow.contents.item(meaning, Constant(name), depth + 1)
            return None if item.opaque else item
        for module in meaning.modules:
            found = self.imports.exported(module, name)
            if found is not None:
                return found
        if meaning.namespace:
            return self._in_namespace(meaning.namespace, name, meaning)
        for definition in meaning.definitions:
            if definition.is_type:
                found = self._of_type(definition, name, meaning, depth)
            else:
                found = self._assigned_member(definition, name)
                value = self.object_of(definition, depth, meaning.line) if found is None else None
                found = self.member(value, name, depth + 1) if value is not None and depth < _DEEPEST else found
            if found is not None:
                return found.weakened(meaning.certain)
        return None

    def _assigned_member(self, definition: Definition, name: str) -> Meaning | None:
        """What the file puts into a variable, or assigns to a member of it or of a function: ``app.use = function () {}``."""
        module = definition.module
        given = module.by_local.get(f"{definition.local}.{name}") if module.family is JAVASCRIPT else None
        return meaning_of([d for d in given if not (definition.is_callable and d.container is definition)]) if given else None

    def _of_type(self, type_: Definition, name: str, meaning: Meaning, depth: int) -> Meaning | None:
        """A member that is declared, else what the methods assign; of an own instance also what only the types below have."""
        found = self.inheritance.member(type_, name, above=meaning.above)
        if found is not None or depth > MOST_LINKS:
            return found
        given = self.flow.attribute(self.inheritance.line_of_descent(type_)[meaning.above :], name, depth)
        if given is not None or not meaning.instance or meaning.above:
            return given
        below = any_of(Meaning((member,), certain=False) for member in self.inheritance.below(type_, name))
        return None if below.opaque else below

    def constructor(self, type_: Definition) -> Meaning | None:
        """What runs when the type is instantiated, as far as it is in the repository."""
        name = type_.module.family.constructor
        found = self.inheritance.member(type_, name) if name else None
        return found if found is not None and len(found.definitions) == 1 and found.definitions[0].is_callable else None

    def _in_namespace(self, namespace: str, name: str, meaning: Meaning) -> Meaning | None:
        full = f"{namespace}.{name}"
        for family in NAMESPACED:
            found = meaning_of(self.index.qualified(family, full))
            if found is not None:
                return found.weakened(meaning.certain)
            if self.index.is_namespace(family, full):
                return Meaning(namespace=full)
        return None

    # Types of objects

    def own_type(self, module: Module, scope: Definition | None) -> Definition | None:
        """The type whose method or body this is, also for methods written outside of their type."""
        while scope is not None:
            if scope.is_type and scope.kind is not SymbolKind.IMPL:
                return scope
            owner = scope.local if scope.kind is SymbolKind.IMPL else scope.owner
            if owner and (scope.container is None or scope.container.kind is SymbolKind.IMPL or scope.kind is SymbolKind.IMPL):
                return self._owner(module, scope, owner)
            scope = scope.container
        return None

    def _owner(self, module: Module, scope: Definition, owner: str) -> Definition | None:
        found = self.type_named(module, None, owner)
        if found is not None and found.types:
            return found.types[0]
        full = f"{scope.namespace}.{owner}" if scope.namespace else owner
        types = [d for d in self.index.qualified(module.family, full) if d.is_type and d.kind is not SymbolKind.IMPL]
        return types[0] if len(types) == 1 else None

    def type_named(self, module: Module, scope: Definition | None, written: str, depth: int = 0) -> Meaning | None:
        """The type that a dotted name in the source means."""
        found = self._named(module, scope, written, depth)
        return Meaning(found.types, certain=found.certain) if found is not None and found.types else None

    def _named(self, module: Module, scope: Definition | None, written: str, depth: int) -> Meaning | None:
        links = segments(written)
        if links is None or depth > _DEEPEST:
            return OPAQUE
        found, used = self._start(module, scope, links, is_type=True)
        for link in links[used:]:
            found = self.member(found, link.name, depth + 1) if found is not None else None
        return found

    def object_of_type(self, module: Module, scope: Definition | None, written: str | None, depth: int = 0) -> Meaning:
        """An object of a declared type; OPAQUE when none is declared, EXTERNAL when it is none of the repository's types."""
        if written is None:
            return OPAQUE
        if written in ("Self", "self", "static", "this"):
            owner = self.own_type(module, scope)
            return Meaning((owner,), instance=True, certain=False) if owner else OPAQUE
        outer, is_collection, held = written.partition("[")
        found = self._named(module, scope, outer, depth)
        if is_collection and (found is None or found.opaque):
            return self.flow.contents.collection(Place(module, scope), held[:-1], keyed=outer.rpartition(".")[2] in MAPPINGS)
        if found is None or found.is_external:
            return EXTERNAL if found is None else found.weakened(False)
        return Meaning(found.types, instance=True, certain=False) if found.types else OPAQUE

    def object_of(self, definition: Definition, depth: int = 0, line: int = 0) -> Meaning | None:
        """What a variable, field or property holds, by its declaration, the constructor it is given or what is assigned to it."""
        declared = self._held(definition, depth)
        if (declared is None or (declared.opaque and not declared.external)) and depth < MOST_LINKS:
            return self._assigned(definition, depth, line) or declared
        return declared

    def _assigned(self, definition: Definition, depth: int, line: int) -> Meaning | None:
        module, container = definition.module, definition.container
        if definition.is_callable:
            return self.flow.passed.returned(definition, depth + 1) if definition.kind is SymbolKind.PROPERTY else None
        if container is None:
            return self.flow.top(module, definition.name, line, depth)
        if container.is_type:
            return self.flow.attribute(self.inheritance.line_of_descent(container), definition.name, depth)
        return None

    def _held(self, definition: Definition, depth: int) -> Meaning | None:
        module, scope = definition.module, definition.container
        if depth > _DEEPEST:
            return None
        if definition.is_callable:
            if definition.kind is not SymbolKind.PROPERTY:
                return None
            written = return_type(definition.signature, definition.name, module.family)
            return self.object_of_type(module, scope, written, depth + 1) if written else self._declared(definition, depth)
        return self._declared(definition, depth)

    def _declared(self, definition: Definition, depth: int) -> Meaning | None:
        declared = value_type(definition.signature, definition.name, definition.module.family)
        if declared is None:
            return None
        written, called = declared
        if not called:
            return self.object_of_type(definition.module, definition.container, written, depth + 1)
        made = self.expression(definition.module, definition.container, f"{written}()", depth + 1)
        return made.weakened(False) if made is not None else None

    def called(self, meaning: Meaning, depth: int = 0, site: tuple[Place, Call] | None = None) -> Meaning:
        """What a call gives: an object of a type, or of the type that a function declares to return, or what it is seen to return."""
        if meaning.opaque:
            return meaning
        if meaning.alternatives:
            return any_of(self.called(one, depth, site) for one in meaning.alternatives)
        for definition in meaning.definitions:
            if meaning.instance:
                operator = self.inheritance.member(definition, "__call__") if meaning.instance else None
                return self.called(operator, depth + 1, site) if operator is not None and depth < MOST_LINKS else OPAQUE
            if definition.is_type:
                return Meaning((definition,), instance=True, certain=meaning.certain)
            if definition.kind is SymbolKind.CONSTRUCTOR or definition.name == "new":
                owner = self.own_type(definition.module, definition)
                return Meaning((owner,), instance=True, certain=False) if owner else OPAQUE
            if definition.is_callable:
                if site is not None and site[1].new and definition.local in definition.module.holders:
                    return Meaning((definition,), certain=False)
                return self._result(definition, depth, site, certain=meaning.certain)
            if depth < MOST_LINKS:
                value = self.object_of(definition, depth + 1, meaning.line)
                return self.called(value, depth + 1, site) if value is not None else OPAQUE
        return OPAQUE

    def _result(self, function: Definition, depth: int, site: tuple[Place, Call] | None, *, certain: bool) -> Meaning:
        written = return_type(function.signature, function.name, function.module.family)
        declared = self.object_of_type(function.module, function, written, depth + 1)
        if declared is not OPAQUE:
            return declared
        wrapped = self.flow.decorated(function, depth) if certain else None
        for one in wrapped.each if wrapped is not None else ():
            if one.definitions and function not in one.definitions and one.definitions[0].is_callable and depth < MOST_LINKS:
                return self.called(one, depth + 1, site)
        return self.flow.passed.returned(function, depth + 1, site)

    def expression(self, module: Module, scope: Definition | None, text: str, depth: int = 0, line: int = 0) -> Meaning | None:
        """What a receiver's text means; None when nothing is known of it, OPAQUE when it is known to lead out of sight."""
        if depth > _DEEPEST:
            return None
        links = segments(text)
        if links is None:
            return self.flow.value(Place(module, scope, line), parse(text), depth)
        found, used = self._start(module, scope, links, line=line, depth=depth)
        if found is None:  # what is called, or named like a type, is no variable: it is defined outside of the repository
            return EXTERNAL if links[0].called or links[0].name[0].isupper() else None
        if links[used - 1].called and not found.above:
            found = self.called(found, depth)
        for link in links[used:]:
            if module.family in (RUBY, RUST) and link.name == "new" and found.types and not found.instance:
                found = self.called(found, depth)
                continue
            given = self.flow.contents.given(found, link.name, depth + 1) if link.called else None
            if given is not None:
                found = given
                continue
            following = self.member(found, link.name, depth + 1)
            found = OPAQUE if following is None else self.called(following, depth) if link.called else following
            if found.opaque:
                break
        return found

    def word(self, place: Place, name: str, depth: int = 0) -> Meaning | None:
        """The meaning of one name: the own instance or type, or a bare name. What is named like a type must be a library's if unknown."""
        found = self._start(place.module, place.scope, (Segment(name, False),), line=place.line, depth=depth)[0]
        return EXTERNAL if found is None and name[:1].isupper() else found

    def dotted_package(self, place: Place, expression: Expression) -> Meaning | None:
        """``a.b.c`` where that is an imported module."""
        names: list[str] = []
        while isinstance(expression, Attribute):
            names.insert(0, expression.name)
            expression = expression.owner
        if not isinstance(expression, Name) or expression.name not in place.module.packages:
            return None
        names.insert(0, expression.name)
        found = self.imports.package(place.module, names)
        return found[0] if found is not None and found[1] == len(names) else None

    def type_written(self, text: str) -> str | None:
        """The one named type in a declaration."""
        return named_type(text)

    def _start(
        self, module: Module, scope: Definition | None, links: Sequence[Segment], *, is_type: bool = False, line: int = 0, depth: int = 0
    ) -> tuple[Meaning | None, int]:
        """The meaning of the first names of a chain, and how many they are."""
        family, first = module.family, links[0].name
        if first in family.own_words:
            owner = self.own_type(module, scope)
            if owner is None:
                return self._own_object(module, scope, first, line, depth), 1
            return Meaning((owner,), instance=first not in family.self_types, above=first in family.super_names), 1
        if family is RUST and first in ("crate", "super"):
            return self.imports.path(module, [link.name for link in links]), len(links)
        if first in module.packages:
            package = self.imports.package(module, [link.name for link in links])
            if package is not None and not (scope is not None and first in scope.signature and first in self.parameters_of(scope)):
                return package
        found = self.bare(module, scope, first.lstrip("@$"), is_type=is_type, line=line, depth=depth)
        if found is None and family.full_paths:
            names = [link.name for link in links]
            for count in range(len(names), 1, -1):
                if (named := self.imports.path(module, names[:count])) is not None:
                    return named, count
        return found, 1

    def _own_object(self, module: Module, scope: Definition | None, word: str, line: int, depth: int) -> Meaning:
        """What a word for the own instance means outside of types: a parameter of that name, or JavaScript's object of functions.

        ``app.use = function () { this… }`` is of ``app``; in a function that others are assigned to, ``View.prototype.lookup = …``,
        it is what the function makes.
        """
        while scope is not None:
            if word in scope.signature and word in self.parameters_of(scope):
                return self.flow.local(scope, word, line, depth) or OPAQUE
            if module.family is JAVASCRIPT and scope.is_callable and scope.container is None:
                holder = module.by_local.get(scope.owner) if scope.owner else [scope] if scope.local in module.holders else None
                return Meaning(tuple(holder[:1]), certain=False) if holder else OPAQUE
            scope = scope.container
        return OPAQUE

    def parameters_of(self, scope: Definition) -> dict[str, str | None]:
        """Parameter name → declared type, in order."""
        known = self._parameters.get(scope.id)
        if known is None:
            known = parameters(scope.signature, scope.name, scope.module.family)
            self._parameters[scope.id] = known
        return known


def _outwards(namespace: str) -> Iterator[str]:
    while namespace:
        yield namespace
        namespace = namespace.rpartition(".")[0]


def _is_open(definition: Definition) -> bool:
    """At the top level, or a value of an enumeration there: those of C need no qualifier."""
    container = definition.container
    return container is None or (
        definition.kind is SymbolKind.ENUM_MEMBER and definition.module.family is C and container.container is None
    )


def _is_header(path: str) -> bool:
    return path.endswith((".h", ".hpp", ".hh", ".hxx"))
