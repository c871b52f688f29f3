"""Turns reference matches into uses of names, and leaves out what cannot lead to a definition."""

from __future__ import annotations

import re
from typing import Final

from app.domain.code import Import, Reference, ReferenceKind, Symbol, SymbolKind
from app.indexing.definitions import MEMBER_HOLDERS, Definitions
from app.indexing.nesting import enclosing_symbols
from app.indexing.pattern_matches import PatternMatches
from app.indexing.qualified_names import split_qualified
from app.indexing.source_text import SourceText, one_line
from app.languages.registry import CONSTANT_READ, ExtractionRules

RECEIVER_LENGTH: Final = 200
_FIRST_NAME: Final = re.compile(r"\w+")

_SHADOWED: Final = frozenset({ReferenceKind.READ, ReferenceKind.CALL, ReferenceKind.TYPE})

Use = tuple[int, str, ReferenceKind, str | None]


def find_references(
    rules: ExtractionRules, text: SourceText, matches: PatternMatches, definitions: Definitions, imports: tuple[Import, ...]
) -> tuple[Reference, ...]:
    """All references, ordered by position, each with its innermost symbol.

    A read by bare name is kept when the file defines or imports the name (or nothing binds it, if the language shares names
    between files); names that a callable binds for itself are no references.
    """
    uses = sorted(_uses(rules, text, matches, definitions, imports))
    enclosing = enclosing_symbols(definitions.spans, [use[0] for use in uses])
    references: list[Reference] = []
    for (start, name, kind, receiver), symbol in zip(uses, enclosing, strict=True):
        if receiver is None and kind in _SHADOWED and _is_bound(name, symbol, definitions):
            continue
        line, column = text.position(start)
        references.append(Reference(name, kind, line, column, receiver, symbol))
    return tuple(references)


def _uses(
    rules: ExtractionRules, text: SourceText, matches: PatternMatches, definitions: Definitions, imports: tuple[Import, ...]
) -> list[Use]:
    callables = {symbol.name for symbol in definitions.symbols if symbol.kind.is_callable}
    known = _known_names(rules, definitions.symbols, imports)
    seen = set(definitions.name_starts)
    uses: list[Use] = []
    for role, matched in matches.of("reference"):
        capture, qualified = role.capture, "qualified" in role.settings
        constant, always = role.kind == CONSTANT_READ, "always" in role.settings
        kind = ReferenceKind.READ if constant else ReferenceKind(role.kind)
        for captures in matched:
            node = captures[capture][0]
            full = text.of(node)
            scope, name = split_qualified(full, rules, qualified=qualified)
            start = node.start_byte if name == full else node.end_byte - len(name.encode())
            if start in seen:
                continue
            written = text.of(captures["receiver"][0]) if "receiver" in captures else scope
            receiver = _receiver(written) if written else None
            if not name or not (always or _leads_somewhere(rules, name, kind, receiver, known, callables, constant=constant)):
                continue
            seen.add(start)
            uses.append((start, name, kind, receiver))
    return uses


def _receiver(written: str) -> str:
    return written if written.isidentifier() else one_line(written, RECEIVER_LENGTH)


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


def _known_names(rules: ExtractionRules, symbols: list[Symbol], imports: tuple[Import, ...]) -> set[str]:
    known = {item.local for item in imports if item.local}
    for symbol in symbols:
        holder = symbols[symbol.container].kind if symbol.container is not None else SymbolKind.MODULE
        if not (rules.members_need_receiver and holder in MEMBER_HOLDERS):
            known.add(symbol.name)
    return known


def _is_bound(name: str, symbol: int | None, definitions: Definitions) -> bool:
    while symbol is not None:
        if name in definitions.bound.get(symbol, ()):
            return True
        symbol = definitions.symbols[symbol].container
    return False
