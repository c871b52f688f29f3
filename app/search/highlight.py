"""What of a chunk is shown, and which spans of it are marked as the reason.

A highlight's offsets are code points of the line as it stands in the file, also where the snippet shows only a part of that line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from app.domain.expression import ExpressionMatcher
from app.domain.matching import MOST_SPANS, Matcher, Span, matcher, most_in_a_line
from app.domain.query import Intent, RetrievalQuery
from app.domain.ranking import ChunkText, Evidence, Highlight
from app.domain.words import TermFinder, merge_spans

LONGEST_SHOWN_LINE: Final = 400
"""Code points; of a longer line the snippet shows the part around its first match."""

_BEFORE_MATCH: Final = 100
_LONGEST_READ_LINE: Final = 20_000  # words are looked for in that much of a line; literals in all of it
_LINE_END: Final = re.compile("\n")
_NAMING_INTENTS: Final = frozenset({Intent.FIND_DEFINITION, Intent.FIND_REFERENCES, Intent.IMPACT_ANALYSIS})

Spans = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Snippet:
    """The lines to show. ``truncated``: lines of the chunk, or parts of long lines, are left out."""

    text: str
    start_line: int
    truncated: bool


def highlights(chunk: ChunkText, query: RetrievalQuery, evidence: Sequence[Evidence] = ()) -> tuple[Highlight, ...]:
    """The spans of a chunk that answer the query, in order.

    Every line that matches a literal or a pattern has one; an empty one where nothing but a place matches, as ``^$`` does.
    """
    if query.literal is not None:
        return _marked(chunk, _literal_spans(chunk, query, evidence))
    lines = chunk.text.split("\n")
    names = _names(query)
    if names and query.classification.intent in _NAMING_INTENTS:
        by_name = _marked(chunk, _each_line(lines, range(len(lines)), lambda line: _name_spans(line, names)))
        if by_name:
            return by_name
    finder = TermFinder(frozenset(query.terms.terms))
    read = "\n".join([line[:_LONGEST_READ_LINE] for line in lines])
    said = finder.tokens(read)

    def find(line: str) -> Spans:
        return [*finder.spans(line, said), *_name_spans(line, names)]

    return _marked(chunk, _each_line(lines, range(len(lines)) if names else _lines_with(read, said), find))


def cost_of_marking(query: RetrievalQuery) -> int:
    """Instructions of RE2 for each byte of a chunk; 1 where a string is looked for, or words."""
    if query.literal is None:
        return 1
    return _matcher(query, any_case=query.filters.case is False).size


def snippet(chunk: ChunkText, marks: Sequence[Highlight], evidence: Sequence[Evidence], most_lines: int | None) -> Snippet:
    """At most ``most_lines`` lines of the chunk around the line that speaks for it."""
    lines = chunk.text.split("\n")
    first, last = 0, len(lines)
    if most_lines is not None and most_lines < len(lines):
        first = max(0, min(_focus(chunk, marks, evidence) - chunk.start_line - most_lines // 3, len(lines) - most_lines))
        last = first + most_lines
    first_match: dict[int, int] = {}
    for mark in marks:
        first_match.setdefault(mark.line, mark.start)
    shown = [_clip(line, first_match.get(chunk.start_line + first + i, 0)) for i, line in enumerate(lines[first:last])]
    truncated = last - first < len(lines) or shown != lines[first:last]
    return Snippet("\n".join(shown), chunk.start_line + first, truncated)


def _focus(chunk: ChunkText, marks: Sequence[Highlight], evidence: Sequence[Evidence]) -> int:
    candidates = [item.line for item in evidence if item.line is not None] + [mark.line for mark in marks]
    return next((line for line in candidates if chunk.start_line <= line <= chunk.end_line), chunk.start_line)


def _clip(line: str, match_start: int) -> str:
    if len(line) <= LONGEST_SHOWN_LINE:
        return line
    start = max(0, min(match_start - _BEFORE_MATCH, len(line) - LONGEST_SHOWN_LINE))
    end = start + LONGEST_SHOWN_LINE
    return ("…" if start else "") + line[start:end] + ("…" if end < len(line) else "")


def _marked(chunk: ChunkText, spans_by_line: Iterable[tuple[int, Spans]]) -> tuple[Highlight, ...]:
    marks: list[Highlight] = []
    for index, spans in spans_by_line:
        most = most_in_a_line(MOST_SPANS - len(marks))
        marks += (Highlight(chunk.start_line + index, start, end) for start, end in islice(spans, most))
    return tuple(marks)


def _each_line(lines: Sequence[str], at: Iterable[int], find: Callable[[str], Spans]) -> Iterator[tuple[int, Spans]]:
    for index in at:
        if spans := list(find(lines[index][:_LONGEST_READ_LINE])):
            yield index, merge_spans(spans)


def _lines_with(text: str, pieces: Iterable[str]) -> list[int]:
    """The lines of a text in which one of the pieces stands, ascending: far fewer than there are."""
    ends = [*(match.start() for match in _LINE_END.finditer(text)), len(text)]
    found = set()
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            line = bisect_left(ends, at)
            found.add(line)
            at = text.find(piece, ends[line])
    return sorted(found)


def _literal_spans(chunk: ChunkText, query: RetrievalQuery, evidence: Sequence[Evidence]) -> Iterator[tuple[int, Spans]]:
    """(index of the line, its spans), as the retriever has matched them: in the case given, or else in any."""
    spans = _matches(chunk.text, query, any_case=query.filters.case is False)
    if not spans and query.filters.case is None:
        spans = _matches(chunk.text, query, any_case=True)
    found: dict[int, list[tuple[int, int]]] = {}
    for line, start, end in spans:
        found.setdefault(line, []).append((start, end))
    if "\n" in (query.literal or ""):
        _add_torn_lines(found, chunk, query.literal or "", evidence)
    yield from sorted(found.items())


def _matches(text: str, query: RetrievalQuery, *, any_case: bool) -> list[Span]:
    return list(_matcher(query, any_case=any_case).spans(text))


def _matcher(query: RetrievalQuery, *, any_case: bool) -> Matcher:
    if query.expression is not None:
        return ExpressionMatcher(query.expression)
    return matcher(query.literal or "", regex=query.filters.regex, case=not any_case, word=query.filters.word)


def _add_torn_lines(found: dict[int, list[tuple[int, int]]], chunk: ChunkText, literal: str, evidence: Sequence[Evidence]) -> None:
    """Lines of a literal that goes on in the next chunk of the file: only the retriever has seen the whole of it."""
    lines = chunk.text.split("\n")
    first, *_, last = literal.split("\n")
    for index in sorted({item.line - chunk.start_line for item in evidence if item.line is not None}):
        if index in found or not 0 <= index < len(lines):
            continue
        line = lines[index]
        span = (0, len(line))
        if index == len(lines) - 1 and line.endswith(first):
            span = (len(line) - len(first), len(line))
        elif index == 0 and line.startswith(last):
            span = (0, len(last))
        found[index] = [span]


def _names(query: RetrievalQuery) -> list[str]:
    operands = query.classification.operands if query.classification.intent in _NAMING_INTENTS else ()
    names = [re.split(r"\.|::|#", operand.rstrip("()"))[-1] for operand in operands] + [last for _, last in query.terms.identifiers]
    return [name for name in dict.fromkeys(names) if name]


def _name_spans(line: str, names: Sequence[str]) -> Spans:
    if not names:
        return
    lowered = line.lower()
    if len(lowered) != len(line):  # İ and its like change length, and with it every offset
        lowered = line
    for name in names:
        wanted = name.lower() if lowered is not line else name
        start = lowered.find(wanted)
        while start != -1:
            end = start + len(wanted)
            if not _is_word(line[start - 1 : start]) and not _is_word(line[end : end + 1]):
                yield start, end
            start = lowered.find(wanted, end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
