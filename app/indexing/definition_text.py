"""What stands around a definition: its header on one line, its documentation, its decorators."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

from tree_sitter import Node

from app.indexing.pattern_matches import PatternMatches
from app.indexing.source_text import SourceText, one_line
from app.languages.registry import ExtractionRules

SIGNATURE_LENGTH: Final = 300
DOC_LENGTH: Final = 300
_HEADER_BYTES: Final = 4 * SIGNATURE_LENGTH  # enough for 300 code points of four bytes
_DOC_COMMENTS: Final = 40  # the reader sees the first 300 code points; longer runs of line comments are not gathered
_DOC_BYTES: Final = 4_000
_LINE_PREFIX: Final = re.compile(rb"[\w \t]*")
_COMMENT_MARKERS: Final = re.compile(
    r"^\s*(?:/\*[*!]*|\*/|\*(?!/)|//[/!]*|#+!?|--+(?:\[=*\[)?(?:\s*[|^](?=\s))?|\{-\s*\|?|<!--)?\s?|\s*(?:\*+/|-->|-\}|(?:--)?\]=*\])\s*$"
)
_MARKUP: Final = re.compile(r"</?(?:summary|remarks|returns|param|para|c|code|see|p)\b[^>]*>")
_DOCSTRING_QUOTES: Final = re.compile(r"^~?[A-Za-z]*(\"\"\"|'''|\"|')|(\"\"\"|'''|\"|')$")


class Surroundings:
    """Decorators and whole-line comments by the row they end on, docstrings by the name they belong to."""

    def __init__(self, text: SourceText, matches: PatternMatches) -> None:
        self._text = text
        self._comments: dict[int, tuple[int, int]] = {}
        self._all_comments: list[tuple[int, int]] = []
        self._leading: dict[int, list[tuple[int, int]]] = {}
        self._docstrings = {captures["name"][0].start_byte: captures["docstring"][0] for captures in matches.marks("docstring")}
        for captures in matches.marks("comment"):
            self._add_comment(captures["comment"][0])
        self._all_comments.sort()
        for captures in matches.marks("leading"):
            node = captures["leading"][0]
            self._leading.setdefault(text.row(node.end_byte), []).append((node.start_byte, node.end_byte))

    def of(self, start: int, name_start: int) -> tuple[int, str]:
        """Where the definition begins with its decorators, and its docstring or the comment directly above it."""
        first, comments = self._above(start)
        if (docstring := self._docstrings.get(name_start)) is not None:
            return first, clean_docstring(self._text.of(docstring))
        return first, clean_comment("\n".join(reversed(comments))) if comments else ""

    def header(self, start: int, end: int) -> str:
        """The text from ``start`` to ``end`` without its comments."""
        parts: list[str] = []
        index = bisect_left(self._all_comments, (start, start))
        while index < len(self._all_comments) and self._all_comments[index][0] < end:
            comment_start, comment_end = self._all_comments[index]
            parts.append(self._text.slice(start, comment_start))
            start = comment_end
            index += 1
        return " ".join([*parts, self._text.slice(start, end)])

    def _add_comment(self, node: Node) -> None:
        text, start, end = self._text, node.start_byte, node.end_byte
        while end > start and text.data[end - 1] in b"\r\n":
            end -= 1
        self._all_comments.append((start, end))
        names_interpreter = start == 0 and text.data.startswith(b"#!")
        if text.begins_line(start) and not names_interpreter:
            self._comments[text.row(end)] = (start, end)

    def _above(self, start: int) -> tuple[int, list[str]]:
        text = self._text
        comments: list[str] = []
        start = self._over_decorators_beside(start)
        if not begins_its_line(text, start):
            return start, comments
        row = text.row(start)
        while True:
            if (leading := self._decorator_line(row - 1)) is not None:
                start = self._over_decorators_beside(leading)
                row = text.row(start)
            elif (comment := self._comments.get(row - 1)) is not None:
                row = text.row(comment[0])
                if len(comments) < _DOC_COMMENTS:
                    comments.append(text.slice(comment[0], min(comment[1], comment[0] + _DOC_BYTES)))
            else:
                return start, comments

    def _decorator_line(self, row: int) -> int | None:
        """Where the last decorator of a row begins if nothing but a comment follows it there."""
        leading = self._leading.get(row)
        if leading is None:
            return None
        start, end = leading[-1]
        rest = self._text.data[end : self._text.line_starts[row + 1]].strip()
        return start if not rest or rest.startswith((b"#", b"//", b"/*")) else None

    def _over_decorators_beside(self, start: int) -> int:
        """Back over decorators that end on the same line, with nothing but keywords in between."""
        text = self._text
        for leading_start, leading_end in reversed(self._leading.get(text.row(start), ())):
            if leading_end <= start and _LINE_PREFIX.fullmatch(text.data, leading_end, start):
                start = leading_start
        return start


def clean_comment(comment: str) -> str:
    """The words of a comment block without its markers, on one line."""
    lines = (_COMMENT_MARKERS.sub("", line) for line in comment.split("\n"))
    return one_line(_MARKUP.sub(" ", "\n".join(lines)), DOC_LENGTH)


def clean_docstring(literal: str) -> str:
    """The words of a string literal, on one line."""
    return one_line(_DOCSTRING_QUOTES.sub("", literal[:_DOC_BYTES]), DOC_LENGTH)


def begins_its_line(text: SourceText, start: int) -> bool:
    """Whether nothing but keywords (``export default``, ``type``) stands before the definition on its line."""
    return _LINE_PREFIX.fullmatch(text.data, text.line_starts[text.row(start)], start) is not None


def signature_of(text: SourceText, around: Surroundings, start: int, end: int, rules: ExtractionRules, *, prototype: bool) -> str:
    """The header from ``start`` to ``end``, with the keywords before it on its line (``export default``).

    Only what is declared here and defined elsewhere keeps its semicolon.
    """
    if begins_its_line(text, start):
        start = text.line_starts[text.row(start)]
    header = one_line(around.header(start, min(end, start + _HEADER_BYTES)), SIGNATURE_LENGTH).rstrip("{:;, ").removesuffix(" =")
    declared = prototype or header.partition(" ")[0] in rules.declaring_words
    return header + ";" if declared else header
