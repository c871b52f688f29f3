"""Scopes and names as languages write them, as dotted paths."""

from __future__ import annotations

from app.languages.registry import ExtractionRules


def split_qualified(written: str, rules: ExtractionRules, *, qualified: bool) -> tuple[str, str]:
    """Scope and name of ``Box<T>::size`` when the pattern says that it may be qualified; a Ruby symbol loses its colon."""
    if qualified:
        scope, _, name = written.rpartition(rules.scope_separator)
        return scope, name.strip()
    return "", written.removeprefix(":")


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
