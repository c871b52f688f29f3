"""Go to definition: from a place in a file to the definitions of the name that stands there.

A name that a function or block binds for itself is found by the scopes of the file (``locals.scm``), everything else by the resolution of
edges, asked for this one name. Nothing of it is stored: a row for each read of a variable would double the index.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from tree_sitter import Node

from app.domain.code import EdgeClass, Import, Symbol
from app.domain.facts import FileFacts, identify
from app.domain.position import DefinitionSite, NameAt
from app.indexing.blanks import parser_view
from app.indexing.extract import extract_from
from app.indexing.resolution.index import Definition, DefinitionIndex, Module
from app.indexing.resolution.meaning import Meaning
from app.indexing.resolution.names import Names
from app.indexing.scopes import Scope, Scopes
from app.indexing.source_text import SourceText
from app.languages.registry import LanguageSpec

_NAME: Final = re.compile(r"[$@]{0,2}[^\W\d][\w$]*[!?]?")
_PATH: Final = re.compile(r"[\w./@~-]+")
_TEXT: Final = ("comment", "string")


class SourceFile:
    """A file that places are asked for in: its text, its syntax tree, and what was extracted of it.

    Parsing and extraction know no deadline: only for files that indexing got through (docs/decisions/0013-positions.md).
    """

    def __init__(self, spec: LanguageSpec, path: str, source: str) -> None:
        self.spec: Final = spec
        self.path: Final = path
        self.text: Final = SourceText(source)
        self.root: Final = spec.parser.parse(parser_view(self.text.data, spec)).root_node
        found = extract_from(spec, self.text, self.root)
        self.symbols: Final = found.symbols
        self.facts: Final = FileFacts(
            0, path, spec.name, found.symbols, identify(path, found.symbols), found.references, found.imports, found.bindings
        )

    @cached_property
    def scopes(self) -> Scopes:
        """Which names the file binds for itself."""
        return Scopes(self.spec, self.text, self.root)

    def leaf(self, line: int, column: int) -> Node | None:
        """The innermost node at a place; a name also when the place is right behind it."""
        if not 1 <= line <= len(self.text.line_starts):
            return None
        start = self.text.line_starts[line - 1]
        written = self.text.data[start:].split(b"\n", 1)[0].decode("utf-8", errors="replace")
        if column > len(written):
            return None
        byte = start + len(written[:column].encode("utf-8"))
        for at in (byte, byte - 1):
            node = self.root.descendant_for_byte_range(at, at) if at >= 0 else None
            if node is not None and not node.child_count and _NAME.fullmatch(self.text.of(node)):
                return node
        node = self.root.descendant_for_byte_range(byte, byte)
        if node is not None and node.parent is not None and node.parent.type == "string":  # its quotes are nodes of their own
            return next((part for part in node.parent.named_children if part.type == "string_fragment"), node.parent)
        return node


def name_at(file: SourceFile, index: DefinitionIndex, line: int, column: int) -> NameAt | None:
    """The name at a place and its definitions, none when they are not in the index; None where no name stands.

    ``index`` must hold ``file`` as it is; what else it holds decides what can be found.
    """
    node = file.leaf(line, column)
    return None if node is None else _Place(file, index, node).found()


class _Place:
    """One name in a file."""

    def __init__(self, file: SourceFile, index: DefinitionIndex, node: Node) -> None:
        self._file = file
        self._names = index.derived(Names)
        self._module: Final = index.modules[file.path]
        self._scopes = file.scopes
        self._node = node
        self._name = file.text.of(node)
        self._line, self._column = file.text.position(node.start_byte)

    def found(self) -> NameAt | None:
        imported = list(self._imported())
        is_text = any(part in self._node.type for part in _TEXT)
        if not imported and (is_text or not _NAME.fullmatch(self._name) or self._scopes.is_key(self._node)):
            return self._annotation() if is_text and "comment" not in self._node.type else None
        own = self._symbol_at(self._node)
        if own is not None:
            return self._named([self._symbol_site(own, EdgeClass.EXACT)])
        if imported:
            return self._named(imported)
        receiver = self._scopes.receiver(self._node)
        if receiver:
            return self._named(self._member(receiver))
        scope = self._scopes.binder(self._node)
        if scope is None:
            return self._named(self._meant(self._bare(self._name)))
        return self._bound(scope)

    def _named(self, sites: Iterable[DefinitionSite], occurrences: Iterable[Node] = ()) -> NameAt:
        places = tuple(self._file.text.position(node.start_byte) for node in occurrences)
        return NameAt(self._name, self._line, self._column, tuple(dict.fromkeys(sites)), places)

    def _annotation(self) -> NameAt | None:
        """A type that is written as a string."""
        written = self._name.strip("\"'")
        if not _NAME.fullmatch(written):
            return None
        reference = next((r for r in self._file.facts.references if (r.line, r.column) == (self._line, self._column)), None)
        return self._named(self._meant(self._bare(written, is_type=True))) if reference is not None else None

    # Names that the file binds

    def _bound(self, scope: Scope) -> NameAt:
        """A name that the file binds: what its import leads to, the symbol, or the place where it is bound."""
        nodes = self._scopes.in_force(scope, self._node)
        if scope.kind == "file" and self._definition_around() is not None:
            nodes = [node for node in scope.names[self._name] if self._symbol_at(node) is not None] or scope.names[self._name]
        sites: list[DefinitionSite] = []
        is_local = True
        for node in nodes:
            symbol = self._symbol_at(node)
            line = self._file.text.position(node.start_byte)[0]
            is_imported = any(i.line == line and self._name in (i.local, i.module.partition(".")[0]) for i in self._module.imports)
            if symbol is not None:
                is_local = False
                sites.append(self._symbol_site(symbol, EdgeClass.EXACT))
            elif is_imported:
                is_local = False
                sites += list(self._meant(self._names.imports.bound(self._module, self._name))) or [self._site(node, "import")]
            else:
                sites.append(self._site(node, "variable"))
        return self._named(sites, self._scopes.occurrences(scope, self._name) if is_local and scope.kind != "file" else ())

    def _symbol_at(self, node: Node) -> Symbol | None:
        place = self._file.text.position(node.start_byte)
        return next((symbol for symbol in self._file.symbols if (symbol.name_line, symbol.name_column) == place), None)

    # Names from elsewhere

    def _definition_around(self) -> Definition | None:
        """The innermost callable or type around the name."""
        around = [
            definition
            for definition, symbol in zip(self._module.definitions, self._file.symbols, strict=True)
            if symbol.start_line <= self._line <= symbol.end_line and (symbol.kind.is_callable or symbol.kind.is_type)
        ]
        spans = {symbol.qualified: symbol.end_line - symbol.start_line for symbol in self._file.symbols}
        return min(reversed(around), key=lambda definition: spans.get(self._file.symbols[definition.ordinal].qualified, 0), default=None)

    def _bare(self, name: str, *, is_type: bool = False) -> Meaning | None:
        is_type = is_type or self._node.type == "type_identifier"
        return self._names.bare(self._module, self._definition_around(), name, is_type=is_type, line=self._line)

    def _member(self, receiver: str) -> Iterator[DefinitionSite]:
        of = self._names.expression(self._module, self._definition_around(), receiver, line=self._line)
        meaning = self._names.member(of, self._name) if of is not None and not of.is_external else None
        sites = list(self._meant(meaning))
        yield from sites or (self._site(node, "attribute") for node in self._assigned_as(f"{receiver}.{self._name}"))

    def _assigned_as(self, written: str) -> Iterator[Node]:
        """Where the file assigns to an attribute that nothing declares."""
        for node in self._scopes.members(written):
            yield node.children[-1] if node.child_count else node

    # Imports

    def _imported(self) -> Iterator[DefinitionSite]:
        """What a name or path in an import statement leads to."""
        for imported in self._module.imports:
            if imported.line != self._line and not self._is_path(imported):
                continue
            if self._name in (imported.local, imported.name):
                yield from self._meant(self._names.imports.target(self._module, imported))
            elif self._is_path(imported):
                yield from self._meant(self._names.imports.target(self._module, Import(imported.module, None, None, self._line)))
            elif self._name in imported.module.split("."):
                yield from self._meant(self._names.imports.target(self._module, Import(self._cut(imported), None, None, self._line)))

    def _is_path(self, imported: Import) -> bool:
        return "string" in self._node.type and self._name.strip("\"'") == imported.module and _PATH.fullmatch(imported.module) is not None

    def _cut(self, imported: Import) -> str:
        """The module's path up to the name."""
        parts = imported.module.split(".")
        return ".".join(parts[: parts.index(self._name) + 1])

    # Sites

    def _meant(self, meaning: Meaning | None) -> Iterator[DefinitionSite]:
        if meaning is None or meaning.opaque:
            return
        for one in meaning.each:
            edge_class = EdgeClass.EXACT if one.certain and meaning.certain else EdgeClass.LIKELY
            if one.instance:
                continue
            for definition in one.definitions:
                yield self._definition_site(definition, edge_class)
            for module in one.modules if not one.definitions else ():
                yield _module_site(module, edge_class)

    def _definition_site(self, definition: Definition, edge_class: EdgeClass) -> DefinitionSite:
        module = definition.module
        column = self._file.symbols[definition.ordinal].name_column if module is self._module else None
        return DefinitionSite(module.path, definition.line, column, definition.name, definition.kind.value, edge_class, definition.id)

    def _symbol_site(self, symbol: Symbol, edge_class: EdgeClass) -> DefinitionSite:
        return self._definition_site(self._module.definitions[self._file.symbols.index(symbol)], edge_class)

    def _site(self, node: Node, kind: str) -> DefinitionSite:
        line, column = self._file.text.position(node.start_byte)
        return DefinitionSite(self._file.path, line, column, self._file.text.of(node), kind, EdgeClass.EXACT)


def _module_site(module: Module, edge_class: EdgeClass) -> DefinitionSite:
    return DefinitionSite(module.path, 1, 0, module.path.rpartition("/")[2], "module", edge_class, module.id)
