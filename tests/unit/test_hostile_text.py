"""Text that makes a pattern try again and again takes the time that its length takes, and is no fault."""

from __future__ import annotations

from contextlib import suppress

import pytest

from app.domain.errors import FourfoldError
from app.domain.query import SearchRequest
from app.domain.words import query_terms
from app.http.schemas.fields import MAX_QUERY
from app.indexing.manifests import manifest_imports
from app.search.classify import load_classifier, stop_words
from app.search.parse import parse
from app.search.profiles import load_profiles
from app.search.route import route

PARTS = (
    *("a", "A", "K", "_", "-", ".", "/", "\\", "0", "1", "=", ":", "#", "@", "$", "~", "*", "é", "あ", "\u0301", "ſ", "\u202e"),
    *("aA", "AB", "ABc", "A1", "a.", "a:", "a/", "./", "a-", "a_", "あa", "a::b", "a#b.", "x.y.", "->", "a->", "//", "/*", "**", "?a*"),
    *('"', '"a', '\\"', "'", "'a", "`", "(", "((", ")", "()", "a()", "a(b)", "{", "${", "[", "[a-", "[!a]", "](", "<", "<a"),
    *("a ", "or ", "a or ", "(a or b) ", "(a ", "-a ", '-"a" ', "-(a) ", "who calls ", "where is a defined ", "how ", "購物 ", "x's "),
    *(
        "repo:",
        "repo:a ",
        "lang:a ",
        "-file:a ",
        "file:**/*a",
        "file:*a*",
        "file:[a] ",
        "regex:/a",
        "regex:/a/ ",
        "/a/",
        "/a ",
        "case:yes ",
    ),
    *("def a(", "import a\n", "Error: a\n", "at a (b:1:2)\n", 'File "a", line 1\n', "http://", "\t", "a\t", "a\r\n"),
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("part", PARTS)
def test_a_long_question_is_read_in_one_go(part: str) -> None:
    asked = SearchRequest((part * MAX_QUERY)[:MAX_QUERY])
    with suppress(FourfoldError):
        parsed = parse(asked)
        classification = load_classifier().classify(parsed.text)
        route(classification, asked, parsed, load_profiles())
        query_terms(classification.operands[0] if classification.operands else parsed.text, ["shop"], stop_words())


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ['\\"', '"', "/*", "//", "/", ",", ", ", "[", "{", '{"a":', "module ", "\\", '"a\n'])
@pytest.mark.parametrize("name", ["package.json", "tsconfig.json", "go.mod"])
def test_a_long_project_file_is_read_in_one_go(name: str, part: str) -> None:
    assert len(manifest_imports(name, part * (200_000 // len(part)))) <= 1
