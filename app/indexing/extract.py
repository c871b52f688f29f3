"""Reads definitions, references, imports and bindings out of one file's syntax tree."""

from __future__ import annotations

from typing import Final

from tree_sitter import Node, QueryCursor

from app.domain.code import Extraction
from app.indexing.bindings import find_bindings
from app.indexing.blanks import parser_view
from app.indexing.definitions import find_definitions
from app.indexing.imports import find_imports
from app.indexing.pattern_matches import PatternMatches
from app.indexing.references import find_references
from app.indexing.source_text import SourceText
from app.languages.registry import LanguageSpec

MATCH_LIMIT: Final = 65_536  # partial matches kept at a time; beyond it the query drops the oldest instead of growing without end


def extract(spec: LanguageSpec, source: str) -> Extraction:
    """Symbols ordered by position, references, imports and bindings of ``source``; empty for a language without a parser.

    Broken code raises nothing: what the parser recovered is returned and ``error_ratio`` says how much it could not place.
    There is no deadline inside: some inputs keep a grammar busy for long, so call it in a process that can be killed.
    """
    if spec.grammar is None:
        return Extraction()
    text = SourceText(source)
    return extract_from(spec, text, spec.parser.parse(parser_view(text.data, spec)).root_node)


def extract_from(spec: LanguageSpec, text: SourceText, root: Node) -> Extraction:
    """``extract`` for a text whose syntax tree is there already."""
    cursor = QueryCursor(spec.compiled.query, match_limit=MATCH_LIMIT)
    matches = PatternMatches(spec.compiled.roles, cursor.matches(root))
    imports = find_imports(spec.rules, text, matches)
    definitions = find_definitions(spec.rules, text, matches, imports.binding_starts)
    references = find_references(spec.rules, text, matches, definitions, imports)
    bindings = find_bindings(spec.rules, text, matches, definitions, imports, references)
    ratio = _error_ratio(root, matches) if root.has_error else 0.0
    return Extraction(tuple(definitions.symbols), references.items, imports.items, ratio, bindings)


def _error_ratio(root: Node, matches: PatternMatches) -> float:
    """Bytes directly inside error nodes; a construct that was recognised within one counts as placed."""
    lost = 0
    for captures in matches.marks("error"):
        error = captures["error"][0]
        placed = sum(child.end_byte - child.start_byte for child in error.children if child.child_count or child.is_error)
        lost += error.end_byte - error.start_byte - placed
    return lost / max(1, root.end_byte - root.start_byte)
