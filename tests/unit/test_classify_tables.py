"""A mistake in a table is found when the tables are read, and named."""

from __future__ import annotations

import pytest

from app.domain.errors import ConfigurationError
from app.domain.query import Intent
from app.search.classify import FALLBACK, Classifier
from app.search.intent_tables import parse_tables, read_tables

RULE = """
[[rule]]
name = "no_callers"
group = "references"
intent = "find_references"
confidence = 0.9
patterns = ['^<ask> <X>$']
examples = ["hvem ringer til x"]
"""
TABLE = f"""language = "nn"
stop_words = ["Og"]
[phrases]
ask = 'kven kallar'
{RULE}"""


def test_a_language_is_one_more_table() -> None:
    classifier = Classifier(parse_tables({"nn": TABLE}))
    answer = classifier.classify("kven kallar load_env")
    assert (answer.intent, answer.rule, answer.operands) == (Intent.FIND_REFERENCES, "no_callers", ("load_env",))
    assert classifier.tables.stop_words == {"og"}


def test_without_tables_everything_falls_back() -> None:
    assert Classifier(parse_tables({})).classify("who calls load_env").rule == FALLBACK


def test_the_required_languages_ship() -> None:
    assert {"who_calls", "da_who_calls", "zh_who_calls"} <= {rule.name for rule in read_tables().rules}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (('intent = "find_references"', 'intent = "find_refs"'), "rule no_callers: intent 'find_refs' is none of find_definition"),
        (('group = "references"', 'group = "refs"'), "rule no_callers: group 'refs' is none of pasted"),
        (("confidence = 0.9", "confidence = 1.5"), "rule no_callers: confidence must be a number above 0 and up to 1, not 1.5"),
        (("confidence = 0.9", "confidence = 0"), "confidence must be a number above 0 and up to 1, not 0"),
        (("confidence = 0.9", "confidence = true"), "confidence must be a number"),
        (("confidence = 0.9", "confidence = 0.9\nphrase = 2"), "phrase must be a number"),
        (("confidence = 0.9", "confidence = 0.9\nconfidense = 1"), "rule no_callers: unknown key confidense"),
        (("confidence = 0.9\n", ""), "rule no_callers: confidence missing"),
        (("'^<ask> <X>$'", "'^(?=a)'"), "rule no_callers: '^(?=a)' is no RE2 pattern: invalid perl operator: (?="),
        (("'^<ask> <X>$'", "'^<question> <X>$'"), "rule no_callers: <question> is not among the phrases"),
        (("['^<ask> <X>$']", "[]"), "rule no_callers: patterns must be a list of patterns with at least one in it"),
        (("confidence = 0.9", "confidence = 0.9\nunless = ['(']"), "rule no_callers: '(' is no RE2 pattern"),
        (('language = "nn"', 'language = "no"'), "intents/nn.toml: language must be 'nn'"),
        (('stop_words = ["Og"]', "stop_words = ["), "intents/nn.toml: "),
        (('stop_words = ["Og"]', "stopwords = []"), "intents/nn.toml: unknown key stopwords"),
        (("[phrases]", "[words]\nkind = []\n[phrases]"), "intents/nn.toml, words: unknown key kind"),
        ((RULE, RULE + RULE), "two rules are called 'no_callers'"),
    ],
)
def test_a_mistake_is_named(change: tuple[str, str], fault: str) -> None:
    assert change[0] in TABLE
    with pytest.raises(ConfigurationError) as caught:
        parse_tables({"nn": TABLE.replace(*change, 1)})
    assert fault in caught.value.message


def test_one_name_in_two_tables_is_a_mistake() -> None:
    with pytest.raises(ConfigurationError, match="two rules are called"):
        parse_tables({"nn": TABLE, "nb": TABLE.replace('"nn"', '"nb"')})
