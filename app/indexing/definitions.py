"""Turns definition matches into symbols: spans, containers, qualified names, visibility."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from tree_sitter import Node

from app.domain.code import Symbol, SymbolKind
from app.indexing.definition_text import Surroundings, signature_of
from app.indexing.pattern_matches import Captures, PatternMatches
from app.indexing.source_text import SourceText
from app.indexing.visibility import Visibility
from app.languages.registry import ExtractionRules, PatternRole

CALLABLE: Final = frozenset(kind for kind in SymbolKind if kind.is_callable)
MEMBER_HOLDERS: Final = frozenset(kind for kind in SymbolKind if kind.is_type) - {SymbolKind.MODULE, SymbolKind.NAMESPACE}
STORED: Final = frozenset({SymbolKind.VARIABLE, SymbolKind.CONSTANT, SymbolKind.FIELD})


@dataclass(slots=True)
class Candidate:
    """A definition before its place among the others is known. Offsets are bytes; decorators are not yet part of it."""

    role: PatternRole
    node: Node
    body: Node | None
    name: str
    name_start: int
    kind: SymbolKind
    scope: str
    start: int
    end: int


@dataclass(slots=True)
class Definitions:
    """The symbols of a file, their byte spans, and the names that each callable binds for itself."""

    symbols: tuple[Symbol, ...] = ()
    spans: list[tuple[int, int]] = field(default_factory=list)
    name_starts: set[int] = field(default_factory=set)
    bound: dict[int, set[str]] = field(default_factory=dict)


def find_definitions(rules: ExtractionRules, text: SourceText, matches: PatternMatches, imported: frozenset[int]) -> Definitions:
    """All symbols of the file, ordered by position. Variables inside callables are bound names, not symbols.

    Names at the offsets ``imported`` belong to imports (``const x = require("x")``) and define nothing.
    """
    candidates = _candidates(rules, text, matches, imported)
    barriers = [captures["barrier"][0] for captures in matches.marks("barrier")]
    surroundings = Surroundings(text, matches)
    visibility = Visibility(rules, text, matches)
    definitions = Definitions(name_starts={candidate.name_start for candidate in candidates})
    symbols: list[Symbol] = []
    stored: set[str] = set()
    local: list[tuple[int, str]] = []
    nesting = Nesting()
    items: list[tuple[int, int, Candidate | None]] = [(c.start, c.end, c) for c in candidates]
    items += [(node.start_byte, node.end_byte, None) for node in barriers]
    items.sort(key=lambda item: (item[0], -item[1]))
    for start, end, candidate in items:
        container, in_callable = nesting.enter(start, end)
        if candidate is None:
            nesting.push(start, end, container, is_callable=True)
            continue
        if in_callable and candidate.kind in STORED:
            local.append((candidate.name_start, candidate.name))
            continue
        parent = symbols[container] if container is not None else None
        first, doc = surroundings.of(candidate.start, candidate.name_start)
        symbol = _symbol(rules, text, candidate, parent, container, first, doc)
        if visibility.exported(symbol, candidate.name_start, candidate.start, candidate.role, parent):
            symbol = replace(symbol, exported=True)
        if symbol.kind in STORED and symbol.qualified in stored:
            continue
        stored.add(symbol.qualified)
        nesting.push(start, end, len(symbols), is_callable=symbol.kind in CALLABLE)
        symbols.append(symbol)
        definitions.spans.append((first, end))
    definitions.symbols = tuple(symbols)
    bound = (captures["local"][0] for captures in matches.marks("local"))
    local += [(node.start_byte, text.of(node)) for node in bound if node.start_byte not in imported]
    _bind(definitions, local)
    return definitions


class Nesting:
    """A sweep over spans that are ordered by start: what is open at a position. Equal spans are siblings."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int, int | None, bool]] = []

    def enter(self, start: int, end: int) -> tuple[int | None, bool]:
        """The innermost open symbol at the span, and whether a callable is the innermost thing open."""
        stack = self._open
        while stack and (stack[-1][1] <= start or stack[-1][:2] == (start, end)):
            stack.pop()
        return (stack[-1][2], stack[-1][3]) if stack else (None, False)

    def push(self, start: int, end: int, symbol: int | None, *, is_callable: bool) -> None:
        self._open.append((start, end, symbol, is_callable))


def enclosing_symbols(spans: list[tuple[int, int]], positions: list[int]) -> Iterator[int | None]:
    """For each of the ascending positions the index of the innermost span around it."""
    nesting = Nesting()
    following = 0
    for position in positions:
        while following < len(spans) and spans[following][0] <= position:
            start, end = spans[following]
            nesting.enter(start, end)
            nesting.push(start, end, following, is_callable=False)
            following += 1
        yield nesting.enter(position, position)[0]


def _candidates(rules: ExtractionRules, text: SourceText, matches: PatternMatches, imported: frozenset[int]) -> list[Candidate]:
    found: dict[int, Candidate] = {}
    for role, matched in matches.of("definition"):
        for captures in matched:
            candidate = _candidate(rules, text, role, captures)
            if candidate is not None and candidate.name_start not in imported and candidate.name_start not in found:
                found[candidate.name_start] = candidate
    _extend_open_namespaces(text, found)
    return list(found.values())


def _candidate(rules: ExtractionRules, text: SourceText, role: PatternRole, captures: Captures) -> Candidate | None:
    node, name_node = captures[role.capture][0], captures["name"][0]
    name = text.of(name_node)
    if not name:
        return None
    body = captures["body"][0] if "body" in captures else node.child_by_field_name("body")
    scope = text.of(captures["scope"][0]) if "scope" in captures else ""
    return Candidate(
        role=role,
        node=node,
        body=body,
        name=name,
        name_start=name_node.start_byte,
        kind=SymbolKind(role.kind),
        scope=dotted_scope(scope, rules) if scope else "",
        start=node.start_byte,
        end=node.end_byte,
    )


def _extend_open_namespaces(text: SourceText, found: dict[int, Candidate]) -> None:
    """A namespace that is declared by a statement alone reaches to the next of its kind or to the end."""
    following = len(text.data)
    for candidate in sorted(found.values(), key=lambda item: item.start, reverse=True):
        if "extends" in candidate.role.settings and candidate.body is None:
            candidate.end = following
            following = candidate.start


def dotted_scope(scope: str, rules: ExtractionRules) -> str:
    """A scope as written (``ns::Box<T>``, ``Form.prototype``, ``App\\Http``) as a dotted path."""
    while (opening := scope.find("<")) != -1:
        closing = scope.rfind(">")
        scope = scope[:opening] + (scope[closing + 1 :] if closing > opening else "")
    segments = scope.replace(rules.scope_separator, ".").split(".")
    return ".".join(part for segment in segments if (part := segment.strip()) and part not in rules.scope_ignored)


def _symbol(
    rules: ExtractionRules, text: SourceText, candidate: Candidate, parent: Symbol | None, container: int | None, first: int, doc: str
) -> Symbol:
    kind = _kind(rules, candidate, parent)
    own = dotted_scope(candidate.name, rules) if kind is SymbolKind.NAMESPACE else candidate.name
    path = [parent.qualified if parent else "", candidate.scope, own]
    name_line, name_column = text.position(candidate.name_start)
    last_byte = max(candidate.start, candidate.end - 1)
    return Symbol(
        name=own,
        qualified=".".join(part for part in path if part),
        kind=kind,
        start_line=text.row(first) + 1,
        end_line=text.row(last_byte) + 1,
        name_line=name_line,
        name_column=name_column,
        signature=signature_of(text, candidate.start, candidate.body.start_byte if candidate.body else candidate.node.end_byte),
        doc=doc,
        exported=False,
        container=container,
    )


def _kind(rules: ExtractionRules, candidate: Candidate, parent: Symbol | None) -> SymbolKind:
    kind = candidate.kind
    holder = parent if parent and parent.kind in MEMBER_HOLDERS else None
    if kind is SymbolKind.FUNCTION and (holder or candidate.scope):
        kind = SymbolKind.METHOD
    if holder and kind is SymbolKind.VARIABLE:
        kind = SymbolKind.FIELD
    if kind is SymbolKind.METHOD:
        class_name = candidate.scope.rpartition(".")[2] or (holder.name if holder else "")
        if candidate.name in rules.constructors or (rules.constructor_is_class_name and candidate.name == class_name):
            return SymbolKind.CONSTRUCTOR
    if rules.upper_case_is_constant and kind in STORED and is_upper_case(candidate.name):
        return SymbolKind.CONSTANT
    return kind


def is_upper_case(name: str) -> bool:
    return name.isupper()


def _bind(definitions: Definitions, local: list[tuple[int, str]]) -> None:
    local.sort()
    enclosing = enclosing_symbols(definitions.spans, [position for position, _ in local])
    for symbol, (_, name) in zip(enclosing, local, strict=True):
        if symbol is not None:
            definitions.bound.setdefault(symbol, set()).add(name)
