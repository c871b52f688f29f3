"""Scopes and names as languages write them, as dotted paths."""

from __future__ import annotations

import re
from typing import Final

from app.languages.registry import ExtractionRules

_OPERATOR: Final = re.compile(r"\boperator\b.*$", re.DOTALL)
_LAST_NAME: Final = re.compile(r"(~?\s*\w+)\s*(?:<[^()]*>)?$", re.DOTALL)


def split_qualified(written: str, rules: ExtractionRules, *, qualified: bool) -> tuple[str, str, int]:
    """Scope, name and where the name begins, in bytes.

    ``qualified`` says that a scope may stand in front (``Box<T>::size``). A Ruby symbol loses its colon.
    """
    if not qualified:
        return ("", written[1:], 1) if written.startswith(":") else ("", written, 0)
    match = _OPERATOR.search(written) or _LAST_NAME.search(written)
    if match is None:
        return "", written, 0
    scope = written[: match.start()]
    name = match.group(1) if match.re is _LAST_NAME else match.group()
    separator = rules.scope_separator
    return scope.removesuffix(separator).removeprefix(separator), name, len(scope.encode())


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
