from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.domain.code import Chunk, Symbol, SymbolKind
from app.indexing.chunk import chunk, chunk_of_line, split_lines

LINES, BYTES = 40, 1_500


def symbol(start: int, end: int, kind: SymbolKind = SymbolKind.FUNCTION) -> Symbol:
    return Symbol("name", "name", kind, start, end, start, 0, "", "", True, None)


def spans(chunks: Sequence[Chunk]) -> list[tuple[int, int]]:
    return [(piece.start_line, piece.end_line) for piece in chunks]


def numbered(count: int, width: int = 10) -> list[str]:
    return [f"x{number}".ljust(width, ".") for number in range(1, count + 1)]


def test_an_empty_text_has_no_lines_and_no_chunk() -> None:
    assert split_lines("") == []
    assert chunk("", [], LINES, BYTES) == ()


def test_a_final_line_end_begins_no_line() -> None:
    assert split_lines("a\nb") == split_lines("a\nb\n") == ["a", "b"]
    assert chunk("a\nb\n", [], LINES, BYTES) == (Chunk(1, 2, "a\nb"),)
    assert chunk("\n", [], LINES, BYTES) == (Chunk(1, 1, ""),)
    assert chunk("\n\n", [], LINES, BYTES) == (Chunk(1, 2, "\n"),)


def test_only_line_feeds_end_lines() -> None:
    assert split_lines("a\x0bb\x0cc\x85d\u2028e\x1cf") == ["a\x0bb\x0cc\x85d\u2028e\x1cf"]


def test_small_definitions_share_a_chunk_and_larger_ones_begin_their_own() -> None:
    text = "\n".join(numbered(100))
    symbols = [symbol(5, 14), symbol(15, 34), symbol(35, 64), symbol(65, 100)]
    assert spans(chunk(text, symbols, LINES, BYTES)) == [(1, 34), (35, 64), (65, 100)]


def test_variables_begin_no_chunk() -> None:
    text = "\n".join(numbered(60))
    kinds = [SymbolKind.VARIABLE, SymbolKind.FIELD, SymbolKind.CONSTANT, SymbolKind.ENUM_MEMBER]
    cuts = spans(chunk(text, [symbol(25, 25, kind) for kind in kinds], LINES, BYTES))
    assert 25 not in {start for start, _ in cuts}


def test_decorators_and_comments_right_above_move_along() -> None:
    above = ["@decorated", "# why", "// why", "/* why", " * why", " */", "-- why", "#[test]", "[Fact]", "/// doc"]
    body = numbered(30)
    lines = [*body, "", *above, "def f():", *body]
    start = len(body) + len(above) + 2
    assert spans(chunk("\n".join(lines), [symbol(1, 30), symbol(start, len(lines))], 45, 10_000)) == [(1, 31), (32, len(lines))]


def test_a_comment_apart_stays_where_it_is() -> None:
    lines = [*numbered(30), "# about the above", "", "def f():", *numbered(30)]
    assert spans(chunk("\n".join(lines), [symbol(1, 30), symbol(33, 63)], LINES, 10_000)) == [(1, 32), (33, 63)]


def test_a_long_definition_is_split_at_a_blank_line_and_then_where_it_steps_out() -> None:
    blank = ["def f():", *["    x"] * 28, "", *["    y"] * 30]
    assert spans(chunk("\n".join(blank), [symbol(1, 60)], LINES, BYTES)) == [(1, 30), (31, 60)]
    dedent = ["def f():", "    for a in b:", *["        x"] * 28, "    z", *["        y"] * 30]
    assert spans(chunk("\n".join(dedent), [symbol(1, 61)], LINES, BYTES)) == [(1, 30), (31, 61)]
    closing = ["function f() {", "  if (a) {", *["    x"] * 28, "  } else {", *["    y"] * 20, "  }", "  z", *["    y"] * 20, "}"]
    assert not any(
        split_lines("\n".join(closing))[start - 1].strip().startswith("}") for start, _ in spans(chunk("\n".join(closing), [], 40, BYTES))
    )


def test_bytes_are_counted_as_utf8() -> None:
    lines = ["日" * 100] * 12  # 300 bytes each
    assert spans(chunk("\n".join(lines), [], LINES, BYTES)) == [(1, 4), (5, 8), (9, 12)]


def test_a_longer_line_is_a_chunk_of_its_own() -> None:
    text = "\n".join(["a", "b" * 5_000_000, "c"])
    assert spans(chunk(text, [], LINES, BYTES)) == [(1, 1), (2, 2), (3, 3)]


def test_chunk_of_line() -> None:
    chunks = chunk("\n".join(numbered(100)), [], LINES, 10_000)
    for line in range(1, 101):
        piece = chunks[chunk_of_line(chunks, line)]
        assert piece.start_line <= line <= piece.end_line
    assert chunk_of_line(chunks, 500) == len(chunks) - 1


TEXTS = st.lists(
    st.one_of(
        st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=60),
        st.sampled_from(["", "    x = 1", "@route", "# note", "}", "  end", "x" * 300, "é" * 200]),
    ),
    max_size=150,
).map("\n".join)
SYMBOLS = st.lists(st.builds(symbol, st.integers(1, 200), st.integers(1, 200), st.sampled_from(SymbolKind)), max_size=30)


@given(TEXTS, SYMBOLS, st.integers(1, 50), st.integers(50, 2_000), st.booleans())
def test_every_line_is_in_exactly_one_chunk_within_the_bounds(
    text: str, symbols: list[Symbol], max_lines: int, max_bytes: int, final_line_end: bool
) -> None:
    text += "\n" if final_line_end and text else ""
    lines = split_lines(text)
    chunks = chunk(text, symbols, max_lines, max_bytes)
    assert [line for piece in chunks for line in piece.text.split("\n")] == lines
    next_line = 1
    for piece in chunks:
        assert piece.start_line == next_line <= piece.end_line
        assert piece.text == "\n".join(lines[piece.start_line - 1 : piece.end_line])
        next_line = piece.end_line + 1
        if piece.end_line > piece.start_line:
            assert piece.end_line - piece.start_line < max_lines
            assert len(piece.text.encode()) <= max_bytes
    assert next_line == len(lines) + 1


@given(TEXTS, SYMBOLS)
def test_neighbours_that_fit_are_merged(text: str, symbols: list[Symbol]) -> None:
    chunks = chunk(text, symbols, LINES, BYTES)
    for left, right in pairwise(chunks):
        assert right.end_line - left.start_line >= LINES or len(f"{left.text}\n{right.text}".encode()) > BYTES
