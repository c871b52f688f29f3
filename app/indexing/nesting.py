"""Which span is the innermost around a position, by one sweep with a stack instead of walking the tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


class Nesting:
    """What is open at a position, for spans that arrive ordered by start. Equal spans are siblings."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int, int | None, bool]] = []

    def enter(self, start: int, end: int) -> tuple[int | None, bool]:
        """The innermost open symbol at the span, and whether a callable is the innermost thing open."""
        stack = self._open
        while stack and (stack[-1][1] <= start or stack[-1][:2] == (start, end)):
            stack.pop()
        return (stack[-1][2], stack[-1][3]) if stack else (None, False)

    def push(self, start: int, end: int, symbol: int | None, *, is_callable: bool) -> None:
        self._open.append((start, end, symbol, is_callable))


def enclosing_symbols(spans: Sequence[tuple[int, int]], positions: Sequence[int]) -> Iterator[int | None]:
    """For each of the ascending positions the index of the innermost span around it, the first of equal ones.

    ``spans`` are ordered by start.
    """
    stack: list[int] = []
    following = 0
    for position in positions:
        while following < len(spans) and spans[following][0] <= position:
            start = spans[following][0]
            while stack and spans[stack[-1]][1] <= start:
                stack.pop()
            if not stack or spans[stack[-1]] != spans[following]:
                stack.append(following)
            following += 1
        while stack and spans[stack[-1]][1] <= position:
            stack.pop()
        yield stack[-1] if stack else None
