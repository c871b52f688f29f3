"""Reads unified diffs: which lines of which files were there before, and which are there after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchedFile, PatchSet

from app.domain.errors import InvalidRequest
from app.domain.symbols import IndexedSide

_NO_FILE: Final = "/dev/null"
_PREFIX: Final = re.compile(r"[abciow12]/")
"""git's own prefixes of the two sides, mnemonic ones among them."""


@dataclass(frozen=True, slots=True)
class Block:
    """A run of changed lines. ``base`` and ``head`` are the lines of each side with their text; where a side has none, ``*_after`` is
    the line of that side after which the other side's lines stand, 0 before the first.
    """

    base: tuple[tuple[int, str], ...]
    head: tuple[tuple[int, str], ...]
    base_after: int
    head_after: int

    def lines(self, side: IndexedSide) -> tuple[tuple[int, str], ...]:
        return self.base if side is IndexedSide.BASE else self.head

    def after(self, side: IndexedSide) -> int:
        return self.base_after if side is IndexedSide.BASE else self.head_after


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file of a diff. A path is None on the side on which the file does not exist. ``context``: (base line, head line, text)."""

    base_path: str | None
    head_path: str | None
    blocks: tuple[Block, ...]
    context: tuple[tuple[int, int, str], ...]

    def path(self, side: IndexedSide) -> str | None:
        return self.base_path if side is IndexedSide.BASE else self.head_path

    @property
    def shown_path(self) -> str:
        """The path after the change, or the one before it of a file that was deleted."""
        return self.head_path or self.base_path or ""

    @property
    def status(self) -> str:
        if self.base_path is None:
            return "added"
        if self.head_path is None:
            return "deleted"
        return "modified" if self.base_path == self.head_path else "renamed"


def parse_diff(text: str) -> Sequence[FileDiff]:
    """The files of a unified diff, as ``git diff`` and ``diff -u`` write them; raises InvalidRequest for any other text."""
    try:
        files = [_file(patched) for patched in PatchSet(text.replace("\r\n", "\n"))]
    except (UnidiffParseError, ValueError) as error:
        raise InvalidRequest(f"not a unified diff: {error}", field="diff") from None
    if not files and text.strip():
        raise InvalidRequest("not a unified diff: there is no file header in it", field="diff")
    return files


def _file(patched: PatchedFile) -> FileDiff:
    blocks: list[Block] = []
    context: list[tuple[int, int, str]] = []
    for hunk in patched:
        base_after, head_after = hunk.source_start - 1, hunk.target_start - 1
        # Of a side without lines the header names the line before, not the first one.
        base_after += hunk.source_length == 0
        head_after += hunk.target_length == 0
        base: list[tuple[int, str]] = []
        head: list[tuple[int, str]] = []
        starts = (base_after, head_after)
        for line in hunk:
            value = line.value.removesuffix("\n")
            if line.is_removed:
                base_after += 1
                base.append((base_after, value))
            elif line.is_added:
                head_after += 1
                head.append((head_after, value))
            elif line.is_context:
                if base or head:
                    blocks.append(Block(tuple(base), tuple(head), *starts))
                base, head = [], []
                base_after, head_after = base_after + 1, head_after + 1
                context.append((base_after, head_after, value))
                starts = (base_after, head_after)
        if base or head:
            blocks.append(Block(tuple(base), tuple(head), *starts))
    base_path, head_path = _paths(patched.source_file, patched.target_file)
    return FileDiff(base_path, head_path, tuple(blocks), tuple(context))


def _paths(base: str, head: str) -> tuple[str | None, str | None]:
    """Both paths without git's prefixes, which both have or neither."""
    names = [None if name in ("", _NO_FILE) else _unquoted(name) for name in (base, head)]
    if all(name is None or _PREFIX.match(name) for name in names):
        names = [None if name is None else name[2:] for name in names]
    return names[0], names[1]


def _unquoted(name: str) -> str:
    """What git writes for a path with unusual characters: in double quotes, bytes as octal escapes."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name
    escaped = name[1:-1].encode("latin-1", "backslashreplace")
    return escaped.decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "replace")
