"""Which side of a diff the index holds, and which of its definitions the diff touches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from app.domain.code import SymbolKind
from app.domain.symbols import ChangedSymbol, IndexedFile, IndexedSide, SymbolDetails
from app.search.diff import FileDiff


def agreement(diffs: Sequence[FileDiff], files: Mapping[str, IndexedFile], side: IndexedSide) -> float:
    """The share of the lines of one side of a diff, 0 to 1, that stand in the index where the diff says; 1 for a diff without lines."""
    told = [(diff.path(side), number, text) for diff in diffs for number, text in _lines(diff, side)]
    agreeing = sum(path in files and _line(files[path], number) == text for path, number, text in told if path is not None)
    return agreeing / len(told) if told else 1.0


def touched(diff: FileDiff, file: IndexedFile, side: IndexedSide) -> list[ChangedSymbol]:
    """The innermost definitions that a diff touches in one indexed file, in the order of their lines.

    The file's module stands for lines outside of any definition; blank lines and imports alone do not touch it. What was inserted touches
    the definition in whose middle it was.
    """
    found: dict[str, tuple[SymbolDetails, set[int]]] = {}
    nesting = _Nesting(file.symbols)
    for block in diff.blocks:
        lines = block.lines(side)
        for number, text in lines:
            symbols = nesting.innermost(number, number)
            if not symbols and text.strip() and number <= len(file.lines) and number not in file.import_lines:
                symbols = [file.module]
            for symbol in symbols:
                found.setdefault(symbol.id, (symbol, set()))[1].add(number)
        if not lines:
            after = block.after(side)
            for symbol in nesting.innermost(after, after + 1):
                found.setdefault(symbol.id, (symbol, set()))[1].add(after)
    if diff.status == "renamed":
        found.setdefault(file.module.id, (file.module, set()))
    changed = [ChangedSymbol(symbol, tuple(sorted(lines))) for symbol, lines in found.values()]
    return sorted(changed, key=lambda change: (change.lines[:1], _span(change.symbol)))


def _lines(diff: FileDiff, side: IndexedSide) -> Iterator[tuple[int, str]]:
    for block in diff.blocks:
        yield from block.lines(side)
    for base, head, text in diff.context:
        yield (base if side is IndexedSide.BASE else head), text


def _line(file: IndexedFile, number: int) -> str | None:
    return file.lines[number - 1] if 0 < number <= len(file.lines) else None


class _Nesting:
    """The definitions of a file by the lines that they span: found by bisection, since a diff may have as many lines as the file."""

    def __init__(self, symbols: Sequence[SymbolDetails]) -> None:
        spans = [(symbol.place.start_line, symbol.place.end_line, symbol) for symbol in symbols if symbol.place is not None]
        spans.sort(key=lambda span: (span[0], -span[1]))
        self._starts = [start for start, _, _ in spans]
        self._ends = [end for _, end, _ in spans]
        self._symbols = [symbol for _, _, symbol in spans]
        self._parents: list[int] = []
        open_spans: list[int] = []
        for position, end in enumerate(self._ends):
            while open_spans and self._ends[open_spans[-1]] < end:
                open_spans.pop()
            self._parents.append(open_spans[-1] if open_spans else -1)
            open_spans.append(position)

    def innermost(self, first: int, last: int) -> list[SymbolDetails]:
        """The innermost definition around these lines; of a variable or field that a function sets, the function too."""
        around = self._around(first, last)
        inner = next(around, None)
        if inner is None or _is_code(inner):
            return [inner] if inner is not None else []
        function = next((symbol for symbol in around if SymbolKind(symbol.kind).is_callable), None)
        return [inner] if function is None else [function, inner]

    def _around(self, first: int, last: int) -> Iterator[SymbolDetails]:
        """Those around these lines, the innermost first."""
        position = bisect_right(self._starts, first) - 1
        while position >= 0:
            if self._ends[position] >= last:
                yield self._symbols[position]
            position = self._parents[position]


def _is_code(symbol: SymbolDetails) -> bool:
    kind = SymbolKind(symbol.kind)
    return kind.is_callable or kind.is_type


def _span(symbol: SymbolDetails) -> int:
    return symbol.place.end_line - symbol.place.start_line if symbol.place is not None else 0
