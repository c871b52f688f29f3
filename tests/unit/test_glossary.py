"""Words of other languages are said in English, and English questions stay what they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.domain.errors import ConfigurationError
from app.domain.query import Translated
from app.search.classify import LONGEST_QUESTION, load_classifier
from app.search.glossary import Glossaries, Glossary, load_glossaries
from app.search.glossary_tables import parse_glossary, read_glossaries
from tests.relevance.golden import questions

INTENTS = Path(__file__).parent / "data" / "intents.jsonl"
TABLE = """language = "nn"
stemmer = "norwegian"
joints = ["s"]
also_english = ["side"]
[spelling]
"ø" = "oe"
[words]
error = ["feil"]
handle = ["handtering"]
queue = ["kø"]
page = ["side"]
session = ["økt"]
"""


def translated(question: str) -> dict[str, tuple[str, ...]]:
    return {said.word: said.english for said in load_glossaries().translate(question)}


def english(question: str) -> set[str]:
    return {word for words in translated(question).values() for word in words}


def norwegian(change: tuple[str, str] = ("", "")) -> Glossary:
    return Glossary(parse_glossary("nn", TABLE.replace(*change)), frozenset({"korleis", "under"}), frozenset({"under"}))


def test_danish_and_chinese_ship_with_words_enough() -> None:
    assert {table.language: len(table.words) >= 600 for table in read_glossaries()} == {"da": True, "zh": True}


@pytest.mark.parametrize("table", read_glossaries(), ids=lambda table: table.language)
def test_no_english_word_of_a_glossary_is_dropped_from_questions(table) -> None:  # type: ignore[no-untyped-def]
    assert {word for meant in table.words.values() for word in meant} & load_classifier().tables.stop_words_of["en"] == set()


@pytest.mark.parametrize("table", read_glossaries(), ids=lambda table: table.language)
def test_what_is_also_english_is_a_word_that_could_be_read(table) -> None:  # type: ignore[no-untyped-def]
    glossary = Glossary(table)
    known = load_classifier().tables.stop_words_of[table.language]
    assert [word for word in sorted(table.also_english - known) if not glossary.knows(word)] == []


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("hvordan virker sessioner", {"session"}),
        ("hvor indlæses konfigurationen", {"load", "config"}),
        ("hvor indlaeses konfigurationen", {"load", "config"}),
        ("Omdirigeringer", {"redirect"}),
        ("hvordan oprettes brugerne?", {"create", "user"}),
        ("hvor bliver siden gemt i køen", {"page", "queue"}),
        ("如何处理会话 cookie", {"handle", "process", "session"}),
        ("如何處理會話", {"handle", "process", "session"}),
        ("模板在哪里渲染", {"template", "render"}),
        ("身份验证是如何工作的", {"auth", "authentication"}),
    ],
)
def test_words_are_said_in_english(question: str, words: set[str]) -> None:
    assert words <= english(question)


@pytest.mark.parametrize(
    ("compound", "words"),
    [
        ("fejlhåndtering", {"error", "exception", "handle", "handler"}),
        ("brugergodkendelse", {"user", "authentication", "auth"}),
        ("sessionshåndteringen", {"session", "handle", "handler"}),
        ("konfigurationsfilerne", {"config", "file"}),
        ("skabelonmotor", {"template", "engine"}),
    ],
)
def test_compounds_are_made_of_words(compound: str, words: set[str]) -> None:
    assert english(f"hvordan virker {compound}") == words


def test_a_compound_has_no_part_that_is_no_word() -> None:
    assert english("hvordan virker fejlgrævling") == set()


@pytest.mark.parametrize(
    ("run", "pieces"),
    [
        ("数据库", ["数据库"]),  # not 数据 and 库
        ("数据库连接池", ["数据库", "连接池"]),
        ("类型的类", ["类型", "类"]),
        ("流程", []),  # 流 within another word
        ("流", ["流"]),
        ("使用者在会话中", ["使用者", "会话"]),  # 使用, 会 and 中 tell nothing
    ],
)
def test_runs_are_read_by_the_longest_word(run: str, pieces: list[str]) -> None:
    assert [*translated(run)] == pieces


@pytest.mark.parametrize(
    "question",
    [
        'hvor bruges "fejlhåndtering"',
        "查找「会话」",
        "hvor bruges fejl_kode og FejlKode og fejl() og fejl.kode",
        "hvor bruges Undtagelse",
        "fejl ved\nopstart",
        "fejl " * (LONGEST_QUESTION // 4),
        "パーサーの動作",
        "where is the side of the felt gem handled",
        "どのようにセッション処理",
    ],
)
def test_quotes_names_code_and_other_languages_stay(question: str) -> None:
    assert translated(question) == {}


def test_no_english_question_changes() -> None:
    rows = [json.loads(line) for line in INTENTS.read_text("utf-8").splitlines()]
    asked = [row["query"] for row in rows if row["lang"] not in ("da", "zh")]
    asked += [question.query for question in questions() if not question.name.startswith(("danish", "chinese"))]
    rules = [rule for rule in load_classifier().tables.rules if not rule.name.startswith(("da_", "zh_"))]
    asked += [example for rule in rules for example in rule.examples if example.isascii()]
    assert len(asked) > 400
    assert {question: said for question in asked if (said := translated(question))} == {}


@pytest.mark.parametrize("word", ["public", "motor", "handling", "maps", "attributes", "passport", "formatter", "serialise", "modules"])
def test_an_english_word_alone_is_english(word: str) -> None:
    assert translated(word) == translated(f"how does the {word} work") == {}


def test_a_language_is_one_more_table() -> None:
    glossary = Glossaries([norwegian()], (('"', '"'),))
    assert glossary.translate("korleis verkar feilhandtering") == (Translated("feilhandtering", ("error", "handle")),)
    assert glossary.translate("økta") == ()  # three letters of a stem tell nothing of the language
    assert glossary.translate("korleis verkar økta") == (Translated("økta", ("session",)),)
    assert glossary.translate("kø") == (Translated("kø", ("queue",)),)
    assert glossary.translate("koe") == (Translated("koe", ("queue",)),)
    assert glossary.translate("under side") == ()
    assert glossary.translate("korleis side") == (Translated("side", ("page",)),)
    assert Glossaries([norwegian(('joints = ["s"]', ""))]).translate("korleis verkar feilhandtering") == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (('language = "nn"', 'language = "no"'), "language must be 'nn'"),
        (('stemmer = "norwegian"', 'stemmer = "nynorsk"'), "stemmer 'nynorsk' is none of arabic"),
        (('joints = ["s"]', 'joint = ["s"]'), "unknown key joint"),
        (("error =", "error_code ="), "'error_code' is no English word in lower case"),
        (('["feil"]', "[]"), "error must have a list of words"),
        (('["feil"]', '["Feil"]'), "error: 'Feil' is not one word in lower case"),
        (('["feil"]', '["feil med"]'), "error: 'feil med' is not one word in lower case"),
        (('["feil"]', '["feil", "feil"]'), "error: 'feil' stands there twice"),
        (('["feil"]', '["feil"]\nfault = ["feil"]\nfail = ["feil"]\nbug = ["feil"]'), "'feil' has more than 3 English words"),
        (('"ø" =', '"øy" ='), "spelling of 'øy': one character stands for others"),
        (('["kø"]', '["kø", "队列"]'), "spelling of 'ø': one character stands for another"),
        (('["feil"]', '["feil"'), "Unclosed array"),
    ],
)
def test_a_mistake_is_found_when_the_table_is_read(change: tuple[str, str], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^glossaries/nn\.toml: ") as caught:
        parse_glossary("nn", TABLE.replace(*change))
    assert fault in caught.value.message
