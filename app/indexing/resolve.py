"""From names to definitions: the edges of one file, given all definitions of its repository.

Only ``exact`` and ``likely`` edges come out. A reference without one is ``possible`` for every definition of its name; those are
looked up when asked for, since a name with hundreds of definitions and thousands of call sites would multiply
(docs/decisions/0004-edges.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from weakref import WeakKeyDictionary

from app.domain.code import EdgeClass, EdgeKind, Reference, ReferenceKind, SymbolKind
from app.domain.facts import FileFacts, ResolvedEdge, identify
from app.indexing.resolution.affected import Affected, affected_names, must_resolve
from app.indexing.resolution.families import GO, JAVA, JAVASCRIPT, PHP, PYTHON, RUBY
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import Meaning
from app.indexing.resolution.names import Names
from app.indexing.resolution.unique import unique_member

__all__ = ["Affected", "DefinitionIndex", "FileFacts", "ResolvedEdge", "affected_names", "identify", "must_resolve", "resolve_file"]

_PLAIN = {ReferenceKind.DECORATE: EdgeKind.DECORATES, ReferenceKind.TYPE: EdgeKind.REFERENCES, ReferenceKind.READ: EdgeKind.REFERENCES}
_names: WeakKeyDictionary[DefinitionIndex, Names] = WeakKeyDictionary()


def resolve_file(file: FileFacts, index: DefinitionIndex) -> list[ResolvedEdge]:
    """All exact and likely edges whose site is in ``file``, sorted; ``index`` holds the whole repository, ``file`` included.

    Depends on the contents of the index alone, not on the order in which files were added to it or resolved.
    """
    names = _names.get(index)
    if names is None:
        names = _names[index] = Names(index)
    return _FileResolver(file, index.modules[file.path], index, names).edges()


class _FileResolver:
    """One file's references, imports and overrides."""

    def __init__(self, file: FileFacts, module: Module, index: DefinitionIndex, names: Names) -> None:
        self._file = file
        self._module = module
        self._index = index
        self._names = names
        self._known = index.names(module.family)
        self._meanings: dict[tuple[int | None, str | None, str, ReferenceKind], Meaning | None] = {}
        self._receivers: dict[tuple[int | None, str], Meaning | None] = {}

    def edges(self) -> list[ResolvedEdge]:
        found: list[ResolvedEdge] = []
        reached: set[Module] = set()
        for ordinal, reference in enumerate(self._file.references):
            meaning = self._meaning(reference)
            if meaning is None or meaning.opaque:
                continue
            for definition in self._in_force(reference, meaning):
                reached.add(definition.module)
                edge = self._edge(ordinal, reference, definition, meaning.certain)
                if edge is not None:
                    found.append(edge)
        found += set(self._imports(reached))
        found += self._overrides()
        return sorted(found, key=_place)

    def _scope(self, enclosing: int | None) -> Definition | None:
        return None if enclosing is None else self._module.definitions[enclosing]

    def _meaning(self, reference: Reference) -> Meaning | None:
        name = reference.name
        if name not in self._known and name not in self._module.bindings and name != "new":
            return None
        is_type = reference.kind in (ReferenceKind.TYPE, ReferenceKind.INHERIT)
        key = (reference.enclosing, reference.receiver, name, reference.kind)
        if key not in self._meanings:
            scope = self._scope(reference.enclosing)
            if is_type and scope is not None and reference.kind is ReferenceKind.INHERIT and scope.is_type:
                scope = scope.container
            if reference.receiver is None:
                self._meanings[key] = self._names.bare(self._module, scope, name, is_type=is_type)
            else:
                self._meanings[key] = self._through(scope, reference)
        return self._meanings[key]

    def _in_force(self, reference: Reference, meaning: Meaning) -> Sequence[Definition]:
        """Of a name's several definitions in one scope of this file the latest before the reference, where later ones replace earlier.

        In JavaScript namesakes stand in different blocks or anonymous functions, of which no symbol tells: the nearest is meant.
        """
        several = meaning.definitions
        family = self._module.family
        if len(several) < 2 or reference.receiver is not None or family not in (PYTHON, RUBY, PHP, JAVASCRIPT):
            return several
        scope = several[0].container if family is JAVASCRIPT else self._scope(reference.enclosing)
        if any(d.module is not self._module or d.container is not scope for d in several):
            return several
        return [d for d in several if d.line <= reference.line][-1:] or several

    def _through(self, scope: Definition | None, reference: Reference) -> Meaning | None:
        """A member of the receiver; failing that, for a call, the one method of that name."""
        receiver = reference.receiver or ""
        key = (reference.enclosing, receiver)
        if key not in self._receivers:
            self._receivers[key] = self._names.expression(self._module, scope, receiver)
        of = self._receivers[key]
        if of is not None:
            if reference.name == "new" and of.types and not of.instance:
                return self._names.member(of, "new") or of
            found = self._names.member(of, reference.name)
            if found is not None and not found.opaque:
                return found
            if not _may_be_any(of, found):
                return None
        if reference.kind is ReferenceKind.CALL:
            only = unique_member(self._index, self._module, reference.name, receiver)
            return Meaning((only,), certain=False) if only is not None else None
        return None

    def _edge(self, ordinal: int, reference: Reference, target: Definition, certain: bool) -> ResolvedEdge | None:
        kind = _PLAIN.get(reference.kind)
        if kind is None:
            if reference.kind is ReferenceKind.INHERIT:
                kind = EdgeKind.INHERITS if target.is_type else EdgeKind.REFERENCES
            else:
                kind = EdgeKind.INSTANTIATES if target.is_type else EdgeKind.CALLS
        scope = self._scope(reference.enclosing)
        source = self._module.id if scope is None else scope.id
        if source == target.id and kind is EdgeKind.REFERENCES:
            return None
        edge_class = EdgeClass.EXACT if certain else EdgeClass.LIKELY
        return ResolvedEdge(source, target.id, kind, edge_class, ordinal, reference.line)

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
            targets = {module.id for module in modules}
            if imported.name not in (None, "*") or not meaning.modules:
                targets |= {d.id for d in meaning.definitions}
            for target in targets - {self._module.id}:
                edge_class = EdgeClass.EXACT if meaning.certain or len(meaning.definitions) > 1 else EdgeClass.LIKELY
                yield ResolvedEdge(self._module.id, target, EdgeKind.IMPORTS, edge_class, None, imported.line)

    def _overrides(self) -> Iterator[ResolvedEdge]:
        """From a method to the nearest one of the same name above its type."""
        for definition in self._module.definitions:
            if not definition.is_callable or definition.kind is SymbolKind.CONSTRUCTOR or not definition.owner:
                continue
            owner = self._names.own_type(self._module, definition)
            if owner is None or owner.name != definition.owner.rpartition(".")[2]:
                continue
            above = self._names.member(Meaning((owner,), above=True), definition.name)
            for target in above.definitions if above is not None else ():
                if target.is_callable and target.id != definition.id:
                    yield ResolvedEdge(definition.id, target.id, EdgeKind.OVERRIDES, EdgeClass.EXACT, None, definition.line)


def _may_be_any(receiver: Meaning, member: Meaning | None) -> bool:
    """Whether a receiver that shows no such member may have it all the same: its type is unknown, and it is no library's."""
    if receiver.opaque:
        return receiver.certain
    if member is not None:
        return member.certain
    return bool(receiver.definitions) and not receiver.types


def _place(edge: ResolvedEdge) -> tuple[int, int, str, int, int]:
    return (edge.line, -1 if edge.reference is None else edge.reference, edge.kind.value, edge.source, edge.target)
