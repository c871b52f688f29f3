"""Imports that name an item by a path through namespaces or modules: Java, C#, PHP, Rust, and C++'s ``using``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.domain.code import Import
from app.indexing.resolution.families import GO, JAVA, JAVASCRIPT, PHP, PYTHON, RUBY, RUST
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import Meaning, meaning_of
from app.indexing.resolution.modules import ModuleLocator

_BY_FILE_ONLY = (PYTHON, JAVASCRIPT, GO, RUBY)
_Seen = frozenset[tuple[str, str]]
Exported = Callable[[Module, str, _Seen], Meaning | None]


class DottedNames:
    """Resolves ``com.example.Point``, ``App\\Models\\User``, ``crate::net::Client``."""

    def __init__(
        self,
        index: DefinitionIndex,
        locator: ModuleLocator,
        exported: Exported,
        type_member: Callable[[Definition, str], Meaning | None],
    ) -> None:
        self._index = index
        self._locator = locator
        self._exported = exported
        self._type_member = type_member

    def target(self, module: Module, imported: Import, seen: _Seen) -> Meaning | None:
        """What one import names; None when it is outside the repository."""
        parts = _parts(imported.module)
        if imported.name not in (None, "*", "self"):
            parts += _parts(imported.name or "")
        return self.path(module, parts, seen)

    def starred(self, module: Module, imported: Import, name: str, seen: _Seen) -> Meaning | None:
        """``name`` among all that ``imported`` opens up: a namespace, a package, a module, the static members of a type."""
        if imported.name not in (None, "*"):
            return None
        opened = self.path(module, _parts(imported.module), seen)
        if opened is None:
            if module.family is not JAVA:
                return None
            packages = self._java_package(_parts(imported.module))
            return meaning_of([d for other in packages for d in other.by_local.get(name, ())])
        return self._inside(module, opened, name, seen)

    def path(self, module: Module, parts: Sequence[str], seen: _Seen = frozenset()) -> Meaning | None:
        """Walk a dotted path from its root."""
        if not parts or module.family in _BY_FILE_ONLY:
            return None
        if module.family is RUST:
            return self._rust(module, parts, seen)
        full = ".".join(parts)
        found = meaning_of(self._index.qualified(module.family, full))
        if found is not None:
            return found
        if self._index.is_namespace(module.family, full):
            return Meaning(namespace=full)
        return self._by_file(module, parts)

    def _by_file(self, module: Module, parts: Sequence[str]) -> Meaning | None:
        """A type in the file that is named like it, in folders named like its package or the end of its namespace."""
        ending = ".java" if module.family is JAVA else ".php" if module.family is PHP else None
        if ending is None:
            return None
        for cut in range(len(parts), 0, -1):
            folders = list(parts[: cut - 1])
            if not folders:
                return None
            matches = [m for m in self._index.with_stem(module.family, parts[cut - 1]) if _in_folders(m, folders, module)]
            if len(matches) == 1:
                found = meaning_of(matches[0].by_local.get(parts[cut - 1], ()))
                for name in parts[cut:]:
                    found = self._inside(module, found, name, frozenset()) if found else None
                return found
        return None

    def _java_package(self, parts: Sequence[str]) -> Sequence[Module]:
        ending = "/".join(parts)
        places = [d for d in self._index.directories(JAVA) if d == ending or d.endswith("/" + ending)]
        return [module for place in places for module in self._index.in_directory(JAVA, place)]

    def _rust(self, module: Module, parts: Sequence[str], seen: _Seen) -> Meaning | None:
        first, rest = parts[0], list(parts[1:])
        start: Module | None
        if first == "crate":
            start = self._locator.crate_root(module)
        elif first == "self":
            start = module
        elif first == "super":
            start = self._locator.parent(module)
            while start is not None and rest[:1] == ["super"]:
                start = self._locator.parent(start)
                rest.pop(0)
        else:
            below = self._locator.submodule(module, first)
            start = below[0] if below else self._locator.crate(first)
        found = Meaning(modules=(start,)) if start is not None else None
        if found is None and first not in ("crate", "self", "super"):
            found = meaning_of(module.by_local.get(first, ()))
        for name in rest:
            found = self._inside(module, found, name, seen) if found else None
        return found

    def _inside(self, module: Module, meaning: Meaning, name: str, seen: _Seen) -> Meaning | None:
        for other in meaning.modules:
            below = self._locator.submodule(other, name) if module.family is RUST else ()
            found = self._exported(other, name, seen) or (Meaning(modules=tuple(below)) if below else None)
            if found is not None:
                return found
        if meaning.namespace:
            full = f"{meaning.namespace}.{name}"
            found = meaning_of(self._index.qualified(module.family, full))
            return found or (Meaning(namespace=full) if self._index.is_namespace(module.family, full) else None)
        for definition in meaning.types:
            found = self._type_member(definition, name)
            if found is not None:
                return found
        return None


def _parts(dotted: str) -> list[str]:
    text = dotted.replace("::", ".").replace("\\", ".")
    return [part for part in text.removesuffix(".*").split(".") if part]


def _in_folders(module: Module, folders: Sequence[str], importer: Module) -> bool:
    """Java's folders are the whole package; of a PHP namespace the first part is often mapped to another folder."""
    place = "/" + module.directory
    if importer.family is JAVA:
        return place.endswith("/" + "/".join(folders))
    return place.endswith("/" + "/".join(folders[1:])) if len(folders) > 1 else True
