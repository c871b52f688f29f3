"""What a literal or a pattern matches in a text: one definition for finding, for counting lines and for highlights.

A pattern is RE2's dialect and is matched within a line: ``^`` and ``$`` are the line's ends, and nothing in it reaches over one. A literal
that holds line ends matches over as many lines as it has. A word ends where the next character is no letter, mark, digit or connector.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple, Protocol

import re2

from app.domain.errors import InvalidRequest

LARGEST_PROGRAM: Final = 20_000
"""Instructions of RE2. Without its cache RE2 takes about 0.2 ns an instruction and byte: 6 ms for a chunk of 1,500 bytes."""

_MEMORY: Final = 1 << 20
"""Bytes with which RE2 gives up at twice as many instructions, within milliseconds; it would take 0.2 s for what it then refuses."""

MOST_IN_A_LINE: Final = 100
MOST_SPANS: Final = 200
"""Spans of a text; after so many, further lines that match have one each, and none has more than ``MOST_IN_A_LINE``."""

_LEAST_TRIES: Final = 10
"""Matches looked at in a line that may have one span."""

_NO_WORD: Final = r"[^\p{L}\p{M}\p{N}\p{Pc}]"

# Only here is matching the lines of a text one by one not the same as matching the text with (?m) and without line ends.
_PER_LINE: Final = re.compile(r"\\[Az]|\(\?[A-Za-z]*-[A-Za-z]*m")

_ONE_BYTE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\C")


class Span(NamedTuple):
    """Code points ``start`` to ``end`` (0-based, half-open) of the ``line``-th line (0-based) of a text."""

    line: int
    start: int
    end: int


class Matcher(Protocol):
    """Finds one literal or pattern. Lines are what ``\\n`` separates.

    ``size``: instructions of RE2's program; a text may cost so many steps a byte.
    """

    @property
    def size(self) -> int: ...

    def lines(self, text: str) -> list[int]:
        """0-based numbers of the lines that match, in order."""
        ...

    def lines_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """``lines`` of many texts."""
        ...

    def spans(self, text: str) -> Iterator[Span]:
        """The matches, in order and within bounds; a line that matches only where nothing stands has one empty span."""
        ...


@lru_cache(maxsize=64)
def matcher(wanted: str, *, regex: bool, case: bool = True, word: bool = False) -> Matcher:
    """The matcher of a literal or of a pattern. Raises InvalidRequest, with RE2's message, for what is no pattern."""
    if not regex and "\n" in wanted:
        return _Block(wanted, case=case, word=word)
    if not regex and case and not word:
        return _Literal(wanted)
    return _Pattern(wanted if regex else re2.escape(wanted), case=case, word=word)


def most_in_a_line(left: int) -> int:
    """How many spans the next line may have; ``left``: how many a text may still have."""
    return min(MOST_IN_A_LINE, max(1, left))


class _Literal:
    """The exact string, within a line."""

    size = 1

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted

    def lines(self, text: str) -> list[int]:
        """See Matcher."""
        found: list[int] = []
        line = counted = 0
        position = text.find(self._wanted)
        while position >= 0:
            line += text.count("\n", counted, position)
            found.append(line)
            counted = text.find("\n", position)
            position = text.find(self._wanted, counted) if counted >= 0 else -1
        return found

    def lines_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """See Matcher."""
        return [self.lines(text) for text in texts]

    def spans(self, text: str) -> Iterator[Span]:
        """See Matcher."""
        line = counted = start = 0
        left, in_line = MOST_SPANS, 0
        position = text.find(self._wanted)
        while position >= 0:
            passed = text.count("\n", counted, position)
            if passed:
                line, start, in_line = line + passed, text.rfind("\n", 0, position) + 1, 0
            counted = position
            end = position + len(self._wanted)
            yield Span(line, position - start, end - start)
            left, in_line = left - 1, in_line + 1
            if in_line >= most_in_a_line(left):
                end = text.find("\n", end)
                if end < 0:
                    return
            position = text.find(self._wanted, end)


class _Pattern:
    """A pattern, within a line. Texts are matched as UTF-8, whole where that is the same as line by line."""

    def __init__(self, pattern: str, *, case: bool, word: bool) -> None:
        if _ONE_BYTE.search(pattern):
            raise InvalidRequest(r"\C matches a byte, and texts are matched by characters: write . instead", field="query")
        self._plain = _compile(pattern, case=case)
        self._one_by_one = _PER_LINE.search(pattern) is not None
        self._word = word
        self._decisive = self._to_line_end(pattern, case=case)
        self.size = _size(self._decisive)

    def _to_line_end(self, pattern: str, *, case: bool) -> re2._Regexp:
        """The pattern and the rest of its line, so that a line is found once."""
        edges = (rf"(?:^|{_NO_WORD})", rf"(?:$|{_NO_WORD})") if self._word else ("", "")
        try:
            return _compile(f"(?m){edges[0]}(?:{pattern}){edges[1]}.*", case=case)
        except InvalidRequest:  # a quotation that the pattern itself leaves open
            return _compile(f"(?m){edges[0]}(?:{pattern}\\E){edges[1]}.*", case=case)

    def lines(self, text: str) -> list[int]:
        """See Matcher."""
        data = text.encode()
        if self._one_by_one:
            return [number for number, line in enumerate(data.split(b"\n")) if self._decisive.search(line)]
        found: list[int] = []
        line = position = 0
        for match in self._decisive.finditer(data):
            start = match.start()
            line += data.count(b"\n", position, start)
            position = start
            if not found or found[-1] != line:  # what matches nothing matches again at the line's end
                found.append(line)
        return found

    def lines_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """See Matcher. The texts are matched as one: a call of RE2 costs more than a line, and nothing reaches over a line end."""
        if self._one_by_one or not texts:
            return [self.lines(text) for text in texts]
        parts = [text.encode() for text in texts]
        data = b"\n".join(parts)
        found: list[list[int]] = [[] for _ in parts]
        at = line = counted = 0
        end = len(parts[0])
        for match in self._decisive.finditer(data):
            start = match.start()
            while start > end:
                at += 1
                line, counted = 0, end + 1
                end = counted + len(parts[at])
            line += data.count(b"\n", counted, start)
            counted = start
            if not found[at] or found[at][-1] != line:
                found[at].append(line)
        return found

    def spans(self, text: str) -> Iterator[Span]:
        """See Matcher."""
        lines = text.split("\n")
        left = MOST_SPANS
        for number in self.lines(text):
            most = most_in_a_line(left)
            tried = self._matches(lines[number], max(most, _LEAST_TRIES))
            left -= len(tried)  # `x*` matches at every character, mostly nothing
            yield from (Span(number, start, end) for start, end in self._shown(lines[number], tried)[:most])

    def _shown(self, line: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if self._word:
            spans = [span for span in spans if _stands_alone(line, *span)] or [self._whole_word(line)]
        return [(start, end) for start, end in spans if start < end] or spans[:1]

    def _matches(self, line: str, most: int) -> list[tuple[int, int]]:
        data = line.encode()
        spans = [match.span() for match in islice(self._plain.finditer(data), most)]
        if len(data) == len(line):
            return spans
        return [(len(data[:start].decode("utf-8", "ignore")), len(data[:end].decode("utf-8", "ignore"))) for start, end in spans]

    def _whole_word(self, line: str) -> tuple[int, int]:
        """The first match that ends with words, where the matches that come first do not."""
        match = self._decisive.search(line)
        start, end = match.span() if match else (0, 0)
        while start < end and not _is_word(line[start]):
            start += 1
        return start, end


class _Block:
    """A literal of several lines. The first may begin and the last may end within a line of the text."""

    def __init__(self, wanted: str, *, case: bool, word: bool) -> None:
        edges = (rf"(?:\A|{_NO_WORD})", rf"(?:\z|{_NO_WORD})") if word else ("", "")
        self._regexp = _compile(edges[0] + "(" + re2.escape(wanted) + ")" + edges[1], case=case, over_lines=True)
        self.size = _size(self._regexp)

    def lines(self, text: str) -> list[int]:
        """See Matcher. Every line that a match stands on matches."""
        return list(dict.fromkeys(span.line for span in self.spans(text)))

    def lines_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """See Matcher."""
        return [self.lines(text) for text in texts]

    def spans(self, text: str) -> Iterator[Span]:
        """See Matcher. A match over several lines has a span on each."""
        line = start = 0
        for match in self._regexp.finditer(text):
            first, last = match.span(1)
            passed = text.count("\n", start, first)
            if passed:
                line, start = line + passed, text.rfind("\n", 0, first) + 1
            column = first - start
            # The line behind a last line end is not touched.
            for further, part in enumerate(text[first:last].removesuffix("\n").split("\n")):
                yield Span(line + further, column, column + len(part))
                column = 0


def _compile(pattern: str, *, case: bool, over_lines: bool = False) -> re2._Regexp:
    options = re2.Options()
    options.case_sensitive = case
    options.never_nl = not over_lines
    # With groups RE2 falls back to an automaton that takes 0.1 ms a byte for hostile patterns.
    options.never_capture = not over_lines
    options.log_errors = False
    memory, options.max_mem = options.max_mem, _MEMORY
    try:
        small = re2.compile(pattern, options)
        if small.programsize > LARGEST_PROGRAM:
            raise _too_large()
        options.max_mem = memory
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = _message(error)
        raise (
            _too_large() if reason.startswith("pattern too large") else InvalidRequest(f"not a pattern of RE2: {reason}", field="query")
        ) from None


def _too_large() -> InvalidRequest:
    return InvalidRequest("the pattern is too large: repeat less or fewer characters", field="query")


def _size(compiled: re2._Regexp) -> int:
    return max(int(compiled.programsize), int(compiled.reverseprogramsize))


def _message(error: re2.error) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)


def _stands_alone(line: str, start: int, end: int) -> bool:
    before, after = line[start - 1 : start] if start else "", line[end : end + 1]
    return not (_is_word(before) or _is_word(after))


def _is_word(character: str) -> bool:
    return bool(character) and re2.fullmatch(_NO_WORD, character) is None
