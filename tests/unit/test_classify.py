"""The classifier against its own query set, the examples of its rules, and any text at all."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.domain.query import Classification, Intent, Relation
from app.search.classify import FALLBACK, load_classifier, stop_words

QUERIES = Path(__file__).with_name("data") / "intents.jsonl"
# From this confidence on a search goes straight to one retriever.
DIRECT = 0.85

RULES = load_classifier().tables.rules
EXAMPLES = [pytest.param(rule.name, text, id=f"{rule.name}-{index}") for rule in RULES for index, text in enumerate(rule.examples)]


def classify(query: str) -> Classification:
    return load_classifier().classify(query)


@dataclass(frozen=True)
class Verdict:
    row: dict[str, Any]
    answer: Classification

    @property
    def intent_right(self) -> bool:
        return self.answer.intent in (self.row["intent"], *self.row.get("alt", ()))

    @property
    def operand_right(self) -> bool:
        operand = self.answer.operands[0] if self.answer.operands else None
        return operand in (self.row["operand"], *self.row.get("alt_operand", ()))

    @property
    def side_right(self) -> bool:
        return self.row["confident"] in (None, self.answer.confidence >= DIRECT)


@cache
def verdicts() -> list[Verdict]:
    rows = [json.loads(line) for line in QUERIES.read_text(encoding="utf-8").split("\n") if line]
    return [Verdict(row, classify(row["query"])) for row in rows]


def said(misses: list[Verdict]) -> str:
    return "\n".join(f"{miss.row['query']!r}: {miss.answer}" for miss in misses)


def test_the_set_covers_every_intent_in_the_three_languages() -> None:
    assert len(verdicts()) >= 200
    assert {(v.row["lang"], v.row["intent"]) for v in verdicts()} >= {(lang, i.value) for lang in ("en", "da", "zh") for i in Intent}


def test_nearly_every_intent_is_right() -> None:
    misses = [v for v in verdicts() if not v.intent_right]
    assert len(misses) <= 0.02 * len(verdicts()), said(misses)


def test_nearly_every_operand_is_right() -> None:
    misses = [v for v in verdicts() if not v.operand_right]
    assert len(misses) <= 0.02 * len(verdicts()), said(misses)


def test_no_wrong_intent_is_confident() -> None:
    misses = [v for v in verdicts() if not v.intent_right and v.answer.confidence >= DIRECT]
    assert not misses, said(misses)


def test_confidence_is_on_the_right_side() -> None:
    misses = [v for v in verdicts() if not v.side_right]
    assert len(misses) <= 0.02 * len(verdicts()), said(misses)


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_every_example_fires_its_rule(name: str, text: str) -> None:
    assert classify(text).rule == name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_an_example(rule: Any) -> None:
    assert rule.examples


@pytest.mark.parametrize(
    ("query", "intent", "confidence", "operand"),
    [
        ("def dispatch_request", Intent.FIND_DEFINITION, 0.95, "dispatch_request"),
        ("hvor er full_dispatch_request defineret", Intent.FIND_DEFINITION, 0.90, "full_dispatch_request"),
        ("full_dispatch_request 在哪里定义", Intent.FIND_DEFINITION, 0.90, "full_dispatch_request"),
        ("who calls url_for", Intent.FIND_REFERENCES, 0.90, "url_for"),
        ("what breaks if I change Scaffold", Intent.IMPACT_ANALYSIS, 0.90, "Scaffold"),
        ('"The session is unavailable"', Intent.EXACT_MATCH, 0.90, "The session is unavailable"),
        ("find strengen SECRET_KEY", Intent.EXACT_MATCH, 0.85, "SECRET_KEY"),
        ("how does the session interface sign cookies", Intent.UNDERSTAND_CODE, 0.75, None),
        ("hvordan fungerer autentificering", Intent.UNDERSTAND_CODE, 0.75, None),
        ("身份验证是如何工作的", Intent.UNDERSTAND_CODE, 0.75, None),
        ("nothing in particular", Intent.UNDERSTAND_CODE, 0.40, None),
    ],
)
def test_documented_questions(query: str, intent: Intent, confidence: float, operand: str | None) -> None:
    answer = classify(query)
    assert (answer.intent, answer.confidence) == (intent, confidence)
    assert (answer.operands[0] if answer.operands else None) == operand
    assert not answer.operand_missing


@pytest.mark.parametrize(
    "query", ["what breaks if I change this function", "hvad går i stykker, hvis jeg ændrer denne funktion", "如果我改动这个函数会破坏什么"]
)
def test_a_question_about_this_keeps_its_intent_without_operand(query: str) -> None:
    answer = classify(query)
    assert (answer.intent, answer.operands, answer.operand_missing) == (Intent.IMPACT_ANALYSIS, (), True)


def test_understanding_needs_no_operand() -> None:
    assert not classify("why is it slow").operand_missing


@pytest.mark.parametrize(
    ("query", "operands"),
    [
        ("who calls the `render()` method?", ("render",)),
        ("who calls render and save", ("render", "save")),
        ("usages of the class Session.Store in app/db.py", ("Session.Store", "app/db.py")),
        ("查找 TokenFilter 类的引用。", ("TokenFilter",)),
        ("hvor er klassen »Kunde« defineret", ("Kunde",)),
        ("impact of changing the return type of parse_config", ("parse_config",)),
        ("why does parse_config call os.environ", ("parse_config", "os.environ")),
    ],
)
def test_operands_are_names_without_what_stands_around_them(query: str, operands: tuple[str, ...]) -> None:
    assert classify(query).operands == operands


def test_stop_words_are_lower_case_and_of_every_language() -> None:
    assert {"the", "where", "hvor", "denne", "的", "哪里"} <= stop_words()
    assert all(word == word.lower() for word in stop_words())


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(st.text(st.characters(), max_size=300), st.text("wholas 'cdefiu()\"«»`的谁调用在哪里\n:;{}=_.#/ØÅ\ud800\x00", max_size=120))
)
@example("who calls \ud800")
@example("\x00" * 10_000)
@example("«" * 10_000)
@example("find the string " + "x" * 9_000)
@example("a\u2028who calls b\u0085")
def test_any_text_is_classified(query: str) -> None:
    answer = classify(query)
    assert 0 < answer.confidence <= 1
    assert all(operand and operand in query for operand in answer.operands)
    assert answer.rule == FALLBACK or answer.rule in {rule.name for rule in RULES}


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([row.values[1] for row in EXAMPLES]), st.text(st.characters(), max_size=40))
def test_any_text_after_a_question_is_classified(question: object, tail: str) -> None:
    query = str(question) + tail
    answer = classify(query)
    assert 0 < answer.confidence <= 1
    assert all(operand and operand in query for operand in answer.operands)


@pytest.mark.parametrize(
    ("question", "relation"),
    [
        ("who calls import_module", None),
        ("who calls the Subclass constructor", None),
        ("who uses Flask", None),
        ("usages of Extends", None),
        ("everything derived from BaseNode", Relation.INHERITS),
        ("where is Model.save overridden", Relation.OVERRIDES),
        ("implementations of io.Reader", Relation.IMPLEMENTS),
        ("instances of TokenBucket", Relation.INSTANTIATES),
        ("functions decorated with cached_property", Relation.DECORATES),
        ("hvor bliver TokenBucket instantieret", Relation.INSTANTIATES),
        ("谁导入了 parse_config", Relation.IMPORTS),
        ("how does Flask import blueprints", None),
    ],
)
def test_the_kind_of_use_that_is_asked_for(question: str, relation: Relation | None) -> None:
    assert classify(question).relation is relation


@pytest.mark.parametrize(
    ("question", "operand", "relation"),
    [
        ("which functions are called by Session.send", "Session.send", Relation.CALLS),
        ("what is called by Session.send", "Session.send", Relation.CALLS),
        ("what methods does Group override", "Group", Relation.OVERRIDES),
        ("what does flask.app import", "flask.app", Relation.IMPORTS),
        ("parents of BaseCommand", "BaseCommand", Relation.INHERITS),
        ("dependencies of TokenBucket", "TokenBucket", None),
    ],
)
def test_what_something_uses(question: str, operand: str, relation: Relation | None) -> None:
    found = classify(question)
    assert (found.intent, found.outgoing, found.operands[:1], found.relation) == (Intent.FIND_REFERENCES, True, (operand,), relation)
    assert found.confidence >= DIRECT


@pytest.mark.parametrize(
    "question",
    [
        "which environment variables does Flask use",
        "which library do we use",
        "what does this function return",
        "what does everyone use",
        "base class for all exceptions",
        "dependencies of package.json",
        "dependencies of the project",
        "functions called by the user",
        "what does authentication use",
        "who uses TokenBucket",
    ],
)
def test_an_ordinary_question_does_not_go_straight_to_what_something_uses(question: str) -> None:
    found = classify(question)
    assert not found.outgoing or found.confidence < DIRECT


@pytest.mark.parametrize("question", ["children of BaseCommand", "child classes of BaseCommand", "hvem overskriver Command.invoke"])
def test_words_for_subclasses_and_overrides(question: str) -> None:
    found = classify(question)
    assert found.intent is Intent.FIND_REFERENCES
    assert found.relation in (Relation.INHERITS, Relation.OVERRIDES)
