"""Small repositories written out as text, and their edges in readable form."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

from app.domain.facts import FileFacts, identify
from app.indexing.extract import extract
from app.indexing.manifests import manifest_imports
from app.indexing.resolve import DefinitionIndex, resolve_file
from app.languages.registry import language_of


def facts(sources: Mapping[str, str]) -> list[FileFacts]:
    """Extract every file; ids are the positions."""
    found = []
    for number, (path, source) in enumerate(sources.items(), start=1):
        text = dedent(source)
        spec = language_of(path, text.partition("\n")[0])
        assert spec is not None, path
        read = extract(spec, text)
        identifiers = identify(path, read.symbols)
        imports = read.imports or manifest_imports(path, text)
        found.append(FileFacts(number, path, spec.name, read.symbols, identifiers, read.references, imports, read.bindings))
    return found


def named_edges(files: list[FileFacts]) -> set[tuple[str, str, str, str]]:
    """(source, kind, target, class); an end is ``path:qualified``, the path alone for a file's module node, or ``library:name``."""
    names = {file.module_id: file.path for file in files}
    for file in files:
        names |= {i: f"{file.path}:{symbol.qualified}" for i, symbol in zip(file.symbol_ids, file.symbols, strict=True)}
    index = DefinitionIndex(files)
    edges = [edge for file in files for edge in resolve_file(file, index)]
    names |= {edge.target: f"library:{edge.external}" for edge in edges if edge.external}
    return {(names[edge.source], edge.kind.value, names[edge.target], edge.edge_class.value) for edge in edges}


class Graph:
    """The edges of a repository, asked by source, kind or target."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.edges = named_edges(facts(sources))

    def out(self, source: str, kind: str = "calls") -> dict[str, str]:
        """Target → class of the edges of a kind from ``source``, libraries left out."""
        return {target: edge_class for target, edge_class in self._out(source, kind) if not target.startswith("library:")}

    def libraries(self, source: str, kind: str = "calls") -> dict[str, str]:
        """Name → class of the edges of a kind from ``source`` to what libraries hold."""
        return {t.removeprefix("library:"): edge_class for t, edge_class in self._out(source, kind) if t.startswith("library:")}

    def _out(self, source: str, kind: str) -> list[tuple[str, str]]:
        return [(target, edge_class) for start, name, target, edge_class in self.edges if start == source and name == kind]

    def callers(self, target: str) -> set[str]:
        return {source for source, kind, end, _ in self.edges if end == target and kind in ("calls", "instantiates")}
