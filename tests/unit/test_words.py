from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter

import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Translated
from app.domain.words import (
    TermFinder,
    abbreviations_of,
    body_terms,
    file_name_words,
    path_terms,
    query_terms,
    stem,
    symbol_words,
    word_match,
)

STOP = frozenset({"a", "in", "is", "the", "where", "how", "does", "of", "是", "的", "如何", "在哪里"})


def recipe_terms(text: str) -> Counter[str]:
    """The recipe as it is written, word by word, for ASCII text."""
    stemmer = Stemmer.Stemmer("english")
    terms: list[str] = []
    for identifier in re.findall(r"[A-Za-z_$][A-Za-z0-9_$]*", text):
        parts = [part.lower() for part in re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", identifier)]
        terms += [stemmer.stemWord(part) for part in parts]
        if len(parts) > 1:
            terms.append("".join(parts))
    return Counter(terms + re.findall(r"\b\d+\b", text))


@given(st.text(st.characters(min_codepoint=9, max_codepoint=126), max_size=110))
def test_ascii_terms_are_those_of_the_recipe(text: str) -> None:
    assert Counter(body_terms(text)) == recipe_terms(text)


@given(st.text(max_size=200))
def test_terms_of_any_text_are_storable_and_never_empty(text: str) -> None:
    for term in body_terms(text):
        assert term
        assert "\0" not in term
        term.encode("utf-8")


@given(st.text(max_size=100), st.text(max_size=100))
def test_terms_of_lines_add_up(first: str, second: str) -> None:
    assert Counter(body_terms(first + "\n" + second)) == Counter(body_terms(first)) + Counter(body_terms(second))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("HTTPSConnection", ["https", "connect", "httpsconnection"]),
        ("sha256 utf8 v2", ["sha", "256", "sha256", "utf", "8", "utf8", "v", "2", "v2"]),
        ("get_user_id", ["get", "user", "id", "getuserid"]),
        ("HTTP 502", ["http", "502"]),
        ("størrelse_max", ["størrels", "max", "størrelsemax"]),
        ("身份验证", ["身份", "份验", "验证"]),
        ("在parseConfig里", ["在", "pars", "config", "parseconfig", "里"]),
        ("résumé", [stem("résumé")]),
        ("re\u0301sume\u0301", [stem("résumé")]),
        ("x" * 121, []),
    ],
)
def test_body_terms(text: str, terms: list[str]) -> None:
    assert body_terms(text) == terms


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("src/a/httpClient.spec.ts", ("http", "client")),
        ("pkg/config_test.go", ("config",)),
        ("types/index.d.ts", ("index",)),
        ("tests/test_config.py", ("test", "config")),
        (".gitignore", ("gitignor",)),
        ("Makefile", ("makefil",)),
    ],
)
def test_file_name_words(path: str, words: tuple[str, ...]) -> None:
    assert file_name_words(path) == words


def test_path_terms_leave_the_extension_out() -> None:
    assert path_terms("src/flask/app.py") == ["src", "flask", "app"]


def test_symbol_words_are_distinct() -> None:
    assert symbol_words("parseParsedThing") == ("pars", "thing")


def test_question_drops_stop_words_and_the_repository_but_not_parts_of_compounds() -> None:
    terms = query_terms("where is the_config in Flask", ["flask"], STOP)
    assert set(terms.terms) == {"the", "config", "theconfig"}
    assert terms.wholes == {"theconfig"}
    assert set(terms.words) == {"the", "config"}
    assert not terms.single


def test_several_repositories_keep_their_names() -> None:
    assert "flask" in query_terms("routing in flask", ["flask", "gin"], STOP).terms


def test_a_single_word_keeps_everything_and_is_an_identifier() -> None:
    terms = query_terms("flask", ["flask"], STOP)
    assert terms.single
    assert terms.words == ("flask",)
    assert terms.identifiers == (("flask", "flask"),)
    assert query_terms("the", [], STOP).words == ("the",)


def test_nothing_but_stop_words_is_kept_whole() -> None:
    assert set(query_terms("where is the", [], STOP).words) == {"where", "is", "the"}


@pytest.mark.parametrize(
    ("text", "identifiers"),
    [
        ("where is parseConfig defined", [("parseConfig", "parseConfig")]),
        ("parseConfig在哪里定义", [("parseConfig", "parseConfig")]),
        ("how does Session.close_all work", [("Session.close_all", "close_all")]),
        ("what calls std::move", [("std::move", "move")]),
        ("who calls render ( ctx )", [("render", "render")]),
        ("how is a Blueprint registered", [("Blueprint", "Blueprint")]),
        ("Blueprint registration", []),
        ("why is HTTP slow", []),
        ("errors, e.g. timeouts", []),
        (
            "_private_name",
            [("_private_name", "_private_name")],
        ),
        ("where is $ZodJWT", [("$ZodJWT", "$ZodJWT")]),
    ],
)
def test_identifiers(text: str, identifiers: list[tuple[str, str]]) -> None:
    assert list(query_terms(text, ["acme"], STOP).identifiers) == identifiers


def test_chinese_stop_words_part_a_run_before_it_is_paired() -> None:
    assert query_terms("身份验证是如何工作的", [], STOP).words == ("身份", "份验", "验证", "工作")


@pytest.mark.parametrize(
    ("question", "word", "match"),
    [
        ("config", "config", 1.0),
        ("context", "ctx", 0.8),
        ("ctx", "context", 0.8),
        ("authent", "auth", 0.8),
        ("serv", "server", 0.7),
        ("server", "serv", 0.7),
        ("parser", "par", 0.42),
        ("par", "parser", 0.0),
        ("cat", "dog", 0.0),
    ],
)
def test_word_match(question: str, word: str, match: float) -> None:
    assert word_match(question, word) == match


def test_abbreviations_are_found_from_both_sides() -> None:
    for full, short in (("configuration", "cfg"), ("database", "db"), ("message", "msg")):
        assert stem(short) in abbreviations_of(stem(full))
        assert stem(full) in abbreviations_of(stem(short))


def test_spans_mark_wholes_before_parts() -> None:
    line = "x = parseConfig(config_file, 502)  # 身份验证"
    terms = query_terms("parseConfig config 502 验证", [], STOP).terms
    finder = TermFinder(frozenset(terms))
    assert [line[start:end] for start, end in finder.spans(line, finder.tokens(line))] == ["parseConfig", "config", "502", "验证"]
    assert finder.tokens("nothing of it") == frozenset()


@given(st.text(max_size=80))
def test_every_line_that_has_a_term_has_a_span(line: str) -> None:
    terms = set(body_terms(line))
    finder = TermFinder(frozenset(terms))
    spans = finder.spans(line, finder.tokens(line))
    assert all(0 <= start < end <= len(line) for start, end in spans)
    if terms and line.isascii():
        assert spans


def test_importing_brings_no_heavy_library() -> None:
    code = "import sys, app.domain.words; sys.exit(any(m in sys.modules for m in ('numpy', 'pydantic', 'networkx')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_english_of_a_question_stands_beside_its_words() -> None:
    translated = [Translated("skabeloner", ("template",)), Translated("fejl", ("error", "exception"))]
    terms = query_terms("hvor er skabeloner med fejl i jinja", [], frozenset({"hvor", "er", "med", "i"}), translated)
    assert set(terms.words) == {"skabelon", "fejl", "jinja", "templat", "error", "except"}
    assert terms.asked == {"skabelon", "fejl", "jinja"}
    assert terms.said_in({"templat", "except", "error"}) == {"skabelon", "fejl"}
    assert terms.said_in({"jinja", "other"}) == {"jinja"}


def test_a_translated_word_of_a_run_is_a_word_and_parts_what_is_left() -> None:
    stop = frozenset({"会", "如何"})
    assert query_terms("如何处理会话", [], stop).words == ("处理", "话")
    terms = query_terms("如何处理会话", [], stop, [Translated("会话", ("session",))])
    assert set(terms.words) == {"处理", "会话", "session"}
    assert not terms.single
    both = [Translated("类", ("class",)), Translated("类型", ("type",))]
    assert set(query_terms("类的类型", [], frozenset({"的"}), both).words) == {"类", "类型", "class", "type"}
    assert not query_terms("如何", [], stop, [Translated("如何", ("how",))]).only_stop_words


def test_without_translations_a_question_is_as_it_was() -> None:
    terms = query_terms("where is the_config in Flask", ["flask"], STOP)
    assert (terms.translations, terms.asked) == ({}, frozenset(terms.words))
