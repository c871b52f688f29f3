"""What is understood of a query text, and that nothing makes it raise."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidRequest
from app.domain.expression import And, Expression, ExpressionMatcher, Not, Or, Term, holds, terms, written
from app.domain.query import Filters, SearchRequest
from app.search.parse import MOST_TERMS, MOST_TOLD, MOST_VALUES, parse
from app.search.query_language import filters_like, understand


def said(query: str) -> tuple[str, dict[str, Any], str | None]:
    found = understand(query, Filters())
    changed = {item.name: getattr(found.filters, item.name) for item in fields(Filters) if getattr(found.filters, item.name)}
    return found.text, changed, written(found.expression) if found.expression is not None else None


@pytest.mark.parametrize(
    "query",
    [
        "who calls parse_config",
        "std::vector<int> x: y",
        "http://localhost:8000/a?b=c",
        "file:///etc/passwd",
        "lang: go",
        "lang:",
        "word:maybe kind:thing case:perhaps -kind:class -symbol:x",
        'print("a: b',
        '"unbalanced',
        "foo 'bar' baz",
        "create or delete a user",
        "how to do x (sync or async)?",
        "INSERT OR REPLACE INTO t",
        "ls -l --all -1 -",
        "f(a) - g(b)",
        "((((",
        "a (b",
        "a )b(",
        "or",
        "x or",
        "or or or",
        "-alone",
        "repo:a\nlang:b",
        '"repo:a"',
        "regex:/(unterminated",
        "C:\\path\\file.txt:10:5",
    ],
)
def test_a_question_stays_as_it_is(query: str) -> None:
    assert said(query) == (query, {}, None)


@pytest.mark.parametrize(
    ("query", "text", "filters"),
    [
        ("how are routes mounted lang:go", "how are routes mounted", {"languages": ("go",)}),
        ("LANG:Go,rust x", "x", {"languages": ("go", "rust")}),
        ("-lang:go x", "x", {"languages": ("!go",)}),
        ("repo:fl* -repo:old x", "x", {"repositories": ("fl*", "!old")}),
        ('file:src/** -file:"my dir/*" x', "x", {"paths": ("src/**", "!my dir/*")}),
        ("symbol:Foo* kind:class,function", "", {"symbols": ("Foo*",), "kinds": ("class", "function")}),
        ("rev:main case:yes word:yes x", "x", {"revision": "main", "case": True, "word": True}),
        ('sign cookies -test -"old api"', "sign cookies", {"without": ("test", "old api")}),
        ('"two words" lang:go', '"two words"', {"languages": ("go",)}),
        ("lang:go or lang:rust x", "x", {"languages": ("go", "rust")}),
        ("(lang:go or lang:rust) x", "x", {"languages": ("go", "rust")}),
        ("a   b lang:go  c", "a   b c", {"languages": ("go",)}),
        ("kind:thing x lang:go", "kind:thing x", {"languages": ("go",)}),
        ("lang:go -alone", "", {"languages": ("go",), "without": ("alone",)}),
    ],
)
def test_filters_and_exclusions(query: str, text: str, filters: dict[str, Any]) -> None:
    assert said(query) == (text, filters, None)


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("foo or bar", '"foo" or "bar"'),
        ("foo OR bar baz", '"foo" or "bar" "baz"'),
        ('"a b" or c', '"a b" or "c"'),
        ("(foo or bar) baz", '("foo" or "bar") "baz"'),
        ('"x" "y"', '"x" "y"'),
        ("-(foo or bar) baz", '-("foo" or "bar") "baz"'),
        (r"regex:/fo+\/x/ or y", r'regex:/fo+\/x/ or "y"'),
        ("regex:/a b/ c", 'regex:/a b/ "c"'),
        ("f(x) or g(y)", '"f(x)" or "g(y)"'),
        (r'"say \"hi\"" or b', r'"say \"hi\"" or "b"'),
    ],
)
def test_expressions(query: str, expression: str) -> None:
    assert said(query)[2] == expression
    assert said(expression)[2] == expression


def test_a_pattern_alone_is_the_whole_query() -> None:
    parsed = parse(SearchRequest("regex:/fo+ bar/ lang:go"))
    assert (parsed.text, parsed.literal, parsed.expression, parsed.filters.regex) == ("fo+ bar", True, None, True)


def test_strings_are_excluded_outside_the_expression() -> None:
    assert said("foo or bar -baz")[2] == '"foo" or "bar" -"baz"'
    assert said("(foo or bar) -baz")[1:] == ({"without": ("baz",)}, '"foo" or "bar"')


def test_literal_switches_the_syntax_off() -> None:
    parsed = parse(SearchRequest("lang:go foo or bar", literal=True))
    assert (parsed.text, parsed.filters.languages, parsed.expression) == ("lang:go foo or bar", (), None)


def test_what_is_no_filter_is_told() -> None:
    assert [warning.code for warning in parse(SearchRequest("kind:thing x")).warnings] == ["not_a_filter"]
    assert [warning.code for warning in parse(SearchRequest("a or lang:go")).warnings] == []
    assert [warning.code for warning in parse(SearchRequest("regex:/a/ or lang:go b")).warnings] == ["filters_hold_everywhere"]


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("language:go x", ["lang"]),
        ("x path:src/**", ["file"]),
        ("repos:flask", ["repo"]),
        ("symbl:Flask", ["symbol"]),
        ("-branch:main x", ["rev"]),
        ("image:latest", []),
    ],
)
def test_a_word_that_looks_like_a_filter_is_told(query: str, near: list[str]) -> None:
    said = understand(query, Filters())
    (unknown,) = said.unknown
    assert (said.filters.languages, filters_like(unknown)) == ((), near)
    assert [warning.code for warning in parse(SearchRequest(query)).warnings] == ["unknown_filter"]


@pytest.mark.parametrize(
    "query",
    [
        *(
            "std::sort",
            "http://localhost:8000/x",
            "localhost:8000",
            "app.py:10",
            "C:\\dir",
            "TypeError:x",
            "a:b",
            "error: no such file",
            "lang:go x",
        ),
        *('"language:go"', "language:", "x ? y : z", "f(a:b)", "{key:value}", "Foo::bar", "words:\nmore"),
    ],
)
def test_what_is_written_otherwise_is_no_filter(query: str) -> None:
    assert [warning.code for warning in parse(SearchRequest(query)).warnings] == []


def test_warnings_of_one_kind_are_few() -> None:
    assert len(parse(SearchRequest("kind:thing " * 50 + "path:x " * 50)).warnings) == 2 * MOST_TOLD


def test_filters_alone_list_what_passes() -> None:
    assert parse(SearchRequest("kind:class")).listing
    assert (parse(SearchRequest("file:*.py")).listing, parse(SearchRequest("file:*.py")).literal) == (True, True)


def test_the_case_of_words_literals_and_patterns() -> None:
    def cases(query: str) -> list[bool]:
        expression = understand(query, Filters()).expression
        assert expression is not None
        return [term.any_case for term in terms(expression)]

    assert cases('foo or "bar" or regex:/baz/') == [True, False, False]
    assert cases('foo or "bar" case:yes') == [False, False]
    assert cases('foo or "bar" case:no') == [True, True]


@pytest.mark.parametrize("query", ["regex:/(/", "regex:/a/ or regex:/[/", " or ".join(f"t{i}" for i in range(MOST_TERMS + 1))])
def test_what_cannot_be_looked_for_is_refused(query: str) -> None:
    with pytest.raises(InvalidRequest):
        parse(SearchRequest(query))


PIECES = st.sampled_from(
    [
        "foo",
        "or",
        "OR",
        "(",
        ")",
        '"',
        '"a b"',
        "-",
        "-bar",
        "lang:go",
        "-file:x",
        "regex:/a/",
        "regex:/",
        "kind:",
        "\\",
        "é",
        " ",
        ":",
        "/",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES, max_size=30).map(" ".join), st.lists(PIECES, max_size=30).map("".join)))
def test_any_text_is_understood(query: str) -> None:
    found = understand(query, Filters())
    if found.filters == Filters() and found.expression is None:
        assert found.text == query


TREES: st.SearchStrategy[Expression] = st.recursive(
    st.sampled_from([Term("a"), Term("b"), Term("B", any_case=True), Term("b.", regex=True)]),
    lambda part: st.one_of(
        part.map(Not),
        st.lists(part, min_size=1, max_size=3).map(lambda p: And(tuple(p))),
        st.lists(part, min_size=1, max_size=3).map(lambda p: Or(tuple(p))),
    ),
    max_leaves=8,
)


@given(TREES, st.text("abBc\n", max_size=12))
def test_a_text_matches_on_the_lines_that_speak_for_it(tree: Expression, text: str) -> None:
    matcher = ExpressionMatcher(tree)
    lines = matcher.lines(text)
    assert bool(lines) == holds(tree, text)
    assert {span.line for span in matcher.spans(text)} <= set(lines)


def test_the_text_may_have_as_many_values_of_a_filter_as_a_field() -> None:
    parse(SearchRequest(" ".join(f"file:a{number}" for number in range(MOST_VALUES))))
    for query in (
        " ".join(f"file:a{number}" for number in range(MOST_VALUES + 1)),
        "lang:" + ",".join(f"l{number}" for number in range(MOST_VALUES + 1)),
        "x " + " ".join(f"-word{number}" for number in range(MOST_VALUES + 1)),
        " ".join(f"symbol:*{number}" for number in range(MOST_VALUES + 1)),
    ):
        with pytest.raises(InvalidRequest) as refused:
            parse(SearchRequest(query))
        assert refused.value.field == "query"
    with pytest.raises(InvalidRequest) as refused:
        parse(SearchRequest("x", filters=Filters(paths=("*a" * 60,) * 99)))
    assert refused.value.field == "filters.paths"


def test_patterns_may_be_large_alone_but_not_together() -> None:
    large = "regex:/" + "[a-z]{900}\\\\d{900}" + "/"
    assert parse(SearchRequest(large)).filters.regex
    with pytest.raises(InvalidRequest, match="together"):
        parse(SearchRequest(" or ".join([large.replace("900", str(900 - number)) for number in range(20)])))
