"""Cuts a text into chunks: runs of whole lines that begin where definitions begin, small enough to be shown and embedded.

Pieces start at functions, methods and classes, with the decorators and comments right above them; neighbours are merged while they
fit, longer ones are split, best at a blank line or where the code steps back out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

from app.domain.code import Chunk, Symbol

_LEADING: Final = re.compile(r"\s*(?:#|//|/\*|\*(?:\s|/|$)|--|;|@|<!--|'''|\"\"\"|\[[\w.(),\" =]*\]\s*$|template\s*<)")
_CLOSING: Final = re.compile(r"\s*(?:[)\]}]|end\b|else\b|elif\b|except\b|finally\b|catch\b)")
_NO_CUT: Final = 1_000  # columns: worse than any indentation


def chunk(text: str, symbols: Sequence[Symbol], max_lines: int, max_bytes: int) -> tuple[Chunk, ...]:
    """Chunks that hold every line of a text once, in order; none for an empty text.

    A chunk's text is its lines joined by ``\\n``, without the last line's end. It has at most ``max_lines`` lines and
    ``max_bytes`` bytes of UTF-8, except that a single longer line is a chunk of its own.
    """
    lines = split_lines(text)
    sizes = [len(line) + 1 for line in lines] if text.isascii() else [len(line.encode("utf-8")) + 1 for line in lines]
    fitting = _Fitting(sizes, max_lines, max_bytes)
    pieces = [piece for start, end in _segments(lines, symbols) for piece in _split(lines, start, end, fitting)]
    return tuple(Chunk(start + 1, end, "\n".join(lines[start:end])) for start, end in _merge(pieces, fitting))


def split_lines(text: str) -> list[str]:
    """The lines of a decoded text; a last line end begins no further line, and an empty text has none."""
    if not text:
        return []
    return text.removesuffix("\n").split("\n")


def chunk_of_line(chunks: Sequence[Chunk], line: int) -> int:
    """The ordinal of the chunk that holds a 1-based line; the last one for a line behind the end."""
    return max(0, bisect_right(chunks, line, key=lambda candidate: candidate.start_line) - 1)


class _Fitting:
    """Whether a run of lines fits into a chunk, given the bytes of each with its end. Lines are 0-based, runs half-open."""

    def __init__(self, sizes: Sequence[int], max_lines: int, max_bytes: int) -> None:
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._ends = list(accumulate(sizes, initial=0))

    def fits(self, start: int, end: int) -> bool:
        return end - start <= self._max_lines and self._ends[end] - self._ends[start] - 1 <= self._max_bytes

    def longest(self, start: int, end: int) -> int:
        """The end of the longest run from ``start`` that fits; one line in any case."""
        last = bisect_right(self._ends, self._ends[start] + self._max_bytes + 1, start, end + 1) - 1
        return max(start + 1, min(last, start + self._max_lines))


def _segments(lines: Sequence[str], symbols: Sequence[Symbol]) -> Iterator[tuple[int, int]]:
    """The runs between the beginnings of definitions."""
    starts = sorted({symbol.start_line - 1 for symbol in symbols if symbol.kind.is_callable or symbol.kind.is_type})
    cuts = [0]
    for start in starts:
        if cuts[-1] < start < len(lines):
            cut = _with_leading_lines(lines, start, cuts[-1])
            if cut > cuts[-1]:
                cuts.append(cut)
    cuts.append(len(lines))
    return ((start, end) for start, end in pairwise(cuts) if start < end)


def _with_leading_lines(lines: Sequence[str], start: int, floor: int) -> int:
    """``start`` moved up over decorators and comments, never to or above ``floor``."""
    while start - 1 > floor and _LEADING.match(lines[start - 1]):
        start -= 1
    return start


def _split(lines: Sequence[str], start: int, end: int, fitting: _Fitting) -> Iterator[tuple[int, int]]:
    while not fitting.fits(start, end) and end - start > 1:
        cut = _best_cut(lines, start, min(end, fitting.longest(start, end)))
        yield start, cut
        start = cut
    yield start, end


def _best_cut(lines: Sequence[str], start: int, limit: int) -> int:
    """Where in the second half of ``start`` to ``limit`` a new piece reads best: behind a blank line, then at the least indentation."""
    candidates = range(max(start + 1, start + (limit - start + 1) // 2), limit + 1)
    return min(candidates, key=lambda cut: (lines[cut - 1].strip() != "", _indentation(lines[cut]), -cut))


def _indentation(line: str) -> int:
    if _CLOSING.match(line) or not line.strip():
        return _NO_CUT
    return len(line) - len(line.lstrip())


def _merge(pieces: Sequence[tuple[int, int]], fitting: _Fitting) -> Iterator[tuple[int, int]]:
    if not pieces:
        return
    start, end = pieces[0]
    for next_start, next_end in pieces[1:]:
        if not fitting.fits(start, next_end):
            yield start, end
            start = next_start
        end = next_end
    yield start, end
