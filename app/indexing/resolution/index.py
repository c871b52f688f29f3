"""All definitions of a repository, by name, by place and by namespace."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from sys import intern
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from app.domain.code import Binding, Import, Reference, ReferenceKind, SymbolKind
from app.domain.facts import FileFacts
from app.indexing.resolution.families import JAVASCRIPT, PYTHON, Family, family_of

if TYPE_CHECKING:
    from app.indexing.resolution.assigned import Assigned
    from app.indexing.resolution.call_sites import Site

Derived = TypeVar("Derived")
Item = TypeVar("Item")

_SPARED = frozenset({SymbolKind.FIELD, SymbolKind.ENUM_MEMBER, SymbolKind.MACRO, SymbolKind.CONSTANT, SymbolKind.VARIABLE})
_MEMBERS = frozenset({SymbolKind.METHOD, SymbolKind.FUNCTION, SymbolKind.PROPERTY, SymbolKind.FIELD, SymbolKind.CONSTRUCTOR})


@dataclass(slots=True, eq=False)
class Definition:
    """One symbol as resolution sees it.

    ``local`` is the qualified name without the namespace, ``full`` with it; ``container`` is None at the file's or a namespace's
    top level. ``signature`` tells declared types and parameters.
    """

    id: int
    module: Module
    ordinal: int
    kind: SymbolKind
    name: str
    namespace: str
    local: str
    container: Definition | None
    exported: bool
    signature: str
    line: int
    is_type: bool
    is_callable: bool
    is_local: bool

    @property
    def full(self) -> str:
        return f"{self.namespace}.{self.local}" if self.namespace else self.local

    @property
    def owner(self) -> str:
        """The local name of the type it belongs to, empty for none."""
        return self.local.rpartition(".")[0]

    @property
    def is_prototype(self) -> bool:
        """Declared here and defined elsewhere, as in a C header."""
        return self.signature.endswith(";")


@dataclass(slots=True, eq=False)
class Module:
    """One file: its definitions in order, by local name, and what it brings in. ``names`` are those of its symbols as written.

    Of a very large repository only a part of the definitions is there (``DefinitionIndex.add``); ``at`` finds one by its ordinal.
    ``holders``: local names of what is no type and has members that stand outside of it (``app.use = function () {}``).
    """

    id: int
    path: str
    directory: str
    stem: str
    family: Family
    imports: Sequence[Import]
    names: frozenset[str]
    definitions: list[Definition] = field(default_factory=list)
    by_local: dict[str, tuple[Definition, ...]] = field(default_factory=dict)
    bindings: dict[str, list[Import]] = field(default_factory=dict)
    holders: set[str] = field(default_factory=set)
    stars: list[Import] = field(default_factory=list)
    packages: dict[str, list[Import]] = field(default_factory=dict)
    bases: dict[int, list[Reference]] = field(default_factory=dict)
    namespace: str = ""
    assigned: Sequence[Binding] = ()
    passed_on: Sequence[tuple[str, frozenset[str]]] | None = None
    words: frozenset[str] | None = None
    vocabulary: frozenset[str] | None = None
    facts: Assigned | None = None
    sites: Sequence[tuple[str, Site]] | None = None
    is_sparse: bool = False

    def at(self, ordinal: int | None) -> Definition | None:
        """The definition of this ordinal; None for None and for what was left out."""
        if ordinal is None:
            return None
        if not self.is_sparse:
            return self.definitions[ordinal]
        place = bisect_left(self.definitions, ordinal, key=_ordinal)
        found = self.definitions[place] if place < len(self.definitions) else None
        return found if found is not None and found.ordinal == ordinal else None


class DefinitionIndex:
    """Name → definitions of a repository. The order in which files are added plays no part.

    Costs about 0.7 kB per symbol.
    """

    def __init__(self, files: Iterable[FileFacts] = ()) -> None:
        self.modules: dict[str, Module] = {}
        self._by_name: defaultdict[str, dict[str, Definition | list[Definition]]] = defaultdict(dict)  # most names are borne once
        self._qualified: dict[tuple[str, str], Sequence[Definition]] = {}
        self._by_directory: dict[tuple[str, str], list[Module]] = {}
        self._by_stem: dict[tuple[str, str], list[Module]] = {}
        self._by_namespace: dict[tuple[str, str], list[Module]] = {}
        self._namespaces: Counter[tuple[str, str]] = Counter()
        self._shown: dict[str, Counter[str]] = defaultdict(Counter)
        self._members: dict[str, set[str]] | None = None
        self._derived: Any = None
        self._unsorted_modules: dict[int, list[Module]] = {}
        self._unsorted_definitions: dict[int, list[Definition]] = {}
        for file in files:
            self.add(file)

    def with_others(self, paths: Iterable[str], files: Iterable[FileFacts]) -> Self:
        """An index of its own in which these paths are gone and these files are added instead."""
        other = type(self)()
        other.modules = dict(self.modules)
        for family, names in self._by_name.items():
            other._by_name[family] = {name: found[:] if isinstance(found, list) else found for name, found in names.items()}
        for mine, others in zip(self._tables, other._tables, strict=True):
            others |= {key: modules[:] for key, modules in mine.items()}
        other._namespaces = self._namespaces.copy()
        for family, shown in self._shown.items():
            other._shown[family] = shown.copy()
        for path in paths:
            if path in other.modules:
                other.remove(path)
        for file in files:
            other.add(file)
        return other

    @property
    def _tables(self) -> Sequence[dict[tuple[str, str], list[Module]]]:
        return (self._by_directory, self._by_stem, self._by_namespace)

    def add(self, file: FileFacts, *, sparse: bool = False) -> None:
        """Take in a file's symbols, imports and base lists; references of other kinds are not kept.

        ``sparse`` leaves out fields, values and macros: in headers of register names they are nearly all there is. Uses of them are
        found by name alone then.
        """
        module = _module(file, sparse=sparse)
        self.modules[module.path] = module
        for table, key in self._places(module):
            beside = table.setdefault(key, [])
            beside.append(module)
            self._unsorted_modules[id(beside)] = beside
        names = self._by_name[module.family.name]
        for definition in _shown(module):
            others = names.setdefault(definition.name, definition)
            if others is definition:
                continue
            if isinstance(others, list):
                others.append(definition)
            else:
                others = names[definition.name] = [others, definition]
            self._unsorted_definitions[id(others)] = others
        self._count(module, 1)

    def remove(self, path: str) -> None:
        """Forget a file; the index is as if it had never been added."""
        module = self.modules.pop(path)
        for table, key in self._places(module):
            _take_out(table, key, module)
        names = self._by_name[module.family.name]
        for definition in _shown(module):
            others = names[definition.name]
            if isinstance(others, list) and len(others) > 1:
                others.remove(definition)
            else:
                del names[definition.name]
        self._count(module, -1)

    @property
    def size(self) -> int:
        """The number of symbols."""
        return sum(len(module.definitions) for module in self.modules.values())

    def derived(self, make: Callable[[DefinitionIndex], Derived]) -> Derived:
        """What ``make`` derives from the index, remembered until the index changes."""
        if self._derived is None:
            self._derived = make(self)
        found: Derived = self._derived
        return found

    def forget_derived(self) -> None:
        """Free the memory of what was derived."""
        self._derived = None

    def forget_derived_at(self, paths: Iterable[str]) -> None:
        """Free what was derived from these files alone; found anew when it is needed."""
        for path in paths:
            module = self.modules[path]
            module.passed_on = module.words = module.vocabulary = module.facts = module.sites = None

    def _places(self, module: Module) -> Iterable[tuple[dict[tuple[str, str], list[Module]], tuple[str, str]]]:
        family = module.family.name
        yield self._by_directory, (family, module.directory)
        yield self._by_stem, (family, module.stem)
        for namespace in _namespaces(module):
            yield self._by_namespace, (family, namespace)

    def _count(self, module: Module, change: int) -> None:
        """Count names and namespaces in or out; what is derived from them is out of date."""
        family = module.family.name
        shown = self._shown[family]
        for definition in module.definitions:
            if definition.kind is not SymbolKind.NAMESPACE:
                shown[definition.name] += change
                if not shown[definition.name]:
                    del shown[definition.name]
        for namespace in _namespaces(module):
            for prefix in _prefixes(namespace):
                self._namespaces[family, prefix] += change
        self._members = None
        self._derived = None
        self._qualified.clear()

    def names(self, family: Family) -> Set[str]:
        """All names that the family defines, those inside of functions too."""
        return self._shown[family.name].keys()

    def named(self, family: Family, name: str) -> Sequence[Definition]:
        """All definitions of a name but those inside of functions, in the order of path and position."""
        self._sort()
        found = self._by_name[family.name].get(name, ())
        return (found,) if isinstance(found, Definition) else found

    def qualified(self, family: Family, full: str) -> Sequence[Definition]:
        """All definitions with this namespace-qualified name."""
        key = (family.name, full)
        found = self._qualified.get(key)
        if found is None:
            found = [definition for name in _endings(full) for definition in self.named(family, name) if definition.full == full]
            found.sort(key=_position)
            self._qualified[key] = found
        return found

    def in_directory(self, family: Family, directory: str) -> Sequence[Module]:
        self._sort()
        return self._by_directory.get((family.name, directory), ())

    def with_stem(self, family: Family, stem: str) -> Sequence[Module]:
        """The files whose name without extension is ``stem`` (for a package's ``__init__`` or ``mod``, its folder's name)."""
        self._sort()
        return self._by_stem.get((family.name, stem), ())

    def in_namespace(self, family: Family, namespace: str) -> Sequence[Module]:
        self._sort()
        return self._by_namespace.get((family.name, namespace), ())

    def is_namespace(self, family: Family, name: str) -> bool:
        return self._namespaces[family.name, name] > 0

    def directories(self, family: Family) -> list[str]:
        return sorted(directory for name, directory in self._by_directory if name == family.name)

    def has_sibling(self, directory: str, name: str) -> bool:
        return (f"{directory}/{name}" if directory else name) in self.modules

    def everywhere(self, name: str) -> Iterable[Definition]:
        """All definitions of a name in all families."""
        for names in self._by_name.values():
            found = names.get(name, ())
            yield from (found,) if isinstance(found, Definition) else found

    def member_names(self, type_name: str) -> set[str]:
        """The names of all members of all types with this simple name."""
        if self._members is None:
            self._members = defaultdict(set)
            for definition in (definition for module in self.modules.values() for definition in _shown(module)):
                if definition.owner:
                    self._members[definition.owner.rpartition(".")[2]].add(definition.name)
        return self._members.get(type_name, set())

    def _sort(self) -> None:
        if not self._unsorted_modules and not self._unsorted_definitions:
            return
        for modules in self._unsorted_modules.values():
            modules.sort(key=lambda module: module.path)
        for definitions in self._unsorted_definitions.values():
            definitions.sort(key=_position)
        self._unsorted_modules, self._unsorted_definitions = {}, {}


def is_member(definition: Definition) -> bool:
    """Something that is reached through an instance or a type."""
    return "." in definition.local and definition.kind in _MEMBERS


def _module(file: FileFacts, *, sparse: bool) -> Module:
    directory, _, filename = file.path.rpartition("/")
    stem = filename.partition(".")[0]
    if stem in ("__init__", "mod") and directory:
        stem = directory.rpartition("/")[2]
    left_out = _left_out(file) if sparse else frozenset()
    names = frozenset([intern(symbol.name) for ordinal, symbol in enumerate(file.symbols) if ordinal not in left_out])
    module = Module(file.module_id, file.path, directory, stem, family_of(file.language), tuple(file.imports), names)
    for imported in module.imports:
        if imported.name == "*":
            module.stars.append(imported)
        first = imported.module.partition(".")[0]
        if module.family is PYTHON and imported.name is None and imported.local in (imported.module, first):
            module.packages.setdefault(first, []).append(imported)
        if imported.local:
            module.bindings.setdefault(imported.local, []).append(imported)
    module.assigned = tuple(file.bindings)
    _define(module, file, left_out)
    for reference in file.references:
        if reference.kind is ReferenceKind.INHERIT and reference.enclosing is not None:
            module.bases.setdefault(reference.enclosing, []).append(reference)
    return module


def _left_out(file: FileFacts) -> frozenset[int]:
    """Ordinals of what can be spared: values that contain nothing."""
    used = {symbol.container for symbol in file.symbols}
    return frozenset(ordinal for ordinal, symbol in enumerate(file.symbols) if symbol.kind in _SPARED and ordinal not in used)


def _define(module: Module, file: FileFacts, left_out: Set[int]) -> None:
    module.is_sparse = bool(left_out)
    for ordinal, (identifier, symbol) in enumerate(zip(file.symbol_ids, file.symbols, strict=True)):
        if ordinal in left_out:
            continue
        container = module.at(symbol.container)
        if container is not None and container.kind is SymbolKind.NAMESPACE:
            namespace, parent = container.full, None
        elif container is not None:
            namespace, parent = container.namespace, container
        else:
            namespace, parent = module.namespace, None
        qualified = symbol.qualified.replace("::", ".").replace("\\", ".")
        name = intern(symbol.name.replace("::", ".").replace("\\", "."))
        if symbol.kind is SymbolKind.NAMESPACE:
            local = name
            namespace = container.full if container is not None else ""
        else:
            local = intern(qualified.removeprefix(namespace + ".") if namespace else qualified)
        definition = Definition(
            id=identifier,
            module=module,
            ordinal=ordinal,
            kind=symbol.kind,
            name=name,
            namespace=namespace,
            local=local,
            container=parent,
            exported=symbol.exported,
            signature=symbol.signature,
            line=symbol.name_line,
            is_type=symbol.kind.is_type,
            is_callable=symbol.kind.is_callable,
            is_local=module.family is not JAVASCRIPT and container is not None and (container.is_callable or container.is_local),
        )
        module.definitions.append(definition)
        if parent is None and "." in local and module.family is JAVASCRIPT:
            module.holders.add(definition.owner)
        if symbol.kind is SymbolKind.NAMESPACE:
            if not _encloses_any(file, ordinal):
                module.namespace = definition.full
        else:
            module.by_local[local] = (*module.by_local.get(local, ()), definition)


def _encloses_any(file: FileFacts, ordinal: int) -> bool:
    """False for a namespace that is declared for the rest of the file (``namespace App;``, ``package app;``)."""
    following = file.symbols[ordinal + 1] if ordinal + 1 < len(file.symbols) else None
    return following is not None and following.container is not None and following.container >= ordinal


def _namespaces(module: Module) -> set[str]:
    return {namespace for namespace in (module.namespace, *(d.namespace for d in module.definitions)) if namespace}


def _take_out(table: dict[tuple[str, str], list[Item]], key: tuple[str, str], item: Item) -> None:
    table[key].remove(item)
    if not table[key]:
        del table[key]


def _shown(module: Module) -> Iterable[Definition]:
    """What can be asked for by its name alone: neither namespaces nor what is inside of functions."""
    return (d for d in module.definitions if d.kind is not SymbolKind.NAMESPACE and not d.is_local)


_ordinal: Final = attrgetter("ordinal")


def _position(definition: Definition) -> tuple[str, int]:
    return definition.module.path, definition.ordinal


def _endings(full: str) -> Iterable[str]:
    """The names that a qualified name can end with: a name can have dots itself."""
    while full:
        yield full
        full = full.partition(".")[2]


def _prefixes(namespace: str) -> Iterable[str]:
    parts = namespace.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))
