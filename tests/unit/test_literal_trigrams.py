from __future__ import annotations

import pytest

from app.retrievers.required import ALWAYS, NEVER, AllOf, AnyOf, Atom, pattern_condition
from app.retrievers.trigrams import has_trigram, is_indexed, like_pattern, to_sql, worth_asking


@pytest.mark.parametrize("literal", ["abc", "(a", "(ab", "ab(", "a b", "a_b", "_a", "ab_", " x", "ß中文", "中文(", "购物车", "x 1"])
def test_a_trigram(literal: str) -> None:
    assert has_trigram(literal)


@pytest.mark.parametrize("literal", ["a", "ab", "a(", "b_", "=> ", "==", "= >", "_", "中文", "🛒", "🛒a", "é", "((", "%%%"])
def test_no_trigram(literal: str) -> None:
    assert not has_trigram(literal)


def test_wildcards_of_like_are_escaped() -> None:
    assert like_pattern(r"100%_\d") == r"%100\%\_\\d%"


@pytest.mark.parametrize(
    ("pattern", "indexed"),
    [("foo|bar", True), ("foo|ba", False), ("fo.*bar", True), ("fo.*ba", False), ("[xyz]+", False), ("(?i)foo", True), ("foo?", False)],
)
def test_every_alternative_needs_a_trigram(pattern: str, indexed: bool) -> None:
    assert is_indexed(pattern_condition(pattern, any_case=False)) is indexed


def test_only_what_narrows_is_asked_for() -> None:
    condition = pattern_condition(r"x.*import.*=.*parse_config.*y.*class.*register", any_case=False)
    assert worth_asking(condition) == AllOf((Atom("parse_config"), Atom("register"), Atom("import")))
    assert worth_asking(pattern_condition("a.*b", any_case=False)) == AllOf((Atom("a"), Atom("b")))


def test_conditions_become_sql_with_parameters() -> None:
    condition = AllOf((Atom("a_b"), AnyOf((Atom("C", any_case=True), Atom("'; --")))))
    assert to_sql(condition, "k.text", 3) == ("(k.text LIKE $3 AND (k.text ILIKE $4 OR k.text LIKE $5))", [r"%a\_b%", "%C%", "%'; --%"])
    assert to_sql(ALWAYS, "k.text", 1) == ("true", [])
    assert to_sql(NEVER, "k.text", 1) == ("false", [])
