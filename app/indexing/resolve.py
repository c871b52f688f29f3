"""From names to definitions: the edges of one file, given all definitions of its repository.

Only ``exact`` and ``likely`` edges come out. A reference without one is ``possible`` for every definition of its name; those are
looked up when asked for, since a name with hundreds of definitions and thousands of call sites would multiply
(docs/decisions/0004-edges.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from app.domain.code import EdgeClass, EdgeKind, Reference, ReferenceKind, SymbolKind
from app.domain.facts import FileFacts, ResolvedEdge, identify
from app.domain.symbol_id import external_id
from app.indexing.resolution.affected import Affected, affected_names, must_resolve, prepare, stale_modules
from app.indexing.resolution.expression_parser import parse
from app.indexing.resolution.families import GO, JAVA, JAVASCRIPT, PHP, PYTHON, RUBY
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import Meaning, Place
from app.indexing.resolution.names import Names
from app.indexing.resolution.unique import unique_member

__all__ = [
    "Affected",
    "DefinitionIndex",
    "FileFacts",
    "ResolvedEdge",
    "affected_names",
    "identify",
    "must_resolve",
    "prepare",
    "resolve_file",
    "resolve_module",
    "resolve_references",
    "stale_modules",
]

_FIRST = re.compile(r"[^\W\d]\w*")
_UNNAMED = frozenset({"", "new", "super"})
_PLAIN = {ReferenceKind.DECORATE: EdgeKind.DECORATES, ReferenceKind.TYPE: EdgeKind.REFERENCES, ReferenceKind.READ: EdgeKind.REFERENCES}


def resolve_file(file: FileFacts, index: DefinitionIndex) -> list[ResolvedEdge]:
    """All exact and likely edges whose site is in ``file``, sorted; ``index`` holds the whole repository, ``file`` included.

    Depends on the contents of the index alone, not on the order in which files were added to it or resolved.
    """
    return resolve_references(index.modules[file.path], file.references, index)


def resolve_references(module: Module, references: Sequence[Reference], index: DefinitionIndex) -> list[ResolvedEdge]:
    """``resolve_file`` for a file of the index, given its references."""
    return resolve_module(module, references, index)[0]


def resolve_module(module: Module, references: Sequence[Reference], index: DefinitionIndex) -> tuple[list[ResolvedEdge], Counter[str]]:
    """``resolve_references``, and path of another file → edges that lead there: what libraries define counts for none."""
    resolver = _FileResolver(module, references, index, index.derived(Names))
    edges = resolver.edges()
    return edges, resolver.links(edges)


class _FileResolver:
    """One file's references, imports and overrides."""

    def __init__(self, module: Module, references: Sequence[Reference], index: DefinitionIndex, names: Names) -> None:
        self._module = module
        self._references = references
        self._index = index
        self._names = names
        self._known = index.names(module.family)
        facts = names.flow.of(module)
        self._bound_names = facts.bound_names
        self._varying = facts.varying
        self._keys = facts.keys
        self._meanings: dict[tuple[int | None, str | None, str, ReferenceKind, int], Meaning | None] = {}
        self._receivers: dict[tuple[int | None, str, int], Meaning | None] = {}
        self._paths: dict[int, str] = {}

    def links(self, edges: Sequence[ResolvedEdge]) -> Counter[str]:
        """Edges by the file that they lead to, this one left out."""
        paths = (self._paths[edge.target] for edge in edges if not edge.external)
        return Counter(path for path in paths if path != self._module.path)

    def edges(self) -> list[ResolvedEdge]:
        found: list[ResolvedEdge] = []
        reached: set[Module] = set()
        for ordinal, reference in enumerate(self._references):
            meaning = self._meaning(reference)
            if meaning is None or (meaning.opaque and not meaning.external):
                continue
            if meaning.opaque:
                found.append(self._external(ordinal, reference, meaning))
                continue
            edges: list[ResolvedEdge] = []
            for one in meaning.each:
                self._add_edges(edges, ordinal, reference, one)
                for definition in one.definitions:
                    reached.add(definition.module)
            found += dict.fromkeys(edges) if len(edges) > 1 else edges
        found += set(self._imports(reached))
        found += self._overrides()
        found += self._iterations()
        return sorted(found, key=_place)

    def _meaning(self, reference: Reference) -> Meaning | None:
        name = reference.name
        if name not in self._known and name not in self._module.bindings and name not in _UNNAMED and not self._is_bound_or_key(reference):
            return None
        is_type = reference.kind in (ReferenceKind.TYPE, ReferenceKind.INHERIT)
        line = reference.line if self._varying and _first(reference.receiver or name) in self._varying else 0
        key = (reference.enclosing, reference.receiver, name, reference.kind, line)
        if key not in self._meanings:
            scope = self._module.at(reference.enclosing)
            if scope is not None and (
                reference.kind is ReferenceKind.DECORATE or (reference.kind is ReferenceKind.INHERIT and scope.is_type)
            ):
                scope = scope.container  # bases and decorators are looked for outside of what they belong to
            if name == "super" and reference.receiver is None:
                above = self._names.word(Place(self._module, scope), name) if self._module.family is not PYTHON else None
                self._meanings[key] = self._constructors(above) if above is not None else None
            elif not name:
                self._meanings[key] = self._names.flow.value(Place(self._module, scope, line), parse(reference.receiver or ""), 0)
            elif not reference.receiver:
                bound = reference.receiver is not None
                place = Place(self._module, scope, line)
                self._meanings[key] = (
                    self._names.word(place, name) if bound else self._names.bare(*place[:2], name, is_type=is_type, line=line)
                )
            else:
                self._meanings[key] = self._through(scope, reference, line)
        return self._meanings[key]

    def _is_bound_or_key(self, reference: Reference) -> bool:
        """A variable, something that only a collection of the file has, or something that is reached through an import."""
        receiver = reference.receiver
        if not receiver:
            return receiver is not None or reference.name in self._bound_names
        first = _first(receiver)
        module = self._module
        return reference.name in self._keys or first in module.bindings or first in module.packages or first in self._bound_names

    def _constructors(self, above: Meaning) -> Meaning | None:
        return self._names.member(above, self._module.family.constructor) if above.types else None

    def _in_force(self, reference: Reference, meaning: Meaning) -> Sequence[Definition]:
        """Of a name's several definitions in one scope of this file the latest before the reference, where later ones replace earlier.

        In JavaScript namesakes stand in different blocks or anonymous functions, of which no symbol tells: the nearest is meant.
        """
        several = meaning.definitions
        family = self._module.family
        if len(several) < 2 or reference.receiver is not None or family not in (PYTHON, RUBY, PHP, JAVASCRIPT):
            return several
        scope = several[0].container if family is JAVASCRIPT else self._module.at(reference.enclosing)
        if any(d.module is not self._module or d.container is not scope for d in several):
            return several
        return [d for d in several if d.line <= reference.line][-1:] or several

    def _through(self, scope: Definition | None, reference: Reference, line: int) -> Meaning | None:
        """A member of the receiver; failing that, for a call, the one method of that name."""
        receiver = reference.receiver or ""
        key = (reference.enclosing, receiver, line)
        if key not in self._receivers:
            self._receivers[key] = self._names.expression(self._module, scope, receiver, line=line)
        of = self._receivers[key]
        if of is not None:
            if reference.name == "new" and of.types and not of.instance:
                return self._names.member(of, "new") or of
            found = self._names.member(of, reference.name)
            if found is not None and (not found.opaque or found.external):
                return found
            if not _may_be_any(of, found):
                return None
        if reference.kind is ReferenceKind.CALL:
            only = unique_member(self._index, self._module, reference.name, receiver)
            return Meaning((only,), certain=False) if only is not None else None
        return None

    def _add_edges(self, edges: list[ResolvedEdge], ordinal: int, reference: Reference, meaning: Meaning) -> None:
        if meaning.external:
            edges.append(self._external(ordinal, reference, meaning))
        for definition in self._in_force(reference, meaning):
            self._add_uses(edges, ordinal, reference, definition, meaning)

    def _add_uses(self, edges: list[ResolvedEdge], ordinal: int, reference: Reference, definition: Definition, meaning: Meaning) -> None:
        """The edge to what is named, and for a call to what runs: a constructor, a function that the name holds or is wrapped by."""
        names = self._names
        if meaning.instance:
            operator = names.inheritance.member(definition, "__call__") if reference.kind is ReferenceKind.CALL else None
            for target in operator.definitions if operator is not None else ():
                edges.append(self._edge_of_kind(ordinal, reference, target, EdgeKind.CALLS, certain=False))
            return
        edge = self._edge(ordinal, reference, definition, meaning.certain)
        if edge is not None:
            edges.append(edge)
        if reference.kind is ReferenceKind.DECORATE and not (definition.is_type or definition.is_callable):
            held = names.object_of(definition, 0, meaning.line)
            targets = [target for one in held.each for target in one.definitions if not one.opaque] if held is not None else ()
            edges += (self._edge_of_kind(ordinal, reference, target, EdgeKind.DECORATES, certain=False) for target in targets)
            return
        if reference.kind is not ReferenceKind.CALL:
            return
        if definition.is_type:
            made = names.constructor(definition)
            for target in made.definitions if made is not None else ():
                edges.append(self._edge_of_kind(ordinal, reference, target, EdgeKind.CALLS, certain=meaning.certain))
            return
        if definition.is_callable:
            held = names.flow.decorated(definition, 0) if meaning.certain else None
        else:
            held = names.object_of(definition, 0, meaning.line)
        edges += self._held_calls(ordinal, reference, definition, held)

    def _held_calls(self, ordinal: int, reference: Reference, definition: Definition, held: Meaning | None) -> Iterator[ResolvedEdge]:
        for one in held.each if held is not None else ():
            if one.external:
                yield self._external(ordinal, reference, one)
            for target in one.definitions if not one.opaque else ():
                if target is not definition and not (target.is_type and one.instance):
                    yield from self._uses_of_value(ordinal, reference, target)

    def _uses_of_value(self, ordinal: int, reference: Reference, target: Definition) -> Iterator[ResolvedEdge]:
        if target.is_type:
            yield self._edge_of_kind(ordinal, reference, target, EdgeKind.INSTANTIATES, certain=False)
            made = self._names.constructor(target)
            for constructor in made.definitions if made is not None else ():
                yield self._edge_of_kind(ordinal, reference, constructor, EdgeKind.CALLS, certain=False)
        elif target.is_callable:
            yield self._edge_of_kind(ordinal, reference, target, EdgeKind.CALLS, certain=False)

    def _edge(self, ordinal: int, reference: Reference, target: Definition, certain: bool) -> ResolvedEdge | None:
        kind = _PLAIN.get(reference.kind)
        if kind is None:
            if reference.kind is ReferenceKind.INHERIT:
                kind = EdgeKind.INHERITS if target.is_type else EdgeKind.REFERENCES
            else:
                kind = EdgeKind.INSTANTIATES if target.is_type else EdgeKind.CALLS
        edge = self._edge_of_kind(ordinal, reference, target, kind, certain=certain)
        return None if edge.source == target.id and kind is EdgeKind.REFERENCES else edge

    def _edge_of_kind(self, ordinal: int, reference: Reference, target: Definition, kind: EdgeKind, *, certain: bool) -> ResolvedEdge:
        edge_class = EdgeClass.EXACT if certain else EdgeClass.LIKELY
        source = self._source(reference.enclosing)
        self._paths[target.id] = target.module.path
        return ResolvedEdge(source, target.id, kind, edge_class, ordinal, reference.line)

    def _source(self, enclosing: int | None) -> int:
        scope = self._module.at(enclosing)
        return self._module.id if scope is None else scope.id

    def _external(self, ordinal: int, reference: Reference, meaning: Meaning) -> ResolvedEdge:
        """An edge to something of a library."""
        kind = _PLAIN.get(reference.kind) or (EdgeKind.INHERITS if reference.kind is ReferenceKind.INHERIT else EdgeKind.CALLS)
        target = external_id(self._module.family.name, meaning.external)
        return ResolvedEdge(self._source(reference.enclosing), target, kind, EdgeClass.EXACT, ordinal, reference.line, meaning.external)

    def _iterations(self) -> Iterator[ResolvedEdge]:
        """From a loop to the methods that it calls on what it loops over."""
        for binding in self._names.flow.of(self._module).iterated if "__iter__" in self._known else ():
            scope = self._module.at(binding.enclosing)
            looped = self._names.flow.value(Place(self._module, scope, binding.line), parse(binding.value), 0)
            for one in looped.each if looped is not None else ():
                for method in self._names.flow.contents.iteration(one) if one.instance else ():
                    self._paths[method.id] = method.module.path
                    yield ResolvedEdge(self._source(binding.enclosing), method.id, EdgeKind.CALLS, EdgeClass.LIKELY, None, binding.line)

    def _imports(self, reached: set[Module]) -> Iterator[ResolvedEdge]:
        """From the file to what it imports. Of a package or namespace, the files that it also uses something of."""
        for imported in self._module.imports:
            if not imported.module:
                continue
            meaning = self._names.imports.target(self._module, imported)
            modules = set(meaning.modules)
            if meaning.namespace or self._module.family is GO or (self._module.family is JAVA and imported.name == "*"):
                modules |= set(self._index.in_namespace(self._module.family, meaning.namespace)) if meaning.namespace else set()
                modules &= reached
            targets = {module.id: module.path for module in modules}
            if imported.name not in (None, "*") or not meaning.modules:
                targets |= {d.id: d.module.path for d in meaning.definitions}
            targets.pop(self._module.id, None)
            self._paths |= targets
            for target in targets:
                edge_class = EdgeClass.EXACT if meaning.certain or len(meaning.definitions) > 1 else EdgeClass.LIKELY
                yield ResolvedEdge(self._module.id, target, EdgeKind.IMPORTS, edge_class, None, imported.line)

    def _overrides(self) -> Iterator[ResolvedEdge]:
        """From a method to the nearest one of the same name above its type."""
        for definition in self._module.definitions:
            if not definition.is_callable or definition.kind is SymbolKind.CONSTRUCTOR or not definition.owner:
                continue
            owner = self._names.own_type(self._module, definition)
            if (
                owner is None
                or owner.name != definition.owner.rpartition(".")[2]
                or len(self._names.inheritance.line_of_descent(owner)) < 2
            ):
                continue
            above = self._names.member(Meaning((owner,), above=True), definition.name)
            for target in above.definitions if above is not None else ():
                if target.is_callable and target.id != definition.id:
                    self._paths[target.id] = target.module.path
                    yield ResolvedEdge(definition.id, target.id, EdgeKind.OVERRIDES, EdgeClass.EXACT, None, definition.line)


@lru_cache(maxsize=1 << 16)
def _first(text: str) -> str:
    """The first name in a receiver."""
    match = None if text.isidentifier() else _FIRST.search(text)
    return match.group() if match is not None else text


def _may_be_any(receiver: Meaning, member: Meaning | None) -> bool:
    """Whether a receiver that shows no such member may have it all the same: its type is unknown, and it is no library's."""
    if receiver.opaque:
        return receiver.certain
    if receiver.container is not None or receiver.alternatives:
        return False
    if member is not None:
        return member.certain
    return bool(receiver.definitions) and not receiver.types


def _place(edge: ResolvedEdge) -> tuple[int, int, str, int, int]:
    return (edge.line, -1 if edge.reference is None else edge.reference, edge.kind, edge.source, edge.target)
