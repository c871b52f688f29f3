"""The matches of one query run, grouped by what their pattern means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tree_sitter import Node

from app.languages.registry import Group, PatternRole

Captures = dict[str, list[Node]]


class PatternMatches:
    """Matches by pattern, the most specific pattern first, so that the first claim on a name stands."""

    def __init__(self, roles: tuple[PatternRole, ...], matches: Iterable[tuple[int, Captures]]) -> None:
        self._roles = roles
        self._matches: list[list[Captures]] = [[] for _ in roles]
        for pattern, captures in matches:
            self._matches[pattern].append(captures)

    def has(self, group: Group) -> bool:
        """Whether the language has patterns of a group, be there matches or not."""
        return any(role.group == group for role in self._roles)

    def of(self, group: Group) -> Iterator[tuple[PatternRole, list[Captures]]]:
        for role, matches in zip(self._roles, self._matches, strict=True):
            if matches and role.group == group:
                yield role, matches

    def marks(self, kind: str) -> Iterator[Captures]:
        for role, matches in self.of("mark"):
            if role.kind == kind:
                yield from matches
