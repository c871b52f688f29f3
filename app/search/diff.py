"""Reads unified diffs: which lines of which files were there before, and which are there after."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from app.domain.errors import InvalidRequest
from app.domain.symbols import IndexedSide

_NO_FILE: Final = "/dev/null"
_PREFIX: Final = re.compile(r"[abciow12]/")
"""git's own prefixes of the two sides, mnemonic ones among them."""

_HUNK: Final = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_QUOTED: Final = r'"(?:[^"\\]|\\.)*"'
_GIT_NAMES: Final = re.compile(rf"({_QUOTED}|.+?) ({_QUOTED}|.+)")
_ESCAPE: Final = re.compile(rb'\\([0-7]{3}|[abtnvfr"\\])')
_ESCAPED: Final = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_COLOURED: Final = re.compile(r"^(?:\x1b\[[0-9;]*m)+(?:diff |--- |@@ )", re.MULTILINE)
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[mK]")
_MERGE: Final = ("diff --cc ", "diff --combined ", "@@@ ")


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
    """The files of a unified diff, as ``git diff`` and ``diff -u`` write them; raises InvalidRequest for any other text.

    What stands around the files, such as the message of a commit, is passed over.
    """
    files = [*_Reader(_lines(text)).files()]
    if not files and text.strip():
        raise _refused("there is no file header in it")
    return files


def _lines(text: str) -> list[str]:
    """Without what terminals and other systems' line ends add."""
    if _COLOURED.search(text):
        text = _COLOUR.sub("", text)
    lines = [line.rstrip("\r") for line in text.split("\n")] if "\r" in text else text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


@dataclass(slots=True)
class _Header:
    """What was read of a file so far. ``names``: as written, with prefixes; ``moved``: what ``rename`` lines say, without any."""

    names: tuple[str, str] | None
    moved: dict[str, str] = field(default_factory=dict)
    added: bool = False
    deleted: bool = False
    copied: bool = False
    has_lines: bool = False
    blocks: list[Block] = field(default_factory=list)
    context: list[tuple[int, int, str]] = field(default_factory=list)


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def files(self) -> Iterator[FileDiff]:
        file: _Header | None = None
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith(_MERGE):
                raise _refused(f"line {self._at} begins the combined difference of a merge; compare with one parent")
            if line.startswith("diff --git "):
                if file is not None:
                    yield _file(file)
                file = _Header(_git_names(line.removeprefix("diff --git ")))
            elif line.startswith("--- ") and self._next().startswith("+++ "):
                if file is not None and file.has_lines:
                    yield _file(file)
                    file = None
                file = file or _Header(None)
                file.names, file.has_lines = (_name(line), _name(self._next())), True
                self._at += 1
            elif file is not None and not file.has_lines:
                _read_header(file, line)
            elif file is not None and line.startswith("@@ "):
                self._hunk(file, line)
        if file is not None:
            yield _file(file)

    def _next(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _hunk(self, file: _Header, header: str) -> None:
        match = _HUNK.match(header)
        if match is None:
            raise _refused(f"line {self._at} is no header of a hunk")
        base_start, base_left, head_start, head_left = (1 if number is None else int(number) for number in match.groups())
        # Of a side without lines the header names the line before, not the first one.
        base_after, head_after = base_start - (base_left > 0), head_start - (head_left > 0)
        base: list[tuple[int, str]] = []
        head: list[tuple[int, str]] = []
        begun = (base_after, head_after)
        while base_left > 0 or head_left > 0:
            sign, value = self._line()
            if sign == "-":
                base_after, base_left = base_after + 1, base_left - 1
                base.append((base_after, value))
            elif sign == "+":
                head_after, head_left = head_after + 1, head_left - 1
                head.append((head_after, value))
            elif sign == " ":
                if base or head:
                    file.blocks.append(Block(tuple(base), tuple(head), *begun))
                base, head = [], []
                base_after, head_after, base_left, head_left = base_after + 1, head_after + 1, base_left - 1, head_left - 1
                file.context.append((base_after, head_after, value))
                begun = (base_after, head_after)
        if base or head:
            file.blocks.append(Block(tuple(base), tuple(head), *begun))
        if base_left < 0 or head_left < 0 or self._goes_on():
            raise _refused(f"the hunk before line {self._at + 1} is longer than its header says")

    def _line(self) -> tuple[str, str]:
        """The sign and the text of the hunk's next line; an empty line is context that lost its blank on the way."""
        if self._at >= len(self._lines):
            raise _refused("its last hunk is shorter than its header says")
        line = self._lines[self._at]
        self._at += 1
        if line == "":
            return " ", ""
        if line[0] not in " +-\\":
            raise _refused(f"line {self._at} is no line of a hunk")
        return line[0], line[1:]

    def _goes_on(self) -> bool:
        """Whether a line of a hunk follows where the hunk has ended; the mark of a mail's signature is none."""
        line = self._next()
        return line.startswith(("+", " ", "-")) and not line.startswith("--- ") and line.rstrip() != "--"


def _read_header(file: _Header, line: str) -> None:
    """What git says of a file before its lines, which a file that was only moved, or is no text, does not have."""
    if line.startswith("new file mode "):
        file.added = True
    elif line.startswith("deleted file mode "):
        file.deleted = True
    elif match := re.match(r"(rename|copy) (from|to) (.+)", line):
        file.moved[match[2]] = _unquoted(match[3])
        file.copied = match[1] == "copy"


def _file(header: _Header) -> FileDiff:
    base, head = _paths(*header.names) if header.names is not None else (None, None)
    base, head = header.moved.get("from", base), header.moved.get("to", head)
    blocks, context = tuple(header.blocks), tuple(header.context)
    if header.copied:
        # What was copied stays as it was: the copy is a new file.
        blocks, context = tuple(Block((), block.head, block.base_after, block.head_after) for block in blocks if block.head), ()
    base, head = None if header.added or header.copied else base, None if header.deleted else head
    if base is None and head is None:
        raise _refused("a file in it has no name")
    return FileDiff(base, head, blocks, context)


def _git_names(text: str) -> tuple[str, str] | None:
    """The two names of a ``diff --git`` line. Blanks in them are not marked; names that differ stand in further lines."""
    middle = len(text) // 2
    left, right = text[:middle], text[middle + 1 :]
    if text[middle : middle + 1] == " " and (left == right or left[2:] == right[2:]):
        return _unquoted(left), _unquoted(right)
    match = _GIT_NAMES.fullmatch(text)
    return None if match is None else (_unquoted(match[1]), _unquoted(match[2]))


def _name(line: str) -> str:
    """The name in a line ``--- name`` or ``+++ name``; a tab ends it, for what follows is a time."""
    return _unquoted(line[4:].split("\t", 1)[0])


def _paths(base: str, head: str) -> tuple[str | None, str | None]:
    """Both paths without git's prefixes, which both have or neither."""
    names = [None if name in ("", _NO_FILE) else name for name in (base, head)]
    if all(name is None or _PREFIX.match(name) for name in names):
        names = [None if name is None else name[2:] for name in names]
    shown = [None if name is None else name.removeprefix("./") for name in names]
    return shown[0], shown[1]


def _unquoted(name: str) -> str:
    """What git writes for a path with unusual characters: in double quotes, bytes as octal escapes."""
    if not re.fullmatch(_QUOTED, name):
        return name
    written = _ESCAPE.sub(lambda escape: _byte(escape[1]), name[1:-1].encode("utf-8", "surrogatepass"))
    return written.decode("utf-8", "replace")


def _byte(escaped: bytes) -> bytes:
    return bytes([_ESCAPED[escaped[0]] if len(escaped) == 1 else int(escaped, 8) & 0xFF])


def _refused(reason: str) -> InvalidRequest:
    return InvalidRequest(f"not a unified diff: {reason}", field="diff")
