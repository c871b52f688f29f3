"""A file's text as the parser sees it: UTF-8 bytes, with rows and code-point columns on request."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from tree_sitter import Node


class SourceText:
    """UTF-8 bytes of a decoded text. Rows are 0-based and end at ``\\n``, as tree-sitter counts them.

    A lone surrogate, which UTF-8 cannot hold, becomes ``?``: one code point stays one code point.
    """

    def __init__(self, text: str) -> None:
        self.data: Final = text.encode("utf-8", errors="replace")
        self._ascii: Final = text if text.isascii() else None
        starts = [0]
        position = self.data.find(b"\n")
        while position != -1:
            starts.append(position + 1)
            position = self.data.find(b"\n", position + 1)
        self.line_starts: Final = starts

    def row(self, byte: int) -> int:
        return bisect_right(self.line_starts, byte) - 1

    def position(self, byte: int) -> tuple[int, int]:
        """1-based line and 0-based code-point column of a byte offset."""
        row = bisect_right(self.line_starts, byte) - 1
        start = self.line_starts[row]
        if self._ascii is not None:
            return row + 1, byte - start
        return row + 1, len(self.data[start:byte].decode("utf-8", errors="replace"))

    def slice(self, start: int, end: int) -> str:
        if self._ascii is not None:
            return self._ascii[start:end]
        return self.data[start:end].decode("utf-8", errors="replace")

    def of(self, node: Node) -> str:
        if self._ascii is not None:
            return self._ascii[node.start_byte : node.end_byte]
        return self.data[node.start_byte : node.end_byte].decode("utf-8", errors="replace")

    def begins_line(self, byte: int) -> bool:
        """Whether only blanks stand before the byte on its line."""
        return not self.data[self.line_starts[self.row(byte)] : byte].strip()


def one_line(text: str, limit: int) -> str:
    """The text with white space collapsed, cut at ``limit`` code points."""
    collapsed = " ".join(text.split())
    return collapsed if len(collapsed) <= limit else collapsed[: limit - 1] + "…"
