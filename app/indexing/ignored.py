"""Counts what ignore files leave out of a tree, by the rule that does it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, TypeAlias

from app.domain.left_out import MOST_RULES, IgnoreRule, LeftOut, RulePlace

_LONGEST: Final = 200
"""Characters of a pattern or a file's name that are shown: strangers write both."""

Rule: TypeAlias = tuple[str, int, str]
"""An ignore file relative to the root, the line and its text; other bytes than UTF-8 as ``os.fsdecode`` gives them."""


@dataclass(slots=True)
class Ignored:
    """Files and folders that a rule leaves out; a folder counts as one, whatever is in it."""

    files: int = 0
    folders: int = 0
    rules: Counter[Rule] = field(default_factory=Counter)

    def add(self, is_folder: bool, rule: Rule | None) -> None:
        """Note an entry and, if it is known, what decides it."""
        if is_folder:
            self.folders += 1
        else:
            self.files += 1
        if rule is not None:
            self.rules[rule] += 1

    def left_out(self, excluded: int, unmatched_include: Sequence[str]) -> LeftOut:
        """Together with what globs leave out."""
        most = sorted(self.rules.items(), key=lambda item: (-item[1], item[0]))[:MOST_RULES]
        rules = tuple(IgnoreRule(**asdict(place_of(rule)), entries=entries) for rule, entries in most)
        return LeftOut(self.files, self.folders, rules, excluded, tuple(unmatched_include))


def place_of(rule: Rule) -> RulePlace:
    """A rule as it is shown."""
    file, line, pattern = rule
    return RulePlace(_shown(file), line, _shown(pattern))


def _shown(text: str) -> str:
    shown = os.fsencode(text).decode("utf-8", "backslashreplace").replace("\0", "\\x00")
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
