"""What stands around a definition: its header on one line, its documentation, its decorators."""

from __future__ import annotations

import re
from typing import Final

from app.indexing.pattern_matches import PatternMatches
from app.indexing.source_text import SourceText, one_line

SIGNATURE_LENGTH: Final = 300
DOC_LENGTH: Final = 300
_HEADER_BYTES: Final = 4 * SIGNATURE_LENGTH  # enough for 300 code points of four bytes
_DOC_COMMENTS: Final = 40  # the reader sees the first 300 code points; longer runs of line comments are not gathered
_DOC_BYTES: Final = 4_000
_LINE_PREFIX: Final = re.compile(rb"[\w \t]*")
_COMMENT_MARKERS: Final = re.compile(r"^\s*(?:/\*[*!]*|\*/|\*(?!/)|//[/!]*|#+!?|--|<!--)?\s?|\s*(?:\*+/|-->)\s*$")
_DOCSTRING_QUOTES: Final = re.compile(r"^[A-Za-z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")


class Surroundings:
    """Decorators and whole-line comments by the row they end on, docstrings by the name they belong to."""

    def __init__(self, text: SourceText, matches: PatternMatches) -> None:
        self._text = text
        self._comments: dict[int, tuple[int, int]] = {}
        self._leading: dict[int, int] = {}
        for captures in matches.marks("comment"):
            node = captures["comment"][0]
            start, end = node.start_byte, node.end_byte
            while end > start and text.data[end - 1] in b"\r\n":
                end -= 1
            if text.begins_line(start):
                self._comments[text.row(end)] = (start, end)
        self._docstrings = {captures["name"][0].start_byte: captures["docstring"][0] for captures in matches.marks("docstring")}
        for captures in matches.marks("leading"):
            node = captures["leading"][0]
            row = text.row(node.end_byte)
            self._leading[row] = min(node.start_byte, self._leading.get(row, node.start_byte))

    def of(self, start: int, name_start: int) -> tuple[int, str]:
        """Where the definition begins with its decorators, and its docstring or the comment directly above it."""
        first, comments = self._above(start)
        if (docstring := self._docstrings.get(name_start)) is not None:
            return first, clean_docstring(self._text.of(docstring))
        return first, clean_comment("\n".join(reversed(comments))) if comments else ""

    def _above(self, start: int) -> tuple[int, list[str]]:
        text, row = self._text, self._text.row(start)
        comments: list[str] = []
        documented = begins_its_line(text, start)
        same_row = self._leading.get(row)
        if same_row is not None and same_row < start:
            start, row = same_row, text.row(same_row)
        while True:
            if (leading := self._leading.get(row - 1)) is not None:
                start, row = leading, text.row(leading)
            elif (comment := self._comments.get(row - 1)) is not None:
                row = text.row(comment[0])
                if documented and len(comments) < _DOC_COMMENTS:
                    comments.append(text.slice(comment[0], min(comment[1], comment[0] + _DOC_BYTES)))
            else:
                return start, comments


def clean_comment(comment: str) -> str:
    """The words of a comment block without its markers, on one line."""
    return one_line("\n".join(_COMMENT_MARKERS.sub("", line) for line in comment.split("\n")), DOC_LENGTH)


def clean_docstring(literal: str) -> str:
    """The words of a string literal, on one line."""
    return one_line(_DOCSTRING_QUOTES.sub("", literal[:_DOC_BYTES]), DOC_LENGTH)


def begins_its_line(text: SourceText, start: int) -> bool:
    """Whether nothing but keywords (``export default``, ``type``) stands before the definition on its line."""
    return _LINE_PREFIX.fullmatch(text.data, text.line_starts[text.row(start)], start) is not None


def signature_of(text: SourceText, start: int, end: int) -> str:
    """The header from ``start`` to ``end``, with the keywords before it on its line (``export default``)."""
    if begins_its_line(text, start):
        start = text.line_starts[text.row(start)]
    header = one_line(text.slice(start, min(end, start + _HEADER_BYTES)), SIGNATURE_LENGTH)
    return header.rstrip("{:;, ")
