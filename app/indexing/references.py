"""Turns reference matches into uses of names, and leaves out what cannot lead to a definition."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from app.domain.code import Import, Reference, ReferenceKind, Symbol, SymbolKind
from app.indexing.definitions import MEMBER_HOLDERS, Definitions
from app.indexing.imports import Imports
from app.indexing.nesting import enclosing_symbols
from app.indexing.pattern_matches import PatternMatches
from app.indexing.qualified_names import split_qualified
from app.indexing.source_text import SourceText, one_line
from app.languages.registry import CONSTANT_READ, VALUE_CALL, ExtractionRules

RECEIVER_LENGTH: Final = 200
_RECEIVER_BYTES: Final = 4 * RECEIVER_LENGTH  # enough for 200 code points of four bytes
_FIRST_NAME: Final = re.compile(r"\w+")

_SHADOWED: Final = frozenset({ReferenceKind.READ, ReferenceKind.CALL, ReferenceKind.TYPE})

Use = tuple[int, str, ReferenceKind, str | None]


@dataclass(slots=True)
class References:
    """The references of a file. ``arguments`` are those that stand among the arguments of a call, by their name."""

    items: tuple[Reference, ...] = ()
    arguments: list[tuple[str, Node]] = field(default_factory=list)


def find_references(
    rules: ExtractionRules, text: SourceText, matches: PatternMatches, definitions: Definitions, imports: Imports
) -> References:
    """All references, ordered by position, each with its innermost symbol.

    A read by bare name is kept when the file defines or imports the name (or nothing binds it, if the language shares names
    between files). Of names that a callable binds for itself only calls are references, with an empty receiver, and only
    if the language's bindings are read.
    """
    found = References()
    uses = sorted(_uses(rules, text, matches, definitions, imports, found.arguments))
    enclosing = enclosing_symbols(definitions.spans, [use[0] for use in uses])
    references: list[Reference] = []
    traced = matches.has("binding")
    for (start, name, kind, receiver), symbol in zip(uses, enclosing, strict=True):
        if receiver is None and kind in _SHADOWED and _is_bound(name, kind, symbol, definitions):
            if kind is not ReferenceKind.CALL or not traced:
                continue
            receiver = ""
        line, column = text.position(start)
        references.append(Reference(name, kind, line, column, receiver, symbol))
    found.items = tuple(references)
    return found


def _uses(
    rules: ExtractionRules,
    text: SourceText,
    matches: PatternMatches,
    definitions: Definitions,
    imports: Imports,
    arguments: list[tuple[str, Node]],
) -> list[Use]:
    callables = {symbol.name for symbol in definitions.symbols if symbol.kind.is_callable}
    known = known_names(rules, definitions.symbols, imports.items)
    seen = definitions.own_names | imports.binding_starts
    uses: list[Use] = []
    for role, matched in matches.of("reference"):
        capture, qualified = role.capture, "qualified" in role.settings
        constant, always = role.kind == CONSTANT_READ, "always" in role.settings
        is_argument = "argument" in role.settings
        may_be_cut = qualified or bool(rules.name_trim)
        if role.kind == VALUE_CALL:
            how = ReferenceKind.DECORATE if "decorator" in role.settings else ReferenceKind.CALL
            uses += _value_calls(text, [captures[capture][0] for captures in matched], how)
            continue
        kind = ReferenceKind.READ if constant else ReferenceKind(role.kind)
        for captures in matched:
            node = captures[capture][0]
            start, receiver = node.start_byte, None
            if start in seen and not may_be_cut:
                continue
            name = text.of(node)
            if qualified or (rules.name_trim and not name.isidentifier()):
                scope, name, offset = split_qualified(name, rules, qualified=qualified)
                start, receiver = start + offset, scope or None
                if start in seen:
                    continue
            elif start in seen:
                continue
            if "receiver" in captures:
                if constant and not always and not name.isupper():
                    continue
                receiver = _receiver(text, captures["receiver"])
            if is_argument:
                arguments.append((receiver or name, node))
            if not name or not (always or _leads_somewhere(rules, name, kind, receiver, known, callables, constant=constant)):
                continue
            seen.add(start)
            uses.append((start, name, kind, receiver))
    return uses


def _value_calls(text: SourceText, callees: list[Node], how: ReferenceKind) -> list[Use]:
    """Calls of a call's result or of an item: they have no name, and what is called is the receiver."""
    return [
        (node.end_byte, "", how, one_line(text.of(node), RECEIVER_LENGTH))
        for node in callees
        if node.end_byte - node.start_byte <= RECEIVER_LENGTH
    ]


def _receiver(text: SourceText, nodes: list[Node]) -> str:
    """What is written from the first node to the last: some grammars have no node for all that stands before a name."""
    start = nodes[0].start_byte
    written = text.slice(start, min(nodes[-1].end_byte, start + _RECEIVER_BYTES))
    return written if written.isidentifier() else one_line(written.removesuffix("."), RECEIVER_LENGTH)


def _leads_somewhere(
    rules: ExtractionRules,
    name: str,
    kind: ReferenceKind,
    receiver: str | None,
    known: set[str],
    callables: set[str],
    *,
    constant: bool,
) -> bool:
    if kind is ReferenceKind.TYPE:
        return name not in rules.ignored_names
    if kind is not ReferenceKind.READ:
        return receiver is not None or name not in rules.ignored_calls
    if receiver is None:
        return name in known or (rules.reads == "unbound" and name not in rules.ignored_names)
    if constant or name.isupper():
        return name.isupper() and len(name) > 1
    return name in callables or receiver in known or receiver in rules.self_names or _first_name(receiver) in known


def _first_name(receiver: str) -> str:
    match = _FIRST_NAME.match(receiver)
    return match.group() if match else ""


def known_names(rules: ExtractionRules, symbols: list[Symbol], imports: tuple[Import, ...]) -> set[str]:
    """The names that a file defines or imports and that can stand without a receiver."""
    known = {item.local for item in imports if item.local}
    for symbol in symbols:
        holder = symbols[symbol.container].kind if symbol.container is not None else SymbolKind.MODULE
        if not (rules.members_need_receiver and holder in MEMBER_HOLDERS):
            known.add(symbol.name)
    return known


def _is_bound(name: str, kind: ReferenceKind, symbol: int | None, definitions: Definitions) -> bool:
    """Whether something around binds the name for itself: a callable any name, a type only its type parameters."""
    while symbol is not None:
        around = definitions.symbols[symbol]
        if name in definitions.bound.get(symbol, ()) and (kind is ReferenceKind.TYPE or around.kind.is_callable):
            return True
        symbol = around.container
    return False
