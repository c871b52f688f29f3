"""Turns definition matches into symbols: kinds, containers, qualified names."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Final, Literal

from tree_sitter import Node

from app.domain.code import Symbol, SymbolKind
from app.indexing.definition_text import Surroundings, signature_of
from app.indexing.nesting import Nesting, enclosing_symbols
from app.indexing.pattern_matches import Captures, PatternMatches
from app.indexing.qualified_names import dotted_scope, split_qualified
from app.indexing.source_text import SourceText
from app.indexing.visibility import Visibility
from app.languages.registry import ExtractionRules, PatternRole

OUTER: Final = frozenset({SymbolKind.MODULE, SymbolKind.NAMESPACE})
MEMBER_HOLDERS: Final = frozenset(kind for kind in SymbolKind if kind.is_type) - OUTER
STORED: Final = frozenset({SymbolKind.VARIABLE, SymbolKind.CONSTANT, SymbolKind.FIELD})
LOCAL: Final = frozenset({SymbolKind.VARIABLE, SymbolKind.CONSTANT})  # inside a callable; a field is one of an unnamed type
NEVER_OF_TYPES: Final = STORED | {SymbolKind.TYPE}  # C: ``struct s { … } value;`` and ``typedef struct s { … } name;`` define s beside

Mark = Literal["barrier", "access"]


@dataclass(slots=True)
class Candidate:
    """A definition before its place among the others is known. Offsets are bytes; decorators are not yet part of it.

    ``written_start`` is where the name begins with all that is written around it.
    """

    role: PatternRole
    body: Node | None
    name: str
    name_start: int
    written_start: int
    kind: SymbolKind
    scope: str
    scope_start: int
    start: int
    end: int
    header_end: int


@dataclass(slots=True)
class Definitions:
    """The symbols of a file, their byte spans (decorators included), where their bodies begin, and the names that each callable binds.

    ``own_names`` are the byte offsets at which definitions name themselves and their scope: these are no references.
    """

    symbols: list[Symbol] = field(default_factory=list)
    spans: list[tuple[int, int]] = field(default_factory=list)
    bodies: list[int] = field(default_factory=list)
    own_names: set[int] = field(default_factory=set)
    bound: dict[int, set[str]] = field(default_factory=dict)


def find_definitions(rules: ExtractionRules, text: SourceText, matches: PatternMatches, imported: frozenset[int]) -> Definitions:
    """All symbols of the file, ordered by position. Variables inside callables are bound names, not symbols.

    Names at the offsets ``imported`` belong to imports (``const x = require("x")``) and define nothing.
    """
    candidates = _candidates(rules, text, matches, imported)
    sweep = _Sweep(rules, text, matches)
    separate = _without_later_clauses(text, matches, candidates)
    items: list[tuple[int, int, Candidate | Mark]] = [(c.start, c.end, c) for c in separate]
    for mark in ("barrier", "access"):
        items += [(node.start_byte, node.end_byte, mark) for captures in matches.marks(mark) for node in captures[mark]]
    items.sort(key=lambda item: (item[0], -item[1]))
    for start, end, item in items:
        if isinstance(item, Candidate):
            sweep.define(item)
        else:
            sweep.mark(start, end, item)
    locals_ = sweep.local
    nodes = (captures["local"][0] for captures in matches.marks("local"))
    locals_ += [(node.start_byte, text.of(node)) for node in nodes if node.start_byte not in imported]
    _bind(sweep.found, sorted(locals_))
    sweep.found.own_names = {start for candidate in candidates for start in (candidate.name_start, candidate.scope_start)}
    sweep.found.own_names.update(captures["own"][0].start_byte for captures in matches.marks("own"))
    return sweep.found


class _Sweep:
    """Places candidates in the order of their position; what is open around one of them is its container."""

    def __init__(self, rules: ExtractionRules, text: SourceText, matches: PatternMatches) -> None:
        self.found: Final = Definitions()
        self.local: Final[list[tuple[int, str]]] = []
        self._rules = rules
        self._text = text
        self._surroundings = Surroundings(text, matches)
        self._visibility = Visibility(rules, text, matches)
        self._nesting = Nesting()
        self._stored: set[str] = set()

    def mark(self, start: int, end: int, mark: Mark) -> None:
        """A function without a name, or a line that says how visible the members after it are."""
        container, _ = self._nesting.enter(start, end)
        if mark == "barrier":
            self._nesting.push(start, end, container, is_callable=True)
        else:
            self._visibility.begin_section(container, self._text.slice(start, end))

    def define(self, candidate: Candidate) -> None:
        container, in_callable = self._nesting.enter(candidate.start, candidate.end)
        member = "member" in candidate.role.settings
        if member:
            container = self._holder(container)
            if container is None:
                return
        elif in_callable and (candidate.kind in LOCAL or "prototype" in candidate.role.settings):
            self.local.append((candidate.name_start, candidate.name))
            return
        symbols = self.found.symbols
        while container is not None and candidate.kind in MEMBER_HOLDERS and symbols[container].kind in NEVER_OF_TYPES:
            container = symbols[container].container
        parent = symbols[container] if container is not None else None
        kind = symbol_kind(self._rules, candidate, parent)
        first, doc = self._surroundings.of(candidate.start, candidate.written_start)
        symbol = self._symbol(candidate, kind, container, first, doc)
        if kind in STORED and symbol.qualified in self._stored:
            return
        self._stored.add(symbol.qualified)
        if not member:
            self._nesting.push(candidate.start, candidate.end, len(symbols), is_callable=kind.is_callable)
        symbols.append(symbol)
        self.found.spans.append((first, first if member else candidate.end))
        self.found.bodies.append(candidate.header_end)

    def _holder(self, container: int | None) -> int | None:
        """The type whose method assigns to ``self.x`` or ``this.x``."""
        symbols = self.found.symbols
        while container is not None and symbols[container].kind.is_callable:
            container = symbols[container].container
        return container if container is not None and symbols[container].kind in MEMBER_HOLDERS else None

    def _symbol(self, candidate: Candidate, kind: SymbolKind, container: int | None, first: int, doc: str) -> Symbol:
        text, rules = self._text, self._rules
        parent = self.found.symbols[container] if container is not None else None
        name = dotted_scope(candidate.name, rules) if kind is SymbolKind.NAMESPACE else candidate.name
        path = (parent.qualified if parent else "", candidate.scope, name)
        qualified = ".".join(part for part in path if part)
        prototype = "prototype" in candidate.role.settings
        signature = signature_of(text, self._surroundings, candidate.start, candidate.header_end, rules, prototype=prototype)
        name_line, name_column = text.position(candidate.name_start)
        return Symbol(
            name=name,
            qualified=qualified,
            kind=kind,
            start_line=text.row(first) + 1,
            end_line=text.row(max(first, candidate.end - 1)) + 1,
            name_line=name_line,
            name_column=name_column,
            signature=signature,
            doc=doc,
            exported=self._visibility.exported(
                name, qualified, candidate.name_start, candidate.start, candidate.role, len(self.found.symbols), parent, container
            ),
            container=container,
        )


def _candidates(rules: ExtractionRules, text: SourceText, matches: PatternMatches, imported: frozenset[int]) -> list[Candidate]:
    found: dict[int, Candidate] = {}
    for role, matched in matches.of("definition"):
        for captures in matched:
            candidate = _candidate(rules, text, role, captures)
            if candidate.name and candidate.name_start not in imported and candidate.name_start not in found:
                found[candidate.name_start] = candidate
    _extend_open_namespaces(text, found)
    return list(found.values())


def _candidate(rules: ExtractionRules, text: SourceText, role: PatternRole, captures: Captures) -> Candidate:
    node, name_node = captures[role.capture][0], captures["name"][0]
    scope, name, offset = split_qualified(text.of(name_node), rules, qualified="qualified" in role.settings)
    scope_start = name_node.start_byte
    if "scope" in captures:
        scope_start = captures["scope"][0].start_byte
        scope = text.of(captures["scope"][0])
    body = captures["body"][0] if "body" in captures else node.child_by_field_name("body")
    return Candidate(
        role=role,
        body=body,
        name=name,
        name_start=name_node.start_byte + offset,
        written_start=name_node.start_byte,
        kind=SymbolKind(role.kind),
        scope=dotted_scope(scope, rules) if scope else "",
        scope_start=scope_start,
        start=node.start_byte,
        end=node.end_byte,
        header_end=body.start_byte if body else node.end_byte,
    )


def _without_later_clauses(text: SourceText, matches: PatternMatches, candidates: list[Candidate]) -> list[Candidate]:
    """Definitions of one name that follow each other, with nothing but comments in between, are the clauses of one definition."""
    if not any("clauses" in candidate.role.settings for candidate in candidates):
        return candidates
    comments = sorted((node.start_byte, node.end_byte) for captures in matches.marks("comment") for node in captures["comment"])
    kept: list[Candidate] = []
    last: dict[tuple[str, str], Candidate] = {}
    for candidate in sorted(candidates, key=lambda item: item.start):
        if "clauses" in candidate.role.settings:
            earlier = last.get((candidate.role.kind, candidate.name))
            if earlier is not None and _is_blank(text, comments, earlier.end, candidate.start):
                earlier.end = candidate.end
                continue
            last[candidate.role.kind, candidate.name] = candidate
        kept.append(candidate)
    return kept


def _is_blank(text: SourceText, comments: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether nothing but comments stands between two positions."""
    while start < end:
        index = bisect_left(comments, (start, start))
        stop = min(end, comments[index][0]) if index < len(comments) else end
        if text.data[start:stop].strip():
            return False
        start = comments[index][1] if stop < end else end
    return True


def _extend_open_namespaces(text: SourceText, found: dict[int, Candidate]) -> None:
    """A namespace that is declared by a statement alone reaches to the next of its kind or to the end."""
    following = len(text.data)
    for candidate in sorted(found.values(), key=lambda item: item.start, reverse=True):
        if "extends" in candidate.role.settings and candidate.body is None:
            candidate.end = following
            following = candidate.start


def symbol_kind(rules: ExtractionRules, candidate: Candidate, parent: Symbol | None) -> SymbolKind:
    """The kind that the place adds to what the pattern says: a function in a class is a method."""
    kind = candidate.kind
    in_type = parent is not None and (parent.kind in MEMBER_HOLDERS or _is_ruby_like_module(rules, parent))
    if kind is SymbolKind.FUNCTION and (in_type or candidate.scope):
        kind = SymbolKind.METHOD
    if kind is SymbolKind.VARIABLE and in_type:
        kind = SymbolKind.FIELD
    if kind is SymbolKind.METHOD:
        class_name = candidate.scope.rpartition(".")[2] or (parent.name if parent and in_type else "")
        if candidate.name in rules.constructors or (rules.constructor_is_class_name and candidate.name == class_name):
            return SymbolKind.CONSTRUCTOR
    if rules.upper_case_is_constant and kind in STORED and candidate.name.isupper():
        return SymbolKind.CONSTANT
    return kind


def _is_ruby_like_module(rules: ExtractionRules, parent: Symbol) -> bool:
    return rules.module_members_are_methods and parent.kind is SymbolKind.MODULE


def _bind(definitions: Definitions, local: list[tuple[int, str]]) -> None:
    enclosing = enclosing_symbols(definitions.spans, [position for position, _ in local])
    for symbol, (_, name) in zip(enclosing, local, strict=True):
        if symbol is not None:
            definitions.bound.setdefault(symbol, set()).add(name)
