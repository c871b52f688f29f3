"""Turns import matches into the names that a file brings in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.domain.code import Import
from app.indexing.import_trees import import_leaves
from app.indexing.pattern_matches import Captures, PatternMatches
from app.indexing.qualified_names import trimmed
from app.indexing.source_text import SourceText
from app.languages.registry import ExtractionRules, PatternRole

_VERSION_SEGMENT: Final = re.compile(r"v\d+")
_PACKAGE_AFFIXES: Final = re.compile(r"^go-|[.-]go$|\.v\d+$")


@dataclass(frozen=True, slots=True)
class Imports:
    """The imports of a file, ordered by position, and the byte offsets of the names that they bind."""

    items: tuple[Import, ...]
    binding_starts: frozenset[int]


def find_imports(rules: ExtractionRules, text: SourceText, matches: PatternMatches) -> Imports:
    """All imports. A pattern set as ``fallback`` counts only where no other one matched the same module."""
    found: list[tuple[int, Import]] = []
    claimed: dict[int, PatternRole] = {}
    bindings: set[int] = set()
    for role, matched in matches.of("import"):
        for captures in matched:
            position = captures["module"][0].start_byte if "module" in captures else captures["import"][0].start_byte
            if claimed.setdefault(position, role) is not role and "fallback" in role.settings:
                continue
            if "tree" in role.settings:
                found += _tree(rules, text, role, captures)
                continue
            binding = captures.get("alias") or captures.get("name")
            if binding and "reexport" not in role.settings:
                bindings.add(binding[0].start_byte + trimmed(text.of(binding[0]), rules)[1])
            found.append(_import(rules, text, role, captures))
    found.sort(key=lambda item: item[0])
    return Imports(tuple(item for _, item in found), frozenset(bindings))


def _import(rules: ExtractionRules, text: SourceText, role: PatternRole, captures: Captures) -> tuple[int, Import]:
    settings = role.settings
    module = trimmed(text.of(captures["module"][0]), rules)[0] if "module" in captures else settings.get("module") or ""
    if (prefix := settings.get("prefix")) and not module.startswith("."):
        module = prefix + module
    name = trimmed(text.of(captures["name"][0]), rules)[0] if "name" in captures else settings.get("name")
    alias = trimmed(text.of(captures["alias"][0]), rules)[0] if "alias" in captures else settings.get("local")
    site = captures.get("name") or captures.get("alias") or captures.get("module") or captures["import"]
    start = site[0].start_byte
    local = None if "unbound" in settings else alias or _local(rules, module, name)
    return start, Import(module, name, local, text.row(start) + 1, "reexport" in settings)


def _tree(rules: ExtractionRules, text: SourceText, role: PatternRole, captures: Captures) -> list[tuple[int, Import]]:
    node = captures.get("module", captures["import"])[0]
    leaves = import_leaves(text.data[node.start_byte : node.end_byte], rules.import_separator)
    reexport = "reexport" in role.settings
    return [
        (start, Import(leaf.module, leaf.name, leaf.local, text.row(start) + 1, reexport))
        for leaf in leaves
        for start in (node.start_byte + leaf.offset,)
    ]


def _local(rules: ExtractionRules, module: str, name: str | None) -> str | None:
    if name is not None:
        return None if name == "*" else name
    if rules.module_binding == "module":
        return module
    return _package_name(module, rules.import_separator or "/") if rules.module_binding == "last_segment" else None


def _package_name(module: str, separator: str) -> str:
    """The last name of a path; of a Go package by its conventions: ``x/y/v2`` → y, ``yaml.v3`` and ``go-yaml`` → yaml."""
    *parents, last = module.split(separator)
    if parents and _VERSION_SEGMENT.fullmatch(last):
        last = parents[-1]
    return _PACKAGE_AFFIXES.sub("", last)
