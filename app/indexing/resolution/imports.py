"""What an imported name means: re-exports are followed, with a guard against cycles."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from app.domain.code import Import
from app.indexing.resolution.dotted import DottedNames
from app.indexing.resolution.families import JAVASCRIPT, PYTHON, C
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import EXTERNAL, OPAQUE, Meaning, meaning_of
from app.indexing.resolution.modules import ModuleLocator

TypeMember = Callable[[Definition, str], Meaning | None]
_Seen = frozenset[tuple[str, str]]


def library(imported: Import) -> Meaning:
    """What an import from outside of the repository names; what a relative path names is of no library."""
    module = imported.module.strip("<>\"'").removeprefix("node:")
    if not module or module.startswith("."):
        return EXTERNAL
    name = module.replace("::", ".").replace("\\", ".").strip(".")
    if imported.name not in (None, "*", "default", "self"):
        name = f"{name}.{imported.name}"
    return Meaning(opaque=True, certain=False, external=name)


class ImportedNames:
    """Imports of all files, resolved on demand and remembered."""

    def __init__(self, index: DefinitionIndex, type_member: TypeMember) -> None:
        self.index = index
        self.locator = ModuleLocator(index)
        self._type_member = type_member
        self._dotted = DottedNames(index, self.locator, self.exported, type_member)
        self._exported: dict[tuple[str, str], Meaning | None] = {}
        self._reached: dict[str, frozenset[str]] = {}

    def bound(self, module: Module, name: str, seen: _Seen = frozenset()) -> Meaning | None:
        """What an import of ``module`` binds to ``name``; EXTERNAL when only libraries do; None when nothing does."""
        found: Meaning | None = None
        for imported in module.bindings.get(name, ()):
            meaning = self.target(module, imported, seen)
            if not meaning.is_external:
                return meaning
            found = meaning
        return found

    def starred(self, module: Module, name: str, seen: _Seen = frozenset()) -> Meaning | None:
        """A name that comes in through ``import *``, ``using`` or the like."""
        for imported in module.stars:
            located = () if module.family is C else self.locator.locate(module, imported.module)
            found = next((m for other in located if (m := self.exported(other, name, seen))), None)
            found = found or self._dotted.starred(module, imported, name, seen)
            if found is not None:
                return found
        return None

    def target(self, module: Module, imported: Import, seen: _Seen = frozenset()) -> Meaning:
        """What one import brings in: modules, definitions or a namespace; OPAQUE for a name that its module does not show."""
        if not imported.module:
            return (self.exported(module, imported.name, seen) if imported.name else None) or OPAQUE
        located = self.locator.locate(module, imported.module)
        if not located:
            return self._in_bare_folder(module, imported) or self._dotted.target(module, imported, seen) or library(imported)
        name = imported.name
        if name is None or name == "*":
            return self._whole(located, seen)
        found = next((m for other in located if (m := self.exported(other, name, seen))), None)
        if found is None and name == "default":  # a module of the older kind: its exports are what the default import gets
            return self._whole(located, seen)
        return found or OPAQUE

    def _whole(self, located: Sequence[Module], seen: _Seen) -> Meaning:
        """A module itself; ``module.exports = make`` makes it a function or class at the same time."""
        own = self.exported(located[0], "default", seen) if located[0].family is JAVASCRIPT else None
        return Meaning(own.definitions if own is not None else (), tuple(located))

    def path(self, module: Module, parts: Sequence[str]) -> Meaning | None:
        """What a path through namespaces or modules means, written out in full."""
        return self._dotted.path(module, parts)

    def exported(self, module: Module, name: str, seen: _Seen = frozenset()) -> Meaning | None:
        """What ``name`` means to those who import it from ``module``."""
        key = (module.path, name)
        if key in seen:
            return None
        if key in self._exported:
            return self._exported[key]
        within = seen | {key}
        found = meaning_of(module.by_local.get(name, ()))
        if found is None:
            found = self.bound(module, name, within) or self.starred(module, name, within)
        if found is None or found.is_external:
            below = self.locator.submodule(module, name)
            found = Meaning(modules=tuple(below)) if below else found
        if not seen:  # inside of a cycle an answer can depend on where the walk began
            self._exported[key] = found
        return found

    def reached(self, module: Module) -> frozenset[str]:
        """The paths of all files that a C include or a Ruby require brings in, over any number of steps."""
        known = self._reached.get(module.path)
        if known is None:
            seen: set[str] = set()
            waiting = [module]
            while waiting:
                current = waiting.pop()
                for imported in current.imports:
                    for other in self.locator.locate(current, imported.module):
                        if other.path not in seen:
                            seen.add(other.path)
                            waiting.append(other)
            known = self._reached[module.path] = frozenset(seen)
        return known

    def package(self, module: Module, dotted: Sequence[str]) -> tuple[Meaning, int] | None:
        """``import a.b.c`` binds ``a`` but is used as ``a.b.c.f``: the longest imported module that ``dotted`` starts with.

        Returns what it means and how many of the names it takes up.
        """
        best: tuple[Meaning, int] | None = None
        for imported in module.packages.get(dotted[0], ()):
            parts = imported.module.split(".")
            if list(dotted[: len(parts)]) == parts and (best is None or len(parts) > best[1]):
                best = (self.target(module, imported), len(parts))
        return best

    def _in_bare_folder(self, module: Module, imported: Import) -> Meaning | None:
        """A Python package without ``__init__``: only its files can be named."""
        if module.family is not PYTHON or imported.name in (None, "*"):
            return None
        separator = "" if imported.module.endswith(".") else "."
        located = self.locator.locate(module, f"{imported.module}{separator}{imported.name}")
        return Meaning(modules=tuple(located)) if located else None
