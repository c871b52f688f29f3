"""What is read out of source files: symbols, references, imports, chunks.

Lines are 1-based and inclusive; columns are 0-based code points. What a file has hundreds of is a NamedTuple: these are made, sent
between processes and read back by the hundred thousand.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class SymbolKind(StrEnum):
    """What a definition defines. ``is_type`` and ``is_callable`` group the kinds for ranking."""

    MODULE = "module"
    NAMESPACE = "namespace"
    CLASS = "class"
    INTERFACE = "interface"
    STRUCT = "struct"
    ENUM = "enum"
    UNION = "union"
    TRAIT = "trait"
    IMPL = "impl"
    TYPE = "type"
    FUNCTION = "function"
    METHOD = "method"
    CONSTRUCTOR = "constructor"
    MACRO = "macro"
    PROPERTY = "property"
    FIELD = "field"
    CONSTANT = "constant"
    VARIABLE = "variable"
    ENUM_MEMBER = "enum_member"

    @property
    def is_type(self) -> bool:
        return self in _TYPES

    @property
    def is_callable(self) -> bool:
        return self in _CALLABLES


_TYPES = frozenset(
    {
        SymbolKind.MODULE,
        SymbolKind.NAMESPACE,
        SymbolKind.CLASS,
        SymbolKind.INTERFACE,
        SymbolKind.STRUCT,
        SymbolKind.ENUM,
        SymbolKind.UNION,
        SymbolKind.TRAIT,
        SymbolKind.IMPL,
        SymbolKind.TYPE,
    }
)
_CALLABLES = frozenset({SymbolKind.FUNCTION, SymbolKind.METHOD, SymbolKind.CONSTRUCTOR, SymbolKind.MACRO, SymbolKind.PROPERTY})


class ReferenceKind(StrEnum):
    """How a name is used where it is mentioned."""

    CALL = "call"
    INHERIT = "inherit"
    DECORATE = "decorate"
    TYPE = "type"
    READ = "read"


class BindingKind(StrEnum):
    """How a binding gives its value: as it is, one item of it, by ``with``, what a function gives back, a call, with what it passes on."""

    ASSIGN = "assign"
    ITEM = "item"
    ENTER = "enter"
    DECLARE = "declare"
    RETURN = "return"
    YIELD = "yield"
    CALL = "call"
    DECORATE = "decorate"


class EdgeKind(StrEnum):
    """How the source symbol of an edge depends on its target."""

    CALLS = "calls"
    IMPORTS = "imports"
    INHERITS = "inherits"
    OVERRIDES = "overrides"
    REFERENCES = "references"
    DECORATES = "decorates"
    INSTANTIATES = "instantiates"


class EdgeClass(StrEnum):
    """How far an edge can be trusted: same scope or resolved import; unique name with evidence; name only."""

    EXACT = "exact"
    LIKELY = "likely"
    POSSIBLE = "possible"


class PathClass(StrEnum):
    """What a path says about the file; decides the demotion (1-search.md, "Weighted reciprocal rank fusion")."""

    SOURCE = "source"
    TEST = "test"
    EXAMPLE = "example"
    DOCUMENTATION = "documentation"
    CONFIGURATION = "configuration"
    VENDOR = "vendor"
    GENERATED = "generated"


class Outcome(StrEnum):
    """What became of a file: parsed and searchable in full, searchable as text and by meaning only, or not searchable."""

    INDEXED = "indexed"
    TEXT_ONLY = "text_only"
    SKIPPED = "skipped"


class Symbol(NamedTuple):
    """One definition. ``qualified`` is the dotted path inside the file (``Flask.route``), without anything path-derived.

    ``container`` is the index of the enclosing symbol in the same file's list, which is ordered by position.
    """

    name: str
    qualified: str
    kind: SymbolKind
    start_line: int
    end_line: int
    name_line: int
    name_column: int
    signature: str
    doc: str
    exported: bool
    container: int | None


class Reference(NamedTuple):
    """One use of a name. ``receiver`` is the text before the last dot (``self``, ``app.config``), None for a bare name.

    An empty receiver: the call of a name that the function itself binds. An empty name: the call of what the receiver gives (``f()()``).
    ``enclosing`` is the index of the innermost symbol around it, None at the file's top level.
    """

    name: str
    kind: ReferenceKind
    line: int
    column: int
    receiver: str | None
    enclosing: int | None


class Binding(NamedTuple):
    """Where a name, an attribute or an item gets a value. ``target`` and ``value`` are source text.

    A ``declare`` has a type for its value; a ``return`` and a ``yield`` have no target, a ``call`` has the whole call for its value and
    no target. ``until`` is the last line of the block around it: up to there nothing but a later binding can make it void.
    ``enclosing`` is the index of the innermost symbol around it, None at the file's top level.
    """

    kind: BindingKind
    target: str
    value: str
    line: int
    until: int
    enclosing: int | None


class Import(NamedTuple):
    """One name a file brings in.

    ``module`` is written as in the source (``..models``, ``./util``, ``crate::net``, ``<stdio.h>``); ``name`` is the imported
    member, ``*`` for all of them, None for the module itself; ``local`` is the name it is known by in this file.
    """

    module: str
    name: str | None
    local: str | None
    line: int
    reexport: bool = False


@dataclass(frozen=True, slots=True)
class Extraction:
    """All that the syntax tree of one file told; empty for a file without a parser.

    ``error_ratio`` is the share of the file's bytes, 0 to 1, that fit nowhere in the language's grammar.
    """

    symbols: tuple[Symbol, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = ()
    error_ratio: float = 0.0
    bindings: tuple[Binding, ...] = ()


class Chunk(NamedTuple):
    """A run of whole lines. The chunks of a file cover every line exactly once, in order."""

    start_line: int
    end_line: int
    text: str


@dataclass(frozen=True, slots=True)
class Edge:
    """A resolved dependency. Ends are symbol ids (see ``symbol_id``); the site is where the source file says so."""

    source: int
    target: int
    kind: EdgeKind
    edge_class: EdgeClass
    file_id: int
    line: int
