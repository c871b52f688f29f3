"""The comparison with universal-ctags: its data names what exists, and it tells what was found from what was not."""

from __future__ import annotations

import re

import pytest

from app.domain.code import SymbolKind
from app.languages.registry import PARSED, language
from benchmarks.ctags import KINDS, Comparison, Tag, compare, last_name


@pytest.mark.parametrize("name", KINDS)
def test_the_data_names_languages_and_kinds_that_exist(name: str) -> None:
    assert name in PARSED
    for key, value in KINDS[name].items():
        if key == "misread":
            for pattern in value:
                assert pattern["reason"]
                assert {"name", "line"} & set(pattern)
                re.compile(pattern.get("name", "")), re.compile(pattern.get("line", "").replace("{name}", "x"))
                assert set(pattern.get("kinds", [])) <= set(KINDS[name])
        elif key != "ctags":
            assert {SymbolKind(kind.lstrip("*")) for kind in value}


def test_every_language_is_compared_but_those_that_ctags_does_not_know() -> None:
    assert set(PARSED) - set(KINDS) == {"swift", "scala", "zig"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Shop.Order", "Order"),
        ("M:add", "add"),
        ("shop::Box", "Box"),
        ("operator ==", "=="),
        ("operator bool", "operatorbool"),
        ("`is open`", "isopen"),
        ("<>", "<>"),
        ("a.b?", "b?"),
        ("::", "::"),
    ],
)
def test_a_name_without_its_scope(written: str, expected: str) -> None:
    assert last_name(written) == expected


def test_what_becomes_of_a_tag() -> None:
    text = "function add(a)\n  return a\nend\nlocal total = add(1)\nlocal call = pcall(function() end)\n-- function old() end\n"
    comparison = Comparison()
    tags = [
        Tag("add", "function", 1),
        Tag("add", "function", 4),
        Tag("total", "function", 4),
        Tag("call", "function", 5),
        Tag("old", "function", 6),
        Tag("gone", "function", 2),
    ]
    compare(language("lua"), "x.lua", text, tags, comparison)
    row = comparison.row("lua")
    assert (row["tags"], row["found"]) == (6, 1)
    assert row["misread"] == {"a call that is handed a function": 2, "in a comment or a string": 1}
    assert row["reasons"] == {"another line": 1, "the name is not on the line": 1}
    assert row["share"] == pytest.approx(1 / 3)
    assert row["examples"]["another line"] == ["x.lua:4 function add"]


def test_a_further_clause_is_found() -> None:
    comparison = Comparison()
    compare(language("haskell"), "x.hs", "add 0 = 1\nadd n = n\n", [Tag("add", "function", 1), Tag("add", "function", 2)], comparison)
    assert comparison.row("haskell")["share"] == 1.0
