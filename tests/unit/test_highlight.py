from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Filters, Intent, Modality, RetrievalQuery
from app.domain.ranking import ChunkText, Evidence
from app.domain.words import query_terms
from app.search.highlight import LONGEST_SHOWN_LINE, highlights, snippet
from tests.unit.search_doubles import retrieval_query


def chunk(text: str, start_line: int = 10) -> ChunkText:
    return ChunkText(1, 1, 1, start_line, start_line + text.count("\n"), text, None)


def marked(text: str, query: RetrievalQuery) -> list[tuple[int, str]]:
    lines = text.split("\n")
    return [(mark.line, lines[mark.line - 10][mark.start : mark.end]) for mark in highlights(chunk(text), query)]


def literal(text: str, **filters: bool) -> RetrievalQuery:
    return retrieval_query(text, Intent.EXACT_MATCH, operands=(text,), literal=text, filters=Filters(**filters))  # type: ignore[arg-type]


def question(text: str, intent: Intent = Intent.UNDERSTAND_CODE, operands: tuple[str, ...] = ()) -> RetrievalQuery:
    return retrieval_query(text, intent, operands=operands, terms=query_terms(text, ["acme"], frozenset({"how", "is", "where", "who"})))


TEXT = "def parse(x):\n    # Parse it, reparse it\n    raise ValueError('x%_y')\n"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (literal("parse"), [(10, "parse"), (11, "parse")]),
        (literal("PARSE"), [(10, "parse"), (11, "Parse"), (11, "parse")]),
        (literal("PARSE", case=True), []),
        (literal("parse", case=False), [(10, "parse"), (11, "Parse"), (11, "parse")]),
        (literal("parse", word=True), [(10, "parse")]),
        (literal("parse", word=True, case=False), [(10, "parse"), (11, "Parse")]),
        (literal("it"), [(11, "it"), (11, "it")]),
        (literal("Parse"), [(11, "Parse")]),
        (literal("x%_y"), [(12, "x%_y")]),
        (literal("it\n    raise"), [(11, "it"), (12, "    raise")]),
        (literal(r"p.?rse", regex=True), [(10, "parse"), (11, "parse")]),
        (literal(r"(?i)p.?rse", regex=True), [(10, "parse"), (11, "Parse"), (11, "parse")]),
        (literal(r"x*", regex=True), [(10, "x"), (11, ""), (12, "x"), (13, "")]),
        (literal(r"^$", regex=True), [(13, "")]),
        (literal(r"^\s+raise", regex=True), [(12, "    raise")]),
        (literal("absent"), []),
    ],
)
def test_literals_and_patterns(query: RetrievalQuery, expected: list[tuple[int, str]]) -> None:
    assert marked(TEXT, query) == expected


def test_definitions_and_references_mark_the_name_as_a_word() -> None:
    assert marked(TEXT, question("where is parse defined", Intent.FIND_DEFINITION, ("parse",))) == [(10, "parse"), (11, "Parse")]
    assert marked("app.run()\nrunner.run_all()", question("who calls App.run", Intent.FIND_REFERENCES, ("App.run",))) == [(10, "run")]


def test_questions_mark_their_words() -> None:
    assert marked("class RequestParsing:\n    pass", question("how is a request parsed")) == [(10, "RequestParsing")]
    assert marked("# 用户身份验证", question("身份验证")) == [(10, "身份验证")]


def test_offsets_are_code_points() -> None:
    (mark,) = highlights(chunk("s = '😀é' + target"), literal("target"))
    assert (mark.start, mark.end) == (11, 17)


@given(st.text(st.sampled_from("abA \né"), max_size=60), st.text(st.sampled_from("abA\n"), min_size=1, max_size=4))
def test_every_line_with_the_literal_is_marked(text: str, wanted: str) -> None:
    marks = highlights(chunk(text), literal(wanted, case=True))
    lines = text.split("\n")
    if "\n" not in wanted:
        assert {mark.line - 10 for mark in marks} == {index for index, line in enumerate(lines) if wanted in line}
        assert all(wanted == lines[mark.line - 10][mark.start : mark.end] for mark in marks)
        assert len(marks) == sum(line.count(wanted) for line in lines)
    assert all(0 <= mark.start <= mark.end <= len(lines[mark.line - 10]) for mark in marks)


def test_a_literal_that_goes_on_in_another_chunk_is_marked_where_the_retriever_found_it() -> None:
    query, here = literal("it\nraise X\nand"), chunk("# Parse it\nraise X")
    assert highlights(here, query) == ()
    marks = highlights(here, query, [Evidence(Modality.TEXT, 1.0, "literal", line=line) for line in (10, 11)])
    assert [(mark.line, mark.start, mark.end) for mark in marks] == [(10, 0, 10), (11, 0, 7)]


def test_snippet_is_the_whole_chunk_by_default() -> None:
    shown = snippet(chunk(TEXT), (), (), None)
    assert (shown.text, shown.start_line, shown.truncated) == (TEXT, 10, False)


@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 60))
def test_snippet_holds_the_line_that_speaks_for_the_chunk(lines: int, most: int, evidence_line: int) -> None:
    source = chunk("\n".join(f"line {number}" for number in range(10, 10 + lines)))
    shown = snippet(source, (), (Evidence(Modality.GRAPH, 1.0, line=evidence_line),), most)
    text = shown.text.split("\n")
    assert len(text) == min(lines, most)
    assert text == [f"line {shown.start_line + index}" for index in range(len(text))]
    assert shown.truncated == (most < lines)
    if source.start_line <= evidence_line <= source.end_line:
        assert f"line {evidence_line}" in text


def test_a_long_line_is_shown_around_its_match() -> None:
    line = "x" * 5_000 + "needle" + "y" * 5_000
    marks = highlights(chunk(line), literal("needle"))
    shown = snippet(chunk(line), marks, (), None)
    assert "needle" in shown.text
    assert shown.truncated
    assert len(shown.text) == LONGEST_SHOWN_LINE + 2
    assert (marks[0].start, marks[0].end) == (5_000, 5_006)


def test_every_matching_line_is_marked_within_bounds() -> None:
    text = "\n".join(["e" * 150] * 30)
    for query in (literal("e"), literal("e", regex=True), literal("e|nothing", regex=True, word=False)):
        marks = highlights(chunk(text), query)
        assert {mark.line for mark in marks} == set(range(10, 40))
        assert len(marks) <= 200 + 30
        assert max(sum(mark.line == line for mark in marks) for line in range(10, 40)) == 100


def test_what_matches_nothing_first_is_still_marked_where_it_matches_something() -> None:
    assert marked("\n".join(["abcx"] * 60), literal("x*", regex=True)) == [(line, "x") for line in range(10, 70)]
