"""Turns binding matches into what names, attributes and calls are given, and leaves out what cannot lead to a definition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from app.domain.code import Binding, BindingKind, Reference
from app.indexing.definitions import STORED, Definitions
from app.indexing.imports import Imports
from app.indexing.nesting import enclosing_symbols
from app.indexing.pattern_matches import PatternMatches
from app.indexing.references import References, known_names
from app.indexing.source_text import SourceText
from app.languages.registry import ExtractionRules

VALUE_LENGTH: Final = 300
"""Longer values are left out: they are tables of data as a rule."""

_WORD: Final = re.compile(r"[^\W\d]\w*")
_GIVEN_BACK: Final = frozenset({BindingKind.RETURN, BindingKind.YIELD})
_CLIMB: Final = 4  # parents between an assignment and the block it stands in, or an argument and its call


@dataclass(slots=True)
class _Candidate:
    start: int
    kind: BindingKind
    target: str
    value: str
    node: Node
    owner: int | None = None


def find_bindings(
    rules: ExtractionRules,
    text: SourceText,
    matches: PatternMatches,
    definitions: Definitions,
    imports: Imports,
    references: References,
) -> tuple[Binding, ...]:
    """All bindings whose value may be traced to a definition, ordered by position, each with its innermost symbol.

    A variable inside a function is left out unless something is called on it or it is passed on.
    """
    known = known_names(rules, definitions.symbols, imports.items) | set(rules.self_names)
    candidates = [*_given(text, matches), *_passed(rules, text, matches, definitions, references, known)]
    if not candidates:
        return ()
    candidates.sort(key=lambda item: (item.start, item.kind.value, item.target))
    candidates = _owned(matches, definitions, candidates)
    kept = _used(candidates, known, _leading(candidates, definitions, known), references.items, definitions)
    return tuple(
        Binding(item.kind, item.target, item.value, text.row(item.start) + 1, _until(rules, text, item), item.owner) for item in kept
    )


def _given(text: SourceText, matches: PatternMatches) -> Iterator[_Candidate]:
    for role, matched in matches.of("binding"):
        kind, capture = BindingKind(role.kind), role.capture
        for captures in matched:
            value = captures["value"][0]
            if value.end_byte - value.start_byte <= VALUE_LENGTH:
                target = text.of(captures["target"][0]) if "target" in captures else ""
                node = captures[capture][0]
                yield _Candidate(node.start_byte, kind, target, text.of(value), node)


def _passed(
    rules: ExtractionRules, text: SourceText, matches: PatternMatches, definitions: Definitions, references: References, known: Set[str]
) -> Iterator[_Candidate]:
    """Calls that pass on something of the file, or what the caller was given, to something of the file."""
    bound = {name for names in definitions.bound.values() for name in names} - set(rules.self_names)
    own = {symbol.name for symbol in definitions.symbols if symbol.kind.is_callable or symbol.kind.is_type}
    defined = known - set(rules.self_names)
    seen: set[int] = set()
    for argument, node in references.arguments:
        first = _first_word(argument)
        if first in known or first in bound:
            yield from _call(text, node, seen, defined, bound, own, named=first in defined and first not in bound)
    for captures in matches.marks("argument"):
        node = captures["argument"][0]
        if _first_word(text.slice(node.start_byte, min(node.end_byte, node.start_byte + 100))) in known:
            yield from _call(text, node, seen, defined, bound, own, named=False)


def _call(
    text: SourceText, argument: Node, seen: set[int], known: Set[str], bound: Set[str], own: Set[str], *, named: bool
) -> Iterator[_Candidate]:
    """The call around an argument, if it is of something of the file or of something imported that is given a definition by its name."""
    call = argument.parent
    for _ in range(_CLIMB):
        if call is None or call.child_by_field_name("arguments") is not None:
            break
        call = call.parent
    if call is None or call.start_byte in seen or call.end_byte - call.start_byte > VALUE_LENGTH:
        return
    seen.add(call.start_byte)
    written = text.of(call)
    words = _WORD.findall(written.partition("(")[0])
    if not words:
        return
    is_passed_on = words[0] in bound and (named or len(words) == 1)
    if words[-1] in own or is_passed_on or (named and words[0] in known):
        yield _Candidate(call.start_byte, BindingKind.CALL, "", written, call)


def _owned(matches: PatternMatches, definitions: Definitions, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Those whose innermost function has a name, with the symbol that they belong to."""
    positions = [item.start for item in candidates]
    owners = enclosing_symbols(definitions.spans, positions)
    barriers = sorted((node.start_byte, node.end_byte) for captures in matches.marks("barrier") for node in captures["barrier"])
    nameless = enclosing_symbols(barriers, positions) if barriers else iter([None] * len(positions))
    symbols = definitions.symbols
    kept: list[_Candidate] = []
    for item, owner, barrier in zip(candidates, owners, nameless, strict=True):
        if item.kind in _GIVEN_BACK and (owner is None or (barrier is not None and barriers[barrier][0] >= definitions.bodies[owner])):
            continue
        if item.kind is BindingKind.DECORATE and owner is not None:
            owner = symbols[owner].container
        while owner is not None and symbols[owner].kind in STORED:
            owner = symbols[owner].container
        item.owner = owner
        kept.append(item)
    return kept


def _leading(candidates: Sequence[_Candidate], definitions: Definitions, known: Set[str]) -> set[str]:
    """The names of the file that something is known of."""
    leads = set(known)
    for names in definitions.bound.values():
        leads |= names
    for item in candidates:
        if item.target.isidentifier():
            leads.add(item.target)
        elif item.target:
            leads.update(_WORD.findall(item.target))
    return leads


def _used(
    candidates: Sequence[_Candidate], known: Set[str], leads: Set[str], references: Sequence[Reference], definitions: Definitions
) -> list[_Candidate]:
    """Candidates whose value leads somewhere; variables of functions only if they are used: the last is looked at first."""
    iterates = any(symbol.name == "__iter__" for symbol in definitions.symbols)
    used = {_first_word(reference.receiver or reference.name) for reference in references if reference.receiver is not None}
    kept: list[_Candidate] = []
    for item in reversed(candidates):
        if not _leads(item.value, known if item.kind is BindingKind.DECORATE else leads):
            continue
        owner = None if item.owner is None else definitions.symbols[item.owner]
        if owner is not None and owner.kind.is_callable:
            is_loop = iterates and item.kind is BindingKind.ITEM
            if item.target.isidentifier() and item.target not in used and not is_loop:
                continue
            if item.kind is BindingKind.RETURN and "->" in owner.signature:
                continue
        elif owner is not None and item.kind is BindingKind.ASSIGN and item.value.endswith(")") and item.target.isidentifier():
            continue  # the signature of the field tells
        used.update(_WORD.findall(item.value))
        kept.append(item)
    return kept[::-1]


def _leads(value: str, leads: Set[str]) -> bool:
    """Whether the first name of a chain, or any name in a collection or a choice, is one that something is known of."""
    if value[0] in "([{" or " " in value:
        return not leads.isdisjoint(_WORD.findall(value))
    return _first_word(value) in leads


def _first_word(text: str) -> str:
    if text.isidentifier():
        return text
    match = _WORD.search(text)
    return match.group() if match else ""


def _until(rules: ExtractionRules, text: SourceText, item: _Candidate) -> int:
    """The last line of the innermost block around; the binding's own when it is no statement of a block."""
    if item.target and item.kind is not BindingKind.DECORATE:
        around = item.node.parent
        for _ in range(_CLIMB):
            if around is None:
                break
            if around.type in rules.blocks:
                return text.row(around.end_byte) + 1
            around = around.parent
    return text.row(item.start) + 1
