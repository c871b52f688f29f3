"""A folder of source files as the resolver sees it: extracted and resolved in this process, without a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.domain.code import Symbol, SymbolKind
from app.domain.facts import FileFacts, ResolvedEdge, identify
from app.indexing.extract import extract
from app.indexing.manifests import manifest_imports
from app.indexing.resolve import DefinitionIndex, resolve_file
from app.languages.registry import language_of

_LONGEST = 2_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """A symbol of a project, or with ``symbol`` None the module of a file."""

    file: FileFacts
    symbol: Symbol | None

    @property
    def qualified(self) -> str:
        return self.symbol.qualified if self.symbol else ""


class Project:
    """The files of a folder, their symbols by id and their edges."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.files = [file for number, (path, text) in enumerate(sorted(sources.items()), 1) if (file := _facts(number, path, text))]
        self.places: dict[int, Place] = {}
        self.by_name: dict[str, list[Place]] = defaultdict(list)
        for file in self.files:
            self.places[file.module_id] = Place(file, None)
            for identifier, symbol in zip(file.symbol_ids, file.symbols, strict=True):
                place = self.places[identifier] = Place(file, symbol)
                self.by_name[symbol.name].append(place)
        index = DefinitionIndex(self.files)
        self.edges: list[tuple[FileFacts, ResolvedEdge]] = [(file, edge) for file in self.files for edge in resolve_file(file, index)]

    @classmethod
    def of(cls, folder: Path) -> Project:
        return cls(dict(_sources(folder)))

    def container(self, place: Place) -> Place:
        """The symbol around a symbol; a module's is itself."""
        symbol = place.symbol
        if symbol is None or symbol.container is None:
            return self.places[place.file.module_id]
        return Place(place.file, place.file.symbols[symbol.container])

    def function_of(self, place: Place) -> Place:
        """The innermost callable or module around: what is in the body of a class or a variable's value runs there."""
        while place.symbol is not None and not (place.symbol.kind.is_callable and place.symbol.kind is not SymbolKind.MACRO):
            place = self.container(place)
        return place


def _facts(number: int, path: str, text: str) -> FileFacts | None:
    spec = language_of(path, text[:8192])
    if spec is None or spec.grammar is None:
        return manifest_facts(number, path, text)
    read = extract(spec, text)
    identifiers = identify(path, read.symbols)
    return FileFacts(number, path, spec.name, read.symbols, identifiers, read.references, read.imports, read.bindings)


def manifest_facts(number: int, path: str, text: str) -> FileFacts | None:
    """The facts of a project file; None for all others."""
    imports = manifest_imports(path, text)
    return FileFacts(number, path, "json", (), (), imports=imports) if imports else None


def _sources(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size < _LONGEST:
            yield path.relative_to(folder).as_posix(), path.read_text("utf-8", errors="replace")
