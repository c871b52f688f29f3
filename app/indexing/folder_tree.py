"""Reads a folder that is no git work tree, honouring its ``.gitignore`` files the way git would."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_METADATA: Final = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
_LARGEST_IGNORE_FILE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of a ``.gitignore``; ``prefix`` is the length of its folder's path, which the pattern does not see."""

    pattern: GitIgnoreSpecPattern
    folders_only: bool
    prefix: int

    def matches(self, path: str, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        tail = path[self.prefix :] + ("/" if self.folders_only else "")
        return self.pattern.match_file(tail) is not None


def walk(root: str) -> Iterator[tuple[str, bool]]:
    """(path relative to ``root``, whether it could be read) of everything but folders; symlinks are listed, never followed.

    A folder that cannot be opened is listed with a trailing ``/``. Ignored folders are not entered, so that nothing in them can be
    re-included: git's own rule.
    """
    pending: list[tuple[str, tuple[_Rule, ...]]] = [("", ())]
    while pending:
        folder, rules = pending.pop()
        try:
            with os.scandir(f"{root}/{folder}") as entries:
                children = sorted(((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries), reverse=True)
        except OSError:
            yield folder, False
            continue
        if any(name == ".gitignore" for name, _ in children):
            rules += _read_rules(f"{root}/{folder}.gitignore", len(folder))
        for name, is_folder in children:
            path = folder + name
            if name in _METADATA or _ignored(path, is_folder, rules):
                continue
            if is_folder:
                pending.append((path + "/", rules))
            else:
                yield path, True


def _ignored(path: str, is_folder: bool, rules: tuple[_Rule, ...]) -> bool:
    """The last rule that matches decides; rules of deeper folders come later."""
    for rule in reversed(rules):
        if rule.matches(path, is_folder):
            return bool(rule.pattern.include)
    return False


def _read_rules(path: str, prefix: int) -> tuple[_Rule, ...]:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            text = file.read(_LARGEST_IGNORE_FILE).decode("utf-8-sig", "surrogateescape")
    except OSError:
        return ()
    return tuple(rule for line in text.split("\n") if (rule := _rule(line.removesuffix("\r"), prefix)))


def _rule(line: str, prefix: int) -> _Rule | None:
    try:
        pattern = GitIgnoreSpecPattern(line)
    except ValueError:  # git passes over a line that makes no pattern
        return None
    if pattern.include is None:
        return None
    return _Rule(pattern, line.rstrip(" ").endswith("/"), prefix)
