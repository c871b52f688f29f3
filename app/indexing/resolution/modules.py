"""From the module named in an import to the files that are meant, by the rules of each family."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from app.indexing.resolution.families import BASH, GO, JAVASCRIPT, LUA, PHP, PYTHON, RUBY, RUST, ZIG, C, Family
from app.indexing.resolution.index import DefinitionIndex, Module
from app.indexing.resolution.manifests import Manifests, normal

_SCRIPT_ENDINGS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_VARIABLE_FOLDER = re.compile(r"^.*\$(?:\{[^}]*\}|\w+|\([^)]*\))/|^\./")
_RUST_ROOTS = ("lib.rs", "main.rs")


class ModuleLocator:
    """Finds files by the name that imports use. Nothing is ever found for a library outside the repository."""

    def __init__(self, index: DefinitionIndex) -> None:
        self._index = index
        self._manifests = Manifests(index)
        self._found: dict[tuple[str, str, str], Sequence[Module]] = {}
        self._roots: dict[str, dict[str, Module]] = {}
        self._go_directories: dict[str, str] | None = None

    def locate(self, importer: Module, name: str) -> Sequence[Module]:
        """The file of that name seen from ``importer``; all files of a Go package; empty when it is not in the repository."""
        key = (importer.family.name, importer.directory, name)
        if key not in self._found:
            self._found[key] = tuple(self._locate(importer, name))
        return self._found[key]

    def _locate(self, importer: Module, name: str) -> Iterable[Module]:
        if importer.family is PYTHON:
            return self._python(importer, name)
        if importer.family is JAVASCRIPT:
            return self._script(importer, name)
        if importer.family is GO:
            return self._go(name)
        if importer.family is C:
            return self._included(importer, name)
        if importer.family is RUBY:
            return self._ruby(importer, name)
        if importer.family is PHP and name.endswith((".php", ".inc")):
            return self._beside(importer.directory, name)
        if importer.family is ZIG and name.endswith(".zig"):
            return self._beside(importer.directory, name)
        if importer.family is BASH:
            return self._beside(importer.directory, name) or self._ending(BASH, _VARIABLE_FOLDER.sub("", name))
        if importer.family is LUA:
            path = name.replace(".", "/")
            return self._ending(LUA, f"{path}.lua") or self._ending(LUA, f"{path}/init.lua")
        return ()

    def _script(self, importer: Module, name: str) -> Sequence[Module]:
        if name.startswith("."):
            path = normal(f"{importer.directory}/{name}")
            return self._existing(*_script_paths(path)) if path is not None else ()
        found = (self._existing(*_script_paths(path)) for path in self._manifests.script_paths(importer.directory, name))
        return next((modules for modules in found if modules), ())

    def _ending(self, family: Family, path: str) -> Sequence[Module]:
        """The one file whose path ends with ``path``, when there is only one."""
        stem = path.rpartition("/")[2].partition(".")[0]
        matches = [m for m in self._index.with_stem(family, stem) if m.path == path or m.path.endswith("/" + path)]
        return matches if len(matches) == 1 else ()

    def _beside(self, directory: str, name: str) -> Sequence[Module]:
        path = normal(f"{directory}/{name}")
        return self._existing(path) if path is not None else ()

    def _python(self, importer: Module, name: str) -> Iterable[Module]:
        if name.startswith("."):
            return self._python_relative(importer, name)
        return _nearest(self._python_roots(name), importer.directory, trust_any="." in name)

    def _python_roots(self, name: str) -> dict[str, Module]:
        """The folders under which a module of that name is found, whoever imports it."""
        known = self._roots.get(name)
        if known is not None:
            return known
        parts = name.split(".")
        roots: dict[str, Module] = {}
        for module in self._index.with_stem(PYTHON, parts[-1]):
            place = _python_parts(module.path)
            if place[-len(parts) :] == parts:
                root = "/".join(place[: -len(parts)])
                if not self._index.has_sibling(root, "__init__.py"):
                    roots.setdefault(root, module)
        self._roots[name] = roots
        return roots

    def _python_relative(self, importer: Module, name: str) -> Iterable[Module]:
        rest = name.lstrip(".")
        directory: str | None = importer.directory
        for _ in range(len(name) - len(rest) - 1):
            directory = directory.rpartition("/")[0] if directory else None
        if directory is None:
            return ()
        path = "/".join(part for part in (directory, *rest.split(".")) if part)
        spellings = (f"{path}.py", f"{path}.pyi", f"{path}/__init__.py", f"{path}/__init__.pyi") if rest else _init_paths(path)
        return self._existing(*spellings)

    def submodule(self, module: Module, name: str) -> Sequence[Module]:
        """The file ``name`` of a package, given its ``__init__`` (Python) or the file that declares it (Rust ``mod name;``)."""
        if module.family is PYTHON and module.path.rpartition("/")[2].startswith("__init__."):
            return self.locate(module, f".{name}")
        if module.family is RUST:
            base = module.directory if _is_rust_folder(module) else f"{module.directory}/{module.stem}".strip("/")
            return self._existing(f"{base}/{name}.rs".lstrip("/"), f"{base}/{name}/mod.rs".lstrip("/"))
        return ()

    def _go(self, name: str) -> Iterable[Module]:
        if self._go_directories is None:
            self._go_directories = self._go_imports()
        directory = self._go_directories.get(name)
        if directory is None:
            return ()
        return [module for module in self._index.in_directory(GO, directory) if not module.path.endswith("_test.go")]

    def _go_imports(self) -> dict[str, str]:
        """Import path → directory, for every import of the repository that names one of its own packages.

        Without a go.mod the module's path is what most imports have before the directory that they end with.
        """
        directories = set(self._index.directories(GO))
        imports = {imported.module for module in self._index.modules.values() if module.family is GO for imported in module.imports}
        if self._manifests.go_modules:
            return {name: place for name in imports if (place := self._go_place(name)) in directories and place is not None}
        prefixes: Counter[str] = Counter()
        for name in imports:
            for prefix, directory in _cuts(name):
                if directory in directories:
                    prefixes[prefix] += 1
        if not prefixes:
            return {}
        chosen = min(prefixes, key=lambda prefix: (-prefixes[prefix], prefix))
        places = {name: name.removeprefix(chosen).lstrip("/") for name in imports if name == chosen or name.startswith(chosen + "/")}
        return {name: place for name, place in places.items() if place in directories}

    def _go_place(self, name: str) -> str | None:
        """The directory of a package by the paths of the repository's modules."""
        for path, directory in self._manifests.go_modules:
            if name == path or name.startswith(path + "/"):
                return f"{directory}/{name.removeprefix(path).lstrip('/')}".strip("/")
        return None

    def _included(self, importer: Module, name: str) -> Iterable[Module]:
        if name.startswith("<") and "/" not in name and not name.endswith(".h>") and not name.endswith(".hpp>"):
            return ()
        wanted = name.strip('<>"')
        beside = self._beside(importer.directory, wanted)
        if beside and not name.startswith("<"):
            return beside
        stem = wanted.rpartition("/")[2].partition(".")[0]
        matches = [m for m in self._index.with_stem(C, stem) if m.path == wanted or m.path.endswith("/" + wanted)]
        return matches if len(matches) == 1 else ()

    def _ruby(self, importer: Module, name: str) -> Iterable[Module]:
        spelled = name if name.endswith(".rb") else f"{name}.rb"
        beside = self._beside(importer.directory, spelled)
        if beside or name.startswith("."):
            return beside
        stem = spelled.rpartition("/")[2].partition(".")[0]
        matches = [m for m in self._index.with_stem(RUBY, stem) if m.path == spelled or m.path.endswith("/lib/" + spelled)]
        matches += [m for m in self._index.with_stem(RUBY, stem) if m.path == "lib/" + spelled]
        return matches if len(matches) == 1 else ()

    def crate_root(self, module: Module) -> Module | None:
        """The ``lib.rs`` or ``main.rs`` that a Rust file belongs to: the nearest one up the tree."""
        directory = module.directory
        while True:
            for root in _RUST_ROOTS:
                found = self._existing(f"{directory}/{root}".lstrip("/"))
                if found:
                    return found[0]
            if not directory:
                return None
            directory = directory.rpartition("/")[0]

    def crate(self, name: str) -> Module | None:
        """The root of the workspace's crate of that name, when a folder of the name holds exactly one."""
        roots: dict[str, Module] = {}
        for stem in ("lib", "main"):
            for module in self._index.with_stem(RUST, stem):
                folder = module.directory.removesuffix("/src").rpartition("/")[2]
                if folder.replace("-", "_") == name:
                    roots.setdefault(module.directory, module)
        return next(iter(roots.values())) if len(roots) == 1 else None

    def parent(self, module: Module) -> Module | None:
        """The Rust file that declares this one, for ``super``."""
        if module.path.rpartition("/")[2] in _RUST_ROOTS:
            return None
        base = module.directory
        if module.path.endswith("/mod.rs"):
            base = base.rpartition("/")[0]
        found = self._existing(*(f"{base}/{name}".lstrip("/") for name in ("mod.rs", *_RUST_ROOTS)), f"{base}.rs")
        return found[0] if found else None

    def _existing(self, *paths: str) -> Sequence[Module]:
        return [self._index.modules[path] for path in paths if path in self._index.modules][:1]


def _script_paths(path: str) -> Iterable[str]:
    yield path
    base, dot, ending = path.rpartition(".")
    if dot and ending in ("js", "jsx", "mjs", "cjs"):  # TypeScript names the file that will be built
        yield from (f"{base}{replaced}" for replaced in _SCRIPT_ENDINGS)
    yield from (f"{path}{ending}" for ending in _SCRIPT_ENDINGS)
    yield from (f"{path}/index{ending}".lstrip("/") for ending in _SCRIPT_ENDINGS)


def _init_paths(directory: str) -> tuple[str, ...]:
    prefix = f"{directory}/" if directory else ""
    return (f"{prefix}__init__.py", f"{prefix}__init__.pyi")


def _python_parts(path: str) -> list[str]:
    parts = path.rpartition(".")[0].split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts


def _nearest(roots: dict[str, Module], directory: str, *, trust_any: bool) -> Sequence[Module]:
    """The module under the root that the importer is under, the deepest first; any single other root if ``trust_any``."""
    above = [root for root in roots if not root or directory == root or directory.startswith(root + "/")]
    if above:
        return (roots[max(above, key=len)],)
    usual = [root for root in roots if root.rpartition("/")[2] in ("src", "lib", "python")]
    if len(usual) == 1:
        return (roots[usual[0]],)
    return tuple(roots.values()) if trust_any and len(roots) == 1 else ()


def _is_rust_folder(module: Module) -> bool:
    return module.path.rpartition("/")[2] in (*_RUST_ROOTS, "mod.rs")


def _cuts(name: str) -> Iterable[tuple[str, str]]:
    parts = name.split("/")
    return (("/".join(parts[:at]), "/".join(parts[at:])) for at in range(1, len(parts)))
