"""What of a chunk is shown, and which spans of it are marked as the reason.

A highlight's offsets are code points of the line as it stands in the file, also where the snippet shows only a part of that line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import re2

from app.domain.query import Intent, RetrievalQuery
from app.domain.ranking import ChunkText, Evidence, Highlight
from app.domain.words import merge_spans, term_spans

LONGEST_SHOWN_LINE: Final = 400
"""Code points; of a longer line the snippet shows the part around its first match."""

_BEFORE_MATCH: Final = 100
_LONGEST_READ_LINE: Final = 20_000  # words are looked for in that much of a line; literals in all of it
_MOST_PER_LINE: Final = 50
_NAMING_INTENTS: Final = frozenset({Intent.FIND_DEFINITION, Intent.FIND_REFERENCES, Intent.IMPACT_ANALYSIS})

Spans = Iterable[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Snippet:
    """The lines to show. ``truncated``: lines of the chunk, or parts of long lines, are left out."""

    text: str
    start_line: int
    truncated: bool


def highlights(chunk: ChunkText, query: RetrievalQuery) -> tuple[Highlight, ...]:
    """The spans of a chunk that answer the query, in order; every line that matches a literal or a pattern has one."""
    lines = chunk.text.split("\n")
    if query.literal is not None:
        return _marked(chunk, _literal_spans(chunk.text, query))
    names = _names(query)
    by_name = _marked(chunk, _each_line(lines, lambda line: _name_spans(line, names)))
    if by_name and query.classification.intent in _NAMING_INTENTS:
        return by_name
    return _marked(chunk, _each_line(lines, lambda line: [*term_spans(line, query.terms.terms), *_name_spans(line, names)]))


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
    return tuple(
        Highlight(chunk.start_line + index, start, end)
        for index, spans in spans_by_line
        for start, end in merge_spans(spans)[:_MOST_PER_LINE]
        if end > start
    )


def _each_line(lines: Sequence[str], find: Callable[[str], Spans]) -> Iterator[tuple[int, Spans]]:
    return ((index, find(line[:_LONGEST_READ_LINE])) for index, line in enumerate(lines))


def _literal_spans(text: str, query: RetrievalQuery) -> Iterator[tuple[int, Spans]]:
    """(index of the line, its spans); a literal of several lines marks a part of each."""
    lines = text.split("\n")
    if query.filters.regex:
        pattern = _re2_pattern(query.literal or "", case=query.filters.case, word=query.filters.word)
        yield from ((index, [match.span() for match in pattern.finditer(line)]) for index, line in enumerate(lines))
        return
    found = iter(_occurrences(text, query))
    span = next(found, None)
    start = 0
    for index, line in enumerate(lines):
        end = start + len(line)
        here: list[tuple[int, int]] = []
        while span is not None and span[0] <= end:
            here.append((max(span[0], start) - start, min(span[1], end) - start))
            if span[1] > end + 1:
                break
            span = next(found, None)
        yield index, here
        start = end + 1


def _occurrences(text: str, query: RetrievalQuery) -> list[tuple[int, int]]:
    """In the case given; in any case when the literal has no capital, or when that is how the chunk was found."""
    literal = query.literal or ""
    escaped = rf"(?<!\w){re.escape(literal)}(?!\w)" if query.filters.word else re.escape(literal)
    as_given = [match.span() for match in re.finditer(escaped, text)]
    if query.filters.case or (as_given and literal != literal.lower()):
        return as_given
    return [match.span() for match in re.finditer(escaped, text, re.IGNORECASE)]


def _re2_pattern(pattern: str, *, case: bool, word: bool) -> re2._Regexp:
    options = re2.Options()
    options.case_sensitive = case
    options.log_errors = False
    return re2.compile(rf"\b(?:{pattern})\b" if word else pattern, options)


def _names(query: RetrievalQuery) -> list[str]:
    operands = query.classification.operands if query.classification.intent in _NAMING_INTENTS else ()
    names = [re.split(r"\.|::|#", operand.rstrip("()"))[-1] for operand in operands] + [last for _, last in query.terms.identifiers]
    return [name for name in dict.fromkeys(names) if name]


def _name_spans(line: str, names: Sequence[str]) -> Spans:
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
