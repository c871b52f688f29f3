"""Which unchanged files an incremental run must resolve again.

The contract: after a run that changed, added or removed files, a file's edges are as in a full build if it is resolved again whenever

- it changed itself, or
- ``must_resolve`` says so: a name in ``Affected.names`` is one of its symbols, references, links of a receiver, imported names or
  parts of an imported module, or a part of an imported module is in ``Affected.modules``; or a parameter of one of its functions is
  given something else (``Affected.given``).

Names, not symbols, are compared: that asks for a file too many now and then, and never for one too few. Where a name only passes a
value on (``carried.py``), it counts when that value is another (``changes.py``). One exception: without a go.mod, which of Go's import
paths are the repository's own is voted on by all of its imports; when the vote turns, a full build is due.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

from app.domain.code import Import, ReferenceKind, SymbolKind
from app.domain.facts import FileFacts
from app.domain.manifests import is_manifest
from app.indexing.resolution.assigned import facts_of
from app.indexing.resolution.carried import Carried, binding_words, carried_by, changed_bindings, signature_words, vocabulary, words_of
from app.indexing.resolution.changes import Changes, NameInFile
from app.indexing.resolution.families import FAMILIES, GO, JAVA, JAVASCRIPT, PYTHON, Family, family_of
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.manifests import names_of
from app.indexing.resolution.signatures import return_type

_OPERATORS = frozenset({"__call__", "__enter__", "__iter__", "__next__", *(f.constructor for f in FAMILIES.values())})
_WORD = re.compile(r"[^\W\d]\w*")
MOST_NAMES = 500
"""More than this, and following them costs more than resolving every file again."""

_FOLDER_FILES = frozenset({"__init__", "index", "mod"})
_RUST_TREE = frozenset({"lib.rs", "main.rs", "mod.rs"})


@dataclass(frozen=True, slots=True)
class Affected:
    """Names whose meaning may have changed, names of modules (last parts of paths) that may be found elsewhere now, and paths of files
    whose functions may be given other values; ``everything`` when they are too many to be worth following."""

    names: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    given: frozenset[str] = frozenset()
    everything: bool = False


def affected_names(old: Iterable[FileFacts], new: Iterable[FileFacts], index: DefinitionIndex) -> Affected:
    """What a change affects. ``old``: the former facts of changed and removed files; ``new``: the facts of changed and added ones.

    ``index`` is the whole repository after the change.
    """
    before = {file.path: file for file in old}
    after = {file.path: file for file in new}
    names: set[str] = set()
    modules: set[str] = set()
    values: set[NameInFile] = set()
    others: set[NameInFile] = set()
    opened: list[Module] = []
    for path in before.keys() | after.keys():
        was, now = before.get(path), after.get(path)
        declared = _changed_symbols(was, now)
        others |= {(path, name) for name in declared | {heir for heir, _ in _bases(was) ^ _bases(now)}}
        names |= declared
        names |= _changed_bases(was, now, index)
        values |= {(path, name) for name in changed_bindings(was, now)}
        for imported in _changed_imports(was, now):
            names |= {name for name in (imported.local, imported.name) if name and name != "*" and _may_be_seen(path, name, index)}
            if imported.name in (None, "*"):
                opened += _namesakes(index, _parts(imported.module)[-1:])
        only = now if was is None else was if now is None else None
        filename = path.rpartition("/")[2]
        if is_manifest(filename):
            modules |= _written_as({i.name or "" for i in _changed_imports(was, now)}, index, GO if filename == "go.mod" else JAVASCRIPT)
        if only is not None:
            family = family_of(only.language)
            modules |= _module_names(path, family, index)
            if family is JAVASCRIPT:
                modules |= {part for written in names_of(path, index) for part in _parts(written)}
            opened += _rivals(path, family, index)
    names |= _top_names(opened, index)
    if not (names or modules or values):
        return Affected()
    former = index.with_others(before.keys() | after.keys(), before.values())
    return _Spread(names, modules, others, index, Changes(former, index)).over(values)


def prepare(module: Module) -> None:
    """Read of a file what every change asks of all files, and is kept with it."""
    facts_of(module)
    vocabulary(module)


def must_resolve(file: FileFacts, affected: Affected) -> bool:
    """Whether an unchanged file's edges may differ from those it has."""
    if affected.everything:
        return True
    names = affected.names
    own = frozenset(symbol.name for symbol in file.symbols)
    if file.path in affected.given or _declares(own, file.imports, affected) or not names.isdisjoint(words_of(file.bindings)):
        return True
    return any(
        reference.name in names or (reference.receiver is not None and not names.isdisjoint(_WORD.findall(reference.receiver)))
        for reference in file.references
    )


def stale_modules(index: DefinitionIndex, affected: Affected) -> list[Module]:
    """The files that ``must_resolve`` names for their symbols and imports; those it names for references are the store's to find."""
    return [
        module
        for module in index.modules.values()
        if affected.everything
        or module.path in affected.given
        or _declares(module.names, module.imports, affected)
        or not affected.names.isdisjoint(binding_words(module))
    ]


def _declares(defined: Set[str], imports: Sequence[Import], affected: Affected) -> bool:
    names, modules = affected.names, affected.modules
    if not names.isdisjoint(defined):
        return True
    for imported in imports:
        parts = _parts(imported.module)
        if imported.local in names or not names.isdisjoint(parts) or _brings_in(imported, names, modules):
            return True
        if modules and imported.module and not parts:  # "." and "..": any folder's file
            return True
    return False


def _changed_symbols(was: FileFacts | None, now: FileFacts | None) -> set[str]:
    """Names of definitions that are new, gone or declared otherwise. A changed namespace changes all in it."""
    former, present = _declarations(was), _declarations(now)
    changed = {name for _, name, *_ in former ^ present}
    changed |= {owner for _, name, _, _, _, owner in former ^ present if owner and name in _OPERATORS}
    if any(kind is SymbolKind.NAMESPACE for _, _, kind, *_ in former ^ present):
        changed = {name for _, name, *_ in former | present}
    return changed | {part for name in changed if not name.isidentifier() for part in _WORD.findall(name)}


def _declarations(file: FileFacts | None) -> set[tuple[int, str, SymbolKind, bool, str, str]]:
    """Symbols but a function's own variables: what is defined inside of a function can be handed out."""
    if file is None:
        return set()
    return {
        (identifier, symbol.name, symbol.kind, symbol.exported, symbol.signature, symbol.qualified.rpartition(".")[0].rpartition(".")[2])
        for identifier, symbol in zip(file.symbol_ids, file.symbols, strict=True)
    }


def _changed_imports(was: FileFacts | None, now: FileFacts | None) -> list[Import]:
    former = {(i.module, i.name, i.local): i for i in (was.imports if was else ())}
    present = {(i.module, i.name, i.local): i for i in (now.imports if now else ())}
    return [(former | present)[key] for key in sorted(former.keys() ^ present.keys(), key=repr)]


def _may_be_seen(path: str, name: str, index: DefinitionIndex) -> bool:
    """Whether another file can have a name through the one that imports it: from a Python module only those who ask the module for it."""
    module = index.modules.get(path)
    if module is None or module.family is not PYTHON:
        return True
    return any(
        imported.name in (None, "*", name, module.stem)
        for other in index.modules.values()
        if other is not module and other.family is PYTHON
        for imported in other.imports
        if imported.name == module.stem or _parts(imported.module)[-1:] in ([module.stem], [])
    )


def _changed_bases(was: FileFacts | None, now: FileFacts | None, index: DefinitionIndex) -> set[str]:
    """All that a type with other bases than before can have gained or lost: the members of the old bases and of the new."""
    former, present = _bases(was), _bases(now)
    return _inherited({base for _, base in former ^ present}, index)


def _bases(file: FileFacts | None) -> set[tuple[str, str]]:
    if file is None:
        return set()
    return {
        (file.symbols[r.enclosing].qualified, r.name)
        for r in file.references
        if r.kind is ReferenceKind.INHERIT and r.enclosing is not None
    }


def _inherited(bases: set[str], index: DefinitionIndex) -> set[str]:
    """Names of the members of all types with these simple names and of the types above them."""
    members: set[str] = set()
    waiting, seen = list(bases), set(bases)
    while waiting:
        base = waiting.pop()
        for definition in index.everywhere(base):
            if not definition.is_type:
                continue
            members |= index.member_names(definition.name)
            for reference in definition.module.bases.get(definition.ordinal, ()):
                if reference.name not in seen:
                    seen.add(reference.name)
                    waiting.append(reference.name)
    return members


def _module_names(path: str, family: Family, index: DefinitionIndex) -> set[str]:
    """The parts of import names by which a path can be meant: its stem, or its folder where that is what is imported."""
    directory, _, filename = path.rpartition("/")
    stem, folder = filename.partition(".")[0], directory.rpartition("/")[2]
    names = {stem}
    if family in (GO, JAVA) or stem in _FOLDER_FILES:
        names.add(folder)
    if stem == "__init__":  # also decides whether what stands beside it can be imported by its bare name
        names |= {module.stem for module in index.modules.values() if module.directory == directory}
    return (names | ({"crate", "super"} if filename in _RUST_TREE else set())) - {""}


def _written_as(rules: Set[str], index: DefinitionIndex, family: Family) -> set[str]:
    """The parts of all imports that a rule of a project file may speak of; of Go all, which are voted on where no file says anything."""
    beginnings = tuple(rule.partition("*")[0] for rule in rules)
    return {
        part
        for module in index.modules.values()
        if beginnings and module.family is family
        for imported in module.imports
        if family is GO or (not imported.module.startswith(".") and imported.module.startswith(beginnings))
        for part in _parts(imported.module)
    }


def _rivals(path: str, family: Family, index: DefinitionIndex) -> list[Module]:
    """Files that an import may have meant, or may now mean, in place of this one."""
    stems = _module_names(path, family, index)
    found = [module for module in _namesakes(index, stems) if module.family is family and module.path != path]
    if family is not JAVASCRIPT:
        return found
    place = _without_index(path)
    return [module for module in found if _without_index(module.path) == place]


def _without_index(path: str) -> str:
    directory, _, filename = path.rpartition("/")
    stem = filename.partition(".")[0]
    return directory if stem == "index" else f"{directory}/{stem}"


def _namesakes(index: DefinitionIndex, stems: Iterable[str]) -> list[Module]:
    wanted = set(stems)
    return [module for module in index.modules.values() if module.stem in wanted] if wanted else []


def _top_names(opened: Sequence[Module], index: DefinitionIndex) -> set[str]:
    """All names that can come in by opening these modules, also through what they open themselves."""
    names: set[str] = set()
    seen = {module.path for module in opened}
    waiting = list(opened)
    while waiting:
        module = waiting.pop()
        names |= {definition.name for definition in module.definitions if definition.container is None}
        names |= module.bindings.keys()
        stems = [part for i in module.imports if i.name in (None, "*") for part in _parts(i.module)[-1:]]
        for other in _namesakes(index, stems):
            if other.path not in seen:
                seen.add(other.path)
                waiting.append(other)
    return names


class _Spread:
    """Follows aliases, base lists, declared types and values until nothing is added: each passes a change on under another name."""

    def __init__(self, names: set[str], modules: set[str], others: set[NameInFile], index: DefinitionIndex, changes: Changes) -> None:
        """``others``: files with the names in them that are declared otherwise."""
        self._names, self._modules, self._others = names, modules, others
        self._index = index
        self._changes = changes
        self._given: set[NameInFile] = set()
        """File, and ``f(`` for a function in it whose parameters may be given something else."""

    def over(self, values: Iterable[NameInFile]) -> Affected:
        """``values``: files with names to which they bind something else than before, or ``f(`` for what they pass to ``f``."""
        everything = list(self._index.modules.values())
        bound = [(i, i.local) for module in everything for i in module.imports if i.local]
        heirs = [
            (heir.name, {reference.name for reference in references})
            for module in everything
            for ordinal, references in module.bases.items()
            if (heir := module.at(ordinal)) is not None
        ]
        size = -1
        while size != self._size:
            if len(self._names) > MOST_NAMES:
                return Affected(everything=True)
            size = self._size
            for path, name in values:
                self._bind(path, name)
            names = self._names
            names.update(local for imported, local in bound if local not in names and _brings_in(imported, names, self._modules))
            for name, bases in heirs:
                if not names.isdisjoint(bases):
                    names |= _inherited(bases | {name}, self._index) | {name}
            for module in everything:
                self._carry(module)
        return Affected(frozenset(names), frozenset(self._modules), frozenset(path for path, _ in self._given))

    @property
    def _size(self) -> int:
        return len(self._names) + len(self._given) + len(self._others)

    def _carry(self, module: Module) -> None:
        calls = frozenset(name for path, name in self._given if path == module.path)
        if not calls and self._names.isdisjoint(vocabulary(module)):
            return
        for name, words in passed_on(module):
            if not (self._names.isdisjoint(words) and calls.isdisjoint(words)):
                self._bind(module.path, name)

    def _bind(self, path: str, name: str) -> None:
        if name.endswith("("):
            for function in self._changes.given_otherwise(path, name[:-1], self._others):
                owner = function.owner.rpartition(".")[2]
                self._given |= {(function.module.path, f"{function.name}("), (function.module.path, f"{owner}(")}
        elif (path, name) not in self._others and self._changes.is_other(path, name, self._others):
            self._names.add(name)
            self._others.add((path, name))


def passed_on(module: Module) -> Sequence[Carried]:
    """All names of a file that pass a change on, with the words that they depend on, read once: they are asked for at every change."""
    if module.passed_on is None:
        module.passed_on = [*_declared_by(module), *carried_by(module), *signature_words(module)]
    return module.passed_on


def _declared_by(module: Module) -> Iterator[Carried]:
    """The names of a file's definitions with their declared words."""
    return ((d.name, words) for d in module.definitions if (words := _declared_words(d)))


def _declared_words(definition: Definition) -> frozenset[str]:
    """The words by which others learn a type from this: what a callable returns, all that is said of a variable."""
    if definition.is_type:
        return frozenset()
    if not definition.is_callable:
        return frozenset(_WORD.findall(definition.signature)) - {definition.name}
    written = return_type(definition.signature, definition.name, definition.module.family)
    return frozenset(_WORD.findall(written or ""))


def _brings_in(imported: Import, names: Set[str], modules: Set[str]) -> bool:
    """Whether an import's meaning may have changed; ``require("./a")`` is the module and its default export at the same time."""
    if imported.name in names or imported.name in modules:
        return True
    if modules and not modules.isdisjoint(_parts(imported.module)):
        return True
    return "default" in names and imported.name in (None, "*") and imported.module.startswith(".")


def _parts(module: str) -> list[str]:
    return _WORD.findall(module)
