"""Scopes and names as languages write them, as dotted paths."""

from __future__ import annotations

import re
from typing import Final

from app.languages.registry import ExtractionRules

_OPERATOR: Final = re.compile(r"\boperator\b.*$", re.DOTALL)
_LAST_NAME: Final = re.compile(r"(~?\s*\w+)\s*(?:<[^()]*>)?$", re.DOTALL)


def split_qualified(written: str, rules: ExtractionRules, *, qualified: bool) -> tuple[str, str, int]:
    """Scope, name and where the name begins, in bytes.

    ``qualified`` says that a scope may stand in front (``Box<T>::size``).
    """
    if not qualified:
        return ("", *trimmed(written, rules))
    match = _OPERATOR.search(written) or _LAST_NAME.search(written)
    if match is None:
        return "", written, 0
    scope = written[: match.start()]
    name = match.group(1) if match.re is _LAST_NAME else match.group()
    separator = rules.scope_separator
    return scope.removesuffix(separator).removeprefix(separator), name, len(scope.encode())


def trimmed(written: str, rules: ExtractionRules) -> tuple[str, int]:
    """A name without what the language puts around it (``:symbol``), and where it begins, in bytes; nothing else is left empty."""
    if not rules.name_trim or (written[:1] not in rules.name_trim and written[-1:] not in rules.name_trim):
        return written, 0
    name = written.strip(rules.name_trim)
    return (name, len(written) - len(written.lstrip(rules.name_trim))) if name else (written, 0)


def dotted_scope(scope: str, rules: ExtractionRules) -> str:
    """A scope as written (``ns::Box<T>``, ``Form.prototype``, ``App\\Http``) as a dotted path."""
    segments = _without_angles(scope).replace(rules.scope_separator, ".").split(".")
    return ".".join(part for segment in segments if (part := segment.strip()) and part not in rules.scope_ignored)


def _without_angles(scope: str) -> str:
    if "<" not in scope:
        return scope
    kept: list[str] = []
    depth = 0
    for character in scope:
        depth += character == "<"
        if depth == 0:
            kept.append(character)
        depth -= character == ">" and depth > 0
    return "".join(kept)
