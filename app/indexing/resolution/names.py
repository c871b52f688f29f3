"""Lookup of names: scopes first, then imports, then what the package and the family make visible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from app.domain.code import SymbolKind
from app.indexing.resolution.families import CSHARP, PHP, PYTHON, RUBY, RUST, C, Package
from app.indexing.resolution.imports import ImportedNames
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.inheritance import Inheritance
from app.indexing.resolution.meaning import EXTERNAL, OPAQUE, Meaning, Segment, meaning_of, segments
from app.indexing.resolution.signatures import parameters, return_type, value_type

_DEEPEST = 12  # links of type inference: a field of a field of a call; also the end of definitions that refer to each other


class Names:
    """Answers what a name means at a place. Remembers base classes and imports; pure otherwise."""

    def __init__(self, index: DefinitionIndex) -> None:
        self.index = index
        self.inheritance = Inheritance(index, self.type_named)
        self.imports = ImportedNames(index, self.inheritance.member)
        self._parameters: dict[int, dict[str, str | None]] = {}

    # Bare names

    def bare(self, module: Module, scope: Definition | None, name: str, *, is_type: bool = False) -> Meaning | None:
        """The meaning of a name without receiver inside ``scope``; a type's name is not looked for among parameters."""
        family = module.family
        innermost = scope
        while scope is not None:
            found = self._in_scope(module, scope, name, is_type, direct=scope is innermost)
            if found is not None:
                return found
            scope = scope.container
        if family.bare_members and innermost is not None:
            owner = self.own_type(module, innermost)
            found = self.member(Meaning((owner,)), name) if owner else None
            if found is not None and not found.opaque:
                return found
        return (
            self._at_top(module, name)
            or self.imports.bound(module, name)
            or self.imports.starred(module, name)
            or self._in_package(module, innermost, name)
            or self._everywhere(module, name)
        )

    def _in_scope(self, module: Module, scope: Definition, name: str, is_type: bool, *, direct: bool) -> Meaning | None:
        if scope.is_type:
            if module.family.bare_members:
                found = self.member(Meaning((scope,)), name)
                return found if found is not None and not found.opaque else None
            if not (direct and module.family is PYTHON):
                return None
        elif not is_type:
            declared = self._parameters_of(scope)
            if name in declared:
                return self.object_of_type(module, scope.container, declared[name])
        nested = module.by_local.get(f"{scope.local}.{name}")
        return meaning_of([d for d in nested if d.container is scope]) if nested else None

    def _at_top(self, module: Module, name: str) -> Meaning | None:
        return meaning_of(module.by_local.get(name, ()))

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
            return meaning
        for module in meaning.modules:
            found = self.imports.exported(module, name)
            if found is not None:
                return found
        if meaning.namespace:
            return self._in_namespace(meaning.namespace, name, meaning)
        for definition in meaning.definitions:
            if definition.is_type:
                found = self.inheritance.member(definition, name, above=meaning.above)
            else:
                value = self.object_of(definition, depth)
                found = self.member(value, name, depth + 1) if value is not None and depth < _DEEPEST else None
            if found is not None:
                return found.weakened(meaning.certain)
        return None

    def _in_namespace(self, namespace: str, name: str, meaning: Meaning) -> Meaning | None:
        full = f"{namespace}.{name}"
        for family in (CSHARP, PHP, C):
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
        found = self._named(module, scope, written, depth)
        if found is None or found is EXTERNAL:
            return EXTERNAL
        return Meaning(found.types, instance=True, certain=False) if found.types else OPAQUE

    def object_of(self, definition: Definition, depth: int = 0) -> Meaning | None:
        """What a variable, field or property holds, by its declaration or the constructor it is given."""
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

    def called(self, meaning: Meaning, depth: int = 0) -> Meaning:
        """What a call gives: an object of a type, or of the type that a function declares to return."""
        if meaning.opaque:
            return meaning
        for definition in meaning.definitions:
            if definition.is_type and not meaning.instance:
                return Meaning((definition,), instance=True, certain=meaning.certain)
            if definition.kind is SymbolKind.CONSTRUCTOR or definition.name == "new":
                owner = self.own_type(definition.module, definition)
                return Meaning((owner,), instance=True, certain=False) if owner else OPAQUE
            if definition.is_callable:
                written = return_type(definition.signature, definition.name, definition.module.family)
                return self.object_of_type(definition.module, definition, written, depth + 1)
        return OPAQUE

    def expression(self, module: Module, scope: Definition | None, text: str, depth: int = 0) -> Meaning | None:
        """What a receiver's text means; None when nothing is known of it, OPAQUE when it is known to lead out of sight."""
        links = segments(text)
        if links is None or depth > _DEEPEST:
            return None
        found, used = self._start(module, scope, links)
        if found is None:  # what is called, or named like a type, is no variable: it is defined outside of the repository
            return EXTERNAL if links[0].called or links[0].name[0].isupper() else None
        if links[used - 1].called and not found.above:
            found = self.called(found, depth)
        for link in links[used:]:
            if module.family in (RUBY, RUST) and link.name == "new" and found.types and not found.instance:
                found = self.called(found, depth)
                continue
            following = self.member(found, link.name, depth + 1)
            found = OPAQUE if following is None else self.called(following, depth) if link.called else following
            if found.opaque:
                break
        return found

    def _start(
        self, module: Module, scope: Definition | None, links: Sequence[Segment], *, is_type: bool = False
    ) -> tuple[Meaning | None, int]:
        """The meaning of the first names of a chain, and how many they are."""
        family, first = module.family, links[0].name
        words = family.self_names | family.self_types | family.super_names
        if first in words:
            owner = self.own_type(module, scope)
            if owner is None:
                return OPAQUE, 1
            return Meaning((owner,), instance=first not in family.self_types, above=first in family.super_names), 1
        names = [link.name for link in links]
        if family is RUST and first in ("crate", "super"):
            return self.imports.path(module, names), len(links)
        package = self.imports.package(module, names)
        if package is not None and not (scope is not None and first in self._parameters_of(scope)):
            return package
        return self.bare(module, scope, first.lstrip("@$"), is_type=is_type), 1

    def _parameters_of(self, scope: Definition) -> dict[str, str | None]:
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
