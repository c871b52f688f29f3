"""What languages are called: `py`, `c++` and `golang` mean the languages whose names stand in the index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final

MOST_NEAR: Final = 3
_CLOSE: Final = 0.75
"""Of difflib's ratio."""


@dataclass(frozen=True, slots=True)
class LanguageNames:
    """``names``: what a language may be called, in lower case, with the name it has in the index. Of an empty one every name is right."""

    names: Mapping[str, str] = field(default_factory=dict)

    def known_as(self, written: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The names as the index has them, a leading ``!`` kept; and those that no language has, which stay as they are."""
        found, unknown = [], []
        for text in written:
            excluded, name = "!" * text.startswith("!"), text.removeprefix("!").strip().lower()
            known = self.names.get(name) or self.names.get(name.removeprefix("."))
            if self.names and known is None:
                unknown.append(name)
            found.append(excluded + (known or name))
        return tuple(dict.fromkeys(found)), tuple(dict.fromkeys(unknown))

    def near(self, name: str) -> tuple[str, ...]:
        """Languages that are called much the same, nearest first."""
        own, other = sorted(set(self.names.values())), list(self.names)
        close = get_close_matches(name[:100], own, MOST_NEAR, _CLOSE) or get_close_matches(name[:100], other, 1, _CLOSE)
        return tuple(self.names[text] for text in close)
