"""All definitions of a repository, by name, by place and by namespace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field

from app.domain.code import Import, Reference, ReferenceKind, Symbol, SymbolKind
from app.domain.facts import FileFacts
from app.indexing.resolution.families import JAVASCRIPT, PYTHON, Family, family_of

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
    """One file: its definitions in order, by local name, and what it brings in."""

    id: int
    path: str
    directory: str
    stem: str
    family: Family
    imports: Sequence[Import]
    definitions: list[Definition] = field(default_factory=list)
    by_local: dict[str, list[Definition]] = field(default_factory=dict)
    bindings: dict[str, list[Import]] = field(default_factory=dict)
    stars: list[Import] = field(default_factory=list)
    packages: dict[str, list[Import]] = field(default_factory=dict)
    bases: dict[int, list[Reference]] = field(default_factory=dict)
    namespace: str = ""


class DefinitionIndex:
    """Name → definitions of a repository. Add every file, then resolve; the order of adding plays no part.

    Costs about 1 kB per symbol. Keep it for one build: what ``Names`` derives from it is remembered along with it.
    """

    def __init__(self, files: Iterable[FileFacts] = ()) -> None:
        self.modules: dict[str, Module] = {}
        self._by_name: dict[tuple[str, str], list[Definition]] = defaultdict(list)
        self._by_full: dict[tuple[str, str], list[Definition]] = defaultdict(list)
        self._by_directory: dict[tuple[str, str], list[Module]] = defaultdict(list)
        self._by_stem: dict[tuple[str, str], list[Module]] = defaultdict(list)
        self._by_namespace: dict[tuple[str, str], list[Module]] = defaultdict(list)
        self._namespaces: set[tuple[str, str]] = set()
        self._shown: dict[str, set[str]] = defaultdict(set)
        self._members: dict[str, set[str]] | None = None
        self._sorted = True
        for file in files:
            self.add(file)

    def add(self, file: FileFacts) -> None:
        """Take in a file's symbols, imports and base lists; references of other kinds are not kept."""
        module = _module(file)
        family = module.family.name
        self.modules[module.path] = module
        self._by_directory[family, module.directory].append(module)
        self._by_stem[family, module.stem].append(module)
        namespaces = {definition.namespace for definition in module.definitions} | {module.namespace}
        for namespace in namespaces - {""}:
            self._by_namespace[family, namespace].append(module)
            self._namespaces.update((family, prefix) for prefix in _prefixes(namespace))
        shown = self._shown[family]
        for definition in module.definitions:
            if definition.kind is SymbolKind.NAMESPACE:
                continue
            shown.add(definition.name)
            if is_local(module.family, file.symbols, definition.ordinal):
                continue
            self._by_name[family, definition.name].append(definition)
            self._by_full[family, definition.full].append(definition)
        self._sorted = False
        self._members = None

    def names(self, family: Family) -> Set[str]:
        """All names that the family defines, those inside of functions too."""
        return self._shown[family.name]

    def named(self, family: Family, name: str) -> Sequence[Definition]:
        """All definitions of a name but those inside of functions, in the order of path and position."""
        self._sort()
        return self._by_name.get((family.name, name), ())

    def qualified(self, family: Family, full: str) -> Sequence[Definition]:
        """All definitions with this namespace-qualified name."""
        self._sort()
        return self._by_full.get((family.name, full), ())

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
        return (family.name, name) in self._namespaces

    def directories(self, family: Family) -> list[str]:
        return sorted(directory for name, directory in self._by_directory if name == family.name)

    def has_sibling(self, directory: str, name: str) -> bool:
        return (f"{directory}/{name}" if directory else name) in self.modules

    def everywhere(self, name: str) -> Iterable[Definition]:
        """All definitions of a name in all families."""
        return (d for family in self._shown for d in self._by_name.get((family, name), ()))

    def member_names(self, type_name: str) -> set[str]:
        """The names of all members of all types with this simple name."""
        if self._members is None:
            self._members = defaultdict(set)
            for (_, name), definitions in self._by_name.items():
                for definition in definitions:
                    if definition.owner:
                        self._members[definition.owner.rpartition(".")[2]].add(name)
        return self._members.get(type_name, set())

    def _sort(self) -> None:
        if self._sorted:
            return
        for modules in (*self._by_directory.values(), *self._by_stem.values(), *self._by_namespace.values()):
            modules.sort(key=lambda module: module.path)
        for definitions in (*self._by_name.values(), *self._by_full.values()):
            if len(definitions) > 1:
                definitions.sort(key=lambda definition: (definition.module.path, definition.ordinal))
        self._sorted = True


def is_local(family: Family, symbols: Sequence[Symbol], ordinal: int) -> bool:
    """Whether a symbol stands inside of a function, where other files cannot name it. JavaScript's are often handed out as members."""
    if family is JAVASCRIPT:
        return False
    container = symbols[ordinal].container
    while container is not None:
        if symbols[container].kind.is_callable:
            return True
        container = symbols[container].container
    return False


def is_member(definition: Definition) -> bool:
    """Something that is reached through an instance or a type."""
    return "." in definition.local and definition.kind in _MEMBERS


def _module(file: FileFacts) -> Module:
    directory, _, filename = file.path.rpartition("/")
    stem = filename.partition(".")[0]
    if stem in ("__init__", "mod") and directory:
        stem = directory.rpartition("/")[2]
    module = Module(file.module_id, file.path, directory, stem, family_of(file.language), tuple(file.imports))
    for imported in module.imports:
        if imported.name == "*":
            module.stars.append(imported)
        first = imported.module.partition(".")[0]
        if module.family is PYTHON and imported.name is None and imported.local in (imported.module, first):
            module.packages.setdefault(first, []).append(imported)
        if imported.local:
            module.bindings.setdefault(imported.local, []).append(imported)
    _define(module, file)
    for reference in file.references:
        if reference.kind is ReferenceKind.INHERIT and reference.enclosing is not None:
            module.bases.setdefault(reference.enclosing, []).append(reference)
    return module


def _define(module: Module, file: FileFacts) -> None:
    for ordinal, (identifier, symbol) in enumerate(zip(file.symbol_ids, file.symbols, strict=True)):
        container = None if symbol.container is None else module.definitions[symbol.container]
        if container is not None and container.kind is SymbolKind.NAMESPACE:
            namespace, parent = container.full, None
        elif container is not None:
            namespace, parent = container.namespace, container
        else:
            namespace, parent = module.namespace, None
        qualified = symbol.qualified.replace("::", ".").replace("\\", ".")
        name = symbol.name.replace("::", ".").replace("\\", ".")
        if symbol.kind is SymbolKind.NAMESPACE:
            local = name
            namespace = container.full if container is not None else ""
        else:
            local = qualified.removeprefix(namespace + ".") if namespace else qualified
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
        )
        module.definitions.append(definition)
        if symbol.kind is SymbolKind.NAMESPACE:
            if not _encloses_any(file, ordinal):
                module.namespace = definition.full
        else:
            module.by_local.setdefault(local, []).append(definition)


def _encloses_any(file: FileFacts, ordinal: int) -> bool:
    """False for a namespace that is declared for the rest of the file (``namespace App;``, ``package app;``)."""
    following = file.symbols[ordinal + 1] if ordinal + 1 < len(file.symbols) else None
    return following is not None and following.container is not None and following.container >= ordinal


def _prefixes(namespace: str) -> Iterable[str]:
    parts = namespace.split(".")
    return (".".join(parts[:count]) for count in range(1, len(parts) + 1))
