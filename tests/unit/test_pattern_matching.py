"""The matcher against the plain definition: RE2, or ``in``, on every line by itself."""

from __future__ import annotations

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidRequest
from app.domain.matching import LARGEST_PROGRAM, Span, matcher

TOKENS = [
    *(
        "a",
        "b",
        "S",
        "k",
        "ß",
        ".",
        r"\.",
        "-",
        "_",
        " ",
        "*",
        "+",
        "?",
        "{2}",
        "{1,3}",
        "{0}",
        "|",
        "(",
        ")",
        "(?:",
        "(?i)",
        "(?s)",
        "(?U)",
    ),
    *(
        "(?m)",
        "(?-m)",
        "(?-m:",
        "[ab]",
        "[^a]",
        "[a-c]",
        r"[^\n]",
        "[[:^alpha:]]",
        r"\w",
        r"\W",
        r"\D",
        r"\s",
        r"\S",
        r"\b",
        r"\B",
        "^",
        "$",
    ),
    *(r"\A", r"\z", r"\Q", r"\E", r"\n", r"\x0a", r"\pL", r"\PL"),
]
PATTERNS = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=7).map("".join)
TEXTS = st.text(st.sampled_from("aabbccSskKſß.-_ 1\n\n"), max_size=30)


def compiled(pattern: str) -> re2._Regexp | None:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error:
        return None


@settings(max_examples=1_500, deadline=None)
@given(PATTERNS, st.lists(TEXTS, min_size=5, max_size=10))
def test_a_text_is_matched_as_its_lines_are(pattern: str, texts: list[str]) -> None:
    regexp = compiled(pattern)
    if regexp is None:
        with pytest.raises(InvalidRequest):
            matcher(pattern, regex=True)
        return
    found_by = matcher(pattern, regex=True)
    for text in texts:
        lines = text.split("\n")
        expected = [number for number, line in enumerate(lines) if regexp.search(line)]
        assert found_by.lines(text) == expected, (pattern, text)
        spans = list(found_by.spans(text))
        assert sorted({span.line for span in spans}) == expected
        assert all(0 <= span.start <= span.end <= len(lines[span.line]) for span in spans)


@settings(max_examples=500, deadline=None)
@given(PATTERNS, st.lists(TEXTS, max_size=10), st.booleans(), st.booleans(), st.booleans())
def test_many_texts_are_matched_as_each_is(pattern: str, texts: list[str], regex: bool, case: bool, word: bool) -> None:
    if not regex or compiled(pattern) is not None:
        found_by = matcher(pattern, regex=regex, case=case, word=word)
        assert found_by.lines_of_each(texts) == [found_by.lines(text) for text in texts]


@given(TEXTS, st.text(st.sampled_from("abS\nß"), min_size=1, max_size=4))
def test_a_literal_is_on_the_lines_that_hold_it(text: str, wanted: str) -> None:
    found_by = matcher(wanted, regex=False)
    spans = list(found_by.spans(text))
    if "\n" not in wanted:
        lines = text.split("\n")
        assert found_by.lines(text) == [number for number, line in enumerate(lines) if wanted in line]
        assert len(spans) == sum(line.count(wanted) for line in lines)
        assert all(lines[span.line][span.start : span.end] == wanted for span in spans)
    else:
        assert bool(spans) == (wanted in text)


@pytest.mark.parametrize(
    ("wanted", "text", "expected"),
    [
        ("ß\nb", "aß\nbc\nß\nb", [(0, 1, 2), (1, 0, 1), (2, 0, 1), (3, 0, 1)]),
        ("b\n", "ab\nab\nb", [(0, 1, 2), (1, 1, 2)]),
        ("\nb", "a\nb", [(0, 1, 1), (1, 0, 1)]),
        ("a\n\nb", "a\n\nb", [(0, 0, 1), (1, 0, 0), (2, 0, 1)]),
    ],
)
def test_a_literal_of_several_lines_has_a_span_on_each(wanted: str, text: str, expected: list[tuple[int, int, int]]) -> None:
    assert list(matcher(wanted, regex=False).spans(text)) == [Span(*span) for span in expected]


@pytest.mark.parametrize(
    ("wanted", "regex", "line", "spans"),
    [
        ("cat", False, "cat concat cat_ (cat)", [(0, 3), (17, 20)]),
        ("cat", False, "concat", []),
        ("-x", False, "a -x a-x -xy", [(2, 4)]),
        ("get.*", True, "to_get get_one", [(7, 14)]),
        ("été", False, "été étés (été)", [(0, 3), (10, 13)]),
        ("a|ab", True, "ab", [(0, 2)]),
        (r"\Qa+", True, "a+ ba+", [(0, 2)]),
    ],
)
def test_whole_words(wanted: str, regex: bool, line: str, spans: list[tuple[int, int]]) -> None:
    assert [(span.start, span.end) for span in matcher(wanted, regex=regex, word=True).spans(line)] == spans


def test_case() -> None:
    text = "Straße STRASSE straſse K \u212a"
    assert len(list(matcher("strasse", regex=False, case=False).spans(text))) == 2
    assert len(list(matcher("k", regex=False, case=False).spans(text))) == 2
    assert len(list(matcher("k", regex=True, case=True).spans(text))) == 0


@pytest.mark.parametrize(
    "pattern", ["([", "a**", "(?=a)", r"\1", "a{1001}", "(?P<n>", "\\", "a)|(b", "(?:a", "[b-a]", r"a\C", r"(?:\pL{1,1000})"]
)
def test_what_re2_refuses_is_told(pattern: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        matcher(pattern, regex=True)
    assert caught.value.field == "query"


def test_a_program_that_could_take_long_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="too large"):
        matcher("|".join(f"a{number}[x-z]{{900}}" for number in range(LARGEST_PROGRAM // 900 + 1)), regex=True)


def test_hostile_patterns_take_linear_time() -> None:
    text = "a" * 50_000 + "\n" + "x" * 50_000
    for pattern in (r"(a+)+$b", r"(x+x+)+y", r"(a|a)*c", r"(.*)(.*)(.*)(.*)q", r"([a-h]|a|aa){200}q"):
        assert matcher(pattern, regex=True).lines(text) == []
