"""Text to rows of a vector table: the words that identifiers are made of, and for unknown words their longest known pieces.

A word that the table does not know keeps an identity of its own all the same: it is given one of a few thousand rows by hash, so that
a rare name, or a word of another script, finds itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final
from zlib import crc32

_PART: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_RUN: Final = re.compile(r"[^\W_]+")
_CJK: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\uff66-\uff9f\U00020000-\U0003134f]+")
_ASCII_RUNS: Final = "".join(chr(code) if chr(code).isalnum() else " " for code in range(128))
"""What ``_RUN`` finds in ASCII text, as a table for ``str.translate``: several times as fast."""

_LONGEST_WORD: Final = 40
_LONGEST_NUMBER: Final = 4
_SHORTEST_PIECE: Final = 3
_MOST_PIECES: Final = 8


def runs(text: str) -> list[str]:
    """The runs of letters and digits in a text, composed (NFC), in order."""
    if text.isascii():
        return text.translate(_ASCII_RUNS).split()
    return _RUN.findall(unicodedata.normalize("NFC", text))


def words(run: str) -> tuple[str, ...]:
    """The lower-case words of a run; single ASCII characters and long numbers are none, CJK becomes overlapping pairs."""
    found = _PART.findall(run) if run.isascii() else list(_other_words(run))
    return tuple([word.lower() for word in found if _is_word(word)])


def _is_word(word: str) -> bool:
    if not word.isascii():
        return len(word) <= _LONGEST_WORD
    return 1 < len(word) <= (_LONGEST_NUMBER if word.isdigit() else _LONGEST_WORD)


def _other_words(run: str) -> Iterator[str]:
    position = 0
    for match in _CJK.finditer(run):
        yield from _split(run[position : match.start()])
        pair = match.group()
        yield from (pair[start : start + 2] for start in range(max(1, len(pair) - 1)))
        position = match.end()
    yield from _split(run[position:])


def _split(run: str) -> list[str]:
    return _PART.findall(run) if run.isascii() else [run]


class WordPieces:
    """The rows of a table: one for each known word, then ``buckets`` for all others."""

    def __init__(self, vocabulary: Sequence[str], buckets: int) -> None:
        self._rows = {word: row for row, word in enumerate(vocabulary)}
        self._buckets = buckets
        self._longest = max(map(len, self._rows), default=0)

    def rows(self, word: str) -> list[int]:
        """The row of a known word; for another one its bucket and its longest known pieces from left to right."""
        row = self._rows.get(word)
        return (
            [row]
            if row is not None
            else [len(self._rows) + crc32(word.encode("utf-8", "surrogatepass")) % self._buckets, *self._pieces(word)]
        )

    def _pieces(self, word: str) -> list[int]:
        found: list[int] = []
        start = 0
        while start <= len(word) - _SHORTEST_PIECE and len(found) < _MOST_PIECES:
            for end in range(min(len(word), start + self._longest), start + _SHORTEST_PIECE - 1, -1):
                row = self._rows.get(word[start:end])
                if row is not None:
                    found.append(row)
                    start = end
                    break
            else:
                start += 1
        return found
