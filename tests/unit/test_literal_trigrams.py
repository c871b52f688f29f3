from __future__ import annotations

import pytest
import re2

from app.retrievers.required import ALWAYS, NEVER, AllOf, AnyOf, Atom, InOrder, pattern_condition
from app.retrievers.trigrams import has_trigram, is_indexed, to_sql, worth_asking
from app.storage.like import containing
from app.storage.tables import ODD_CASE


@pytest.mark.parametrize("literal", ["abc", "(a", "(ab", "ab(", "a b", "a_b", "_a", "ab_", " x", "ß中文", "中文(", "购物车", "x 1"])
def test_a_trigram(literal: str) -> None:
    assert has_trigram(literal)


@pytest.mark.parametrize("literal", ["a", "ab", "a(", "b_", "=> ", "==", "= >", "_", "中文", "🛒", "🛒a", "é", "((", "%%%"])
def test_no_trigram(literal: str) -> None:
    assert not has_trigram(literal)


def test_wildcards_of_like_are_escaped() -> None:
    assert containing(r"100%_\d") == r"%100\%\_\\d%"


@pytest.mark.parametrize(
    ("pattern", "indexed"),
    [("foo|bar", True), ("foo|ba", False), ("fo.*bar", True), ("fo.*ba", False), ("[xyz]+", False), ("(?i)foo", True), ("foo?", False)],
)
def test_every_alternative_needs_a_trigram(pattern: str, indexed: bool) -> None:
    assert is_indexed(pattern_condition(pattern, any_case=False)) is indexed


def test_only_what_narrows_is_asked_for() -> None:
    condition = pattern_condition(r"x.*import.*=.*parse_config.*y.*class.*register", any_case=False)
    assert worth_asking(condition) == InOrder((Atom("import"), Atom("parse_config"), Atom("register")))
    assert worth_asking(pattern_condition("a.*b", any_case=False)) == InOrder((Atom("a"), Atom("b")))


def test_conditions_become_sql_with_parameters() -> None:
    condition = AllOf((Atom("a_b"), AnyOf((Atom("C"), Atom("'; --")))))
    assert to_sql(condition, "k.text", 3) == ("(k.text LIKE $3 AND (k.text LIKE $4 OR k.text LIKE $5))", [r"%a\_b%", "%C%", "%'; --%"])
    assert to_sql(Atom("C", any_case=True), "k.text", 2) == (f"(k.text ILIKE $2 OR k.text ~ '{ODD_CASE}')", ["%C%"])
    assert to_sql(InOrder((Atom("a_b"), Atom("%"))), "k.text", 3) == ("k.text LIKE $3", [r"%a\_b%\%%"])
    assert to_sql(ALWAYS, "k.text", 1) == ("true", [])
    assert to_sql(NEVER, "k.text", 1) == ("false", [])


def test_odd_cases_are_those_that_lower_tells_apart_and_re2_does_not() -> None:
    alike: dict[str, set[str]] = {}
    for code in range(0x110000):
        character = chr(code)
        folded = character.casefold()
        alike.setdefault(folded if len(folded) == 1 else character, set()).add(character)
    pattern = re2.Options()
    pattern.case_sensitive = False
    odd = {
        character
        for folded, characters in alike.items()
        if len({each.lower() for each in characters}) > 1
        for character in characters
        if character.lower() != folded.lower() and re2.compile(re2.escape(folded), pattern).fullmatch(character)
    }
    assert odd
    assert odd <= set(ODD_CASE)
    assert all(character.lower() != character.casefold().lower() for character in ODD_CASE.strip("[]"))
