"""Reads a folder that is no git work tree, honouring its ``.gitignore`` files the way git would."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import Final

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from app.indexing.ignored import Ignored, Rule

_METADATA: Final = frozenset({".git", ".hg", ".svn", ".jj", ".bzr"})
_LARGEST_IGNORE_FILE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class _Rule:
    """One line of a ``.gitignore``; ``prefix`` is the length of its folder's path, which the pattern does not see."""

    pattern: GitIgnoreSpecPattern
    folders_only: bool
    prefix: int
    place: Rule

    def matches(self, path: str, is_folder: bool) -> bool:
        if self.folders_only and not is_folder:
            return False
        tail = path[self.prefix :] + ("/" if self.folders_only else "")
        return self.pattern.match_file(tail) is not None


@dataclass(slots=True)
class Folder:
    """``entries``: path relative to the root → its status, None where it cannot be read. A folder that cannot be opened ends with ``/``."""

    entries: dict[str, os.stat_result | None] = field(default_factory=dict)
    ignored: Ignored = field(default_factory=Ignored)


def walk(root: str, *, respect_ignore: bool = True) -> Folder:
    """Everything below ``root`` but folders, in order; symlinks are listed, never followed.

    Ignored folders are not entered, so that nothing in them can be re-included: git's own rule.
    """
    found: list[tuple[str, os.stat_result | None]] = []
    ignored = Ignored()
    pending: list[tuple[str, tuple[_Rule, ...]]] = [("", ())]
    while pending:
        folder, rules = pending.pop()
        try:
            with os.scandir(f"{root}/{folder}") as entries:
                children = [(entry.name, entry, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            found.append((folder, None))
            continue
        if respect_ignore and any(name == ".gitignore" and not is_folder for name, _, is_folder in children):
            rules += _read_rules(root, folder)
        for name, entry, is_folder in children:
            path = folder + name
            if name in _METADATA:
                continue
            if rules and (rule := _ignored_by(path, is_folder, rules)):
                ignored.add(is_folder, rule.place)
            elif is_folder:
                pending.append((path + "/", rules))
            else:
                with suppress(FileNotFoundError):
                    found.append((path, _status(entry)))
    found.sort(key=itemgetter(0))
    return Folder(dict(found), ignored)


def rule_of(root: str, path: str) -> Rule | None:
    """What leaves a file out, or a folder that it is in; the file need not be there."""
    rules: tuple[_Rule, ...] = ()
    folder = ""
    parts = path.split("/")
    for depth, name in enumerate(parts, 1):
        rules += _read_rules(root, folder)
        here = f"{root}/{folder}{name}"
        if Path(here).is_symlink():  # what is behind it is not in the tree
            return None
        if rule := _ignored_by(folder + name, depth < len(parts) or Path(here).is_dir(), rules):
            return rule.place
        folder += name + "/"
    return None


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """None where it cannot be had; raises FileNotFoundError when the file is gone."""
    try:
        return entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        raise
    except OSError:
        return None


def _ignored_by(path: str, is_folder: bool, rules: tuple[_Rule, ...]) -> _Rule | None:
    """The last rule that matches decides; rules of deeper folders come later."""
    for rule in reversed(rules):
        if rule.matches(path, is_folder):
            return rule if rule.pattern.include else None
    return None


def _read_rules(root: str, folder: str) -> tuple[_Rule, ...]:
    file = folder + ".gitignore"
    try:
        handle = os.open(f"{root}/{file}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as opened:
            text = opened.read(_LARGEST_IGNORE_FILE).decode("utf-8-sig", "surrogateescape")
    except OSError:
        return ()
    lines = enumerate(text.split("\n"), 1)
    plain = ((number, line.removesuffix("\r")) for number, line in lines)
    return tuple(rule for number, line in plain if (rule := _rule(line, len(folder), (file, number, _as_git_shows(line)))))


def _as_git_shows(line: str) -> str:
    return line if line.endswith("\\ ") else line.rstrip(" ")


def _rule(line: str, prefix: int, place: Rule) -> _Rule | None:
    try:
        pattern = GitIgnoreSpecPattern(line)
    except ValueError:  # git passes over a line that makes no pattern
        return None
    if pattern.include is None:
        return None
    return _Rule(pattern, line.rstrip(" ").endswith("/"), prefix, place)
