"""What the index is asked for must hold for every text that the pattern matches."""

from __future__ import annotations

import pytest
import re2
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.domain.matching import matcher
from app.retrievers.required import ALWAYS, NEVER, AllOf, AnyOf, Atom, Condition, InOrder, literal_condition, pattern_condition
from app.retrievers.wanted import FEW, counted_strings, most_matching
from tests.unit.test_pattern_matching import TOKENS, compiled

PATTERNS = st.lists(
    st.sampled_from([*TOKENS, "(?P<n>", "(?<n>", "(?i:", "(?-i)", "??", "{2,}", "[]x]", r"[a\-c]", r"[\d-]", r"\141", r"\x{41}"])
)
TEXTS = st.text(st.sampled_from("aabbccSsſkKAß.-_ 1]x{}"), max_size=14)


def holds(condition: Condition, text: str) -> bool:
    """As LIKE and ILIKE decide."""
    if isinstance(condition, Atom):
        return "ſ" in text or condition.text.lower() in text.lower() if condition.any_case else condition.text in text
    if isinstance(condition, InOrder):
        at = 0
        for atom in condition.parts:
            if not atom.any_case:
                at = text.find(atom.text, at)
            elif "ſ" not in text:  # what lower() does to the other letters here keeps their number
                at = text.lower().find(atom.text.lower(), at)
            if at < 0:
                return False
            at += len(atom.text)
        return True
    return (all if isinstance(condition, AllOf) else any)(holds(part, text) for part in condition.parts)


@settings(max_examples=2_000, deadline=None)
@given(PATTERNS.map("".join), st.lists(TEXTS, min_size=10, max_size=20))
def test_no_match_is_kept_from_the_matcher(pattern: str, texts: list[str]) -> None:
    regexp = compiled(pattern) if pattern else None
    if regexp is None:
        return
    condition = pattern_condition(pattern, any_case=False)
    for text in texts:
        if regexp.search(text):
            assert holds(condition, text), (pattern, text, condition)


@settings(max_examples=500, deadline=None)
@given(PATTERNS.map("".join), st.lists(TEXTS, min_size=10, max_size=100).map("\n".join))
@example(r"[a\-c]", "\n\n\n\na\n--\n--\n--\n-a\n-a")
def test_no_more_lines_match_than_were_reckoned_with(pattern: str, text: str) -> None:
    if pattern and compiled(pattern) is not None:
        found = matcher(pattern, regex=True).lines(text)
        assert (
            len(found) <= most_matching(text, counted_strings(pattern_condition(pattern, any_case=False))) <= max(FEW, text.count("\n") + 1)
        )


def both(*texts: str, any_case: bool = False) -> InOrder:
    return InOrder(tuple(Atom(text, any_case) for text in texts))


def either(*texts: str, any_case: bool = False) -> AnyOf:
    return AnyOf(tuple(Atom(text, any_case) for text in texts))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"class \w+Admin\(", both("class ", "Admin(")),
        (r"^raise (Type|Value)Error$", either("raise TypeError", "raise ValueError")),
        (r"colou?r", either("color", "colour")),
        (r"[Tt]his", either("This", "this")),
        (r"(?i)get_(or|and)_create", either("get_and_create", "get_or_create", any_case=True)),
        (r"(?i:foo)\.bar", Atom("foo.bar", any_case=True)),
        (r"(?i)购物车", Atom("购物车")),
        (r"\bself\.\x41bc\b", Atom("self.Abc")),
        (r"\Qa.b*\E+c", both("a.b", "*", "c")),
        (r"(foo|.*)bar", Atom("bar")),
        (r"(ab){2,}c", both("abab", "c")),
        (r"a{3}b", Atom("aaab")),
        (r"foo\n?bar", Atom("foobar")),
        (r"foo\nbar", NEVER),
        (r"a\Q\E*b", ALWAYS),
        (r"foo.*foo.+(bar|baz)\d+end", AllOf((InOrder((Atom("foo"), Atom("foo"), Atom("end"))), either("bar", "baz")))),
        (r"one.(?i:Two).three", AllOf((both("one", "three"), Atom("Two", any_case=True)))),
        (r"(one.two.)+three", both("one", "two", "three")),
        (r"x*", ALWAYS),
        (r"\w+|foo", ALWAYS),
        (r"", ALWAYS),
    ],
)
def test_what_must_occur(pattern: str, expected: Condition) -> None:
    assert re2.compile(pattern) is not None
    assert pattern_condition(pattern, any_case=False) == expected


def test_few_questions_come_of_many_alternatives() -> None:
    condition = pattern_condition("|".join(f"(a|b|c)(d|e|f)(g|h)name{number}" for number in range(20)), any_case=False)
    assert isinstance(condition, AnyOf)
    assert len(condition.parts) <= 20


def test_deep_nesting_is_no_condition() -> None:
    assert pattern_condition("(" * 400 + "abc" + ")" * 400, any_case=False) == ALWAYS


def test_a_literal_is_its_own_condition() -> None:
    assert literal_condition("100%_\\", any_case=False) == Atom("100%_\\")
    assert literal_condition("x" * 5_000, any_case=True) == Atom("x" * 60, any_case=True)
