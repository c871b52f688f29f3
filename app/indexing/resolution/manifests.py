"""Imports that are written in another way than by the place of their file, as project files say (``indexing/manifests.py``)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from app.domain.manifests import is_compiler_options, is_manifest
from app.indexing.resolution.index import DefinitionIndex, Module


class _Rule(NamedTuple):
    """``written`` stands for ``target``, a path of the repository; ``*`` in both is any text."""

    written: str
    target: str


class Manifests:
    """What all project files of a repository say. Compiler options count for the folders below them, packages for all."""

    def __init__(self, index: DefinitionIndex) -> None:
        self._index = index

    @cached_property
    def _files(self) -> list[Module]:
        found = [module for path, module in self._index.modules.items() if module.imports and is_manifest(path.rpartition("/")[2])]
        return sorted(found, key=lambda module: module.path)

    @cached_property
    def _options(self) -> dict[str, list[_Rule]]:
        """Folder → the rules of the compiler options in it."""
        found: dict[str, list[_Rule]] = {}
        for module in self._files:
            if is_compiler_options(module.path.rpartition("/")[2]):
                found.setdefault(module.directory, []).extend(rules_of(module))
        return found

    @cached_property
    def _packages(self) -> dict[str, list[_Rule]]:
        """The first part of what is written → the rules of packages."""
        found: dict[str, list[_Rule]] = {}
        for module in self._files:
            if module.path.rpartition("/")[2] == "package.json" and "/node_modules/" not in f"/{module.path}":
                for rule in rules_of(module):
                    found.setdefault(_first(rule.written), []).append(rule)
        return found

    @cached_property
    def go_modules(self) -> list[tuple[str, str]]:
        """(import path, folder) of Go's modules, the longest path first."""
        found = [
            (imported.name or "", module.directory)
            for module in self._files
            if module.path.endswith("go.mod")
            for imported in module.imports
        ]
        return sorted(found, key=lambda pair: (-len(pair[0]), pair))

    def script_paths(self, directory: str, written: str) -> Iterator[str]:
        """The paths, without ending, that an import of JavaScript or TypeScript in a folder may mean, the likeliest first."""
        while self._options:
            yield from _applied(self._options.get(directory, ()), written)
            if not directory:
                break
            directory = directory.rpartition("/")[0]
        yield from _applied(self._packages.get(_first(written), ()), written)


def _first(written: str) -> str:
    """The name of the package: with its scope, if it has one."""
    parts = written.split("/")
    return "/".join(parts[:2]) if written.startswith("@") else parts[0]


def rules_of(module: Module) -> Iterator[_Rule]:
    """What a project file says, its targets as paths of the repository."""
    for imported in module.imports:
        target = normal(f"{module.directory}/{imported.module}")
        if imported.name and target is not None:
            yield _Rule(imported.name, target)


def names_of(path: str, index: DefinitionIndex) -> Iterator[str]:
    """What imports may say that project files lead to a path of JavaScript or TypeScript."""
    directory, _, filename = path.rpartition("/")
    stem = filename.partition(".")[0]
    places = {path, f"{directory}/{stem}" if directory else stem} | ({directory} if stem == "index" else set())
    for module in index.modules.values():
        if module.imports and is_manifest(module.path.rpartition("/")[2]):
            for written, target in rules_of(module):
                before, star, after = target.partition("*")
                if any(place == target or (star and place.startswith(before) and place.endswith(after)) for place in places):
                    yield written


def normal(path: str) -> str | None:
    """A path without ``.`` and ``..``; None when it leads out of the repository."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _applied(rules: list[_Rule] | tuple[()], written: str) -> Iterator[str]:
    """The targets of the rules that fit, those with the longest text before the ``*`` first; a rule without one is the surest."""
    fitting = []
    for number, rule in enumerate(rules):
        before, star, after = rule.written.partition("*")
        if not star:
            if rule.written == written:
                fitting.append((-len(written) - 1, number, rule.target))
        elif written.startswith(before) and written.endswith(after) and len(written) >= len(before) + len(after):
            middle = written[len(before) : len(written) - len(after)]
            fitting.append((-len(before), number, rule.target.replace("*", middle, 1)))
    return (target for _, _, target in sorted(fitting))
