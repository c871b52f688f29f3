"""The matches of one query run, grouped by what their pattern means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tree_sitter import Node

from app.languages.registry import Group, PatternRole

Captures = dict[str, list[Node]]


class PatternMatches:
    """Matches by pattern, the most specific pattern first, so that the first claim on a name stands."""

    def __init__(self, roles: tuple[PatternRole, ...], matches: Iterable[tuple[int, Captures]]) -> None:
        self._roles = roles
        matched: defaultdict[int, list[Captures]] = defaultdict(list)
        for pattern, captures in matches:
            matched[pattern].append(captures)
        self._matches: defaultdict[str, list[tuple[PatternRole, list[Captures]]]] = defaultdict(list)
        for pattern in sorted(matched):
            self._matches[roles[pattern].group].append((roles[pattern], matched[pattern]))

    def has(self, group: Group) -> bool:
        """Whether the language has patterns of a group, be there matches or not."""
        return any(role.group == group for role in self._roles)

    def of(self, group: Group) -> Sequence[tuple[PatternRole, list[Captures]]]:
        """The patterns of a group that match anything, with their matches."""
        return self._matches.get(group, ())

    def marks(self, kind: str) -> Iterator[Captures]:
        for role, matches in self.of("mark"):
            if role.kind == kind:
                yield from matches
