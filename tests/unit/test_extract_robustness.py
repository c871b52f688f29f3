"""What must hold for any text in any language: nothing is raised, positions are inside the text, damage stays where it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.code import Extraction, ReferenceKind, SymbolKind
from app.indexing.extract import extract
from app.languages.registry import PARSED, language

BROKEN = {
    "python": ("def before():\n    pass\n", "def broken():\n    x = 1\n    y = = 2\n", "class After:\n    pass\n"),
    "javascript": ("function before() {}\n", "let = ) => ;\n", "class After {}\n"),
    "typescript": ("function before(): void {}\n", "const x: = <;\n", "interface After {}\n"),
    "tsx": ("const before = () => <a/>;\n", "let = ) => ;\n", "class After {}\n"),
    "go": ("package p\n\nfunc before() {}\n", "var = ) 1\n", "type After struct{}\n"),
    "java": ("class Before { void before() {} }\n", "class { int = ; }\n", "class After {}\n"),
    "rust": ("fn before() {}\n", "let = ) 1;\n", "struct After;\n"),
    "c": ("int before(void) { return 1; }\n", "int = ) 1;\n", "struct After { int a; };\n"),
    "cpp": ("int before() { return 1; }\n", "int = ) 1;\n", "class After { int a; };\n"),
    "csharp": ("class Before { void before() {} }\n", "class { int = ; }\n", "class After {}\n"),
    "ruby": ("def before\nend\n", "x = ) 1\n", "class After\nend\n"),
    "php": ("<?php\nfunction before() {}\n", "$x = ) 1;\n", "class After {}\n"),
    "kotlin": ("fun before() {}\n", "val = ) 1\n", "class After\n"),
    "swift": ("func before() {}\n", "let = ) 1\n", "class After {}\n"),
    "scala": ("def before() = 1\n", "val x = = 1\n", "class After {}\n"),
    "lua": ("function before() end\n", "local = ) 1\n", "function After() end\n"),
    "bash": ("before() { :; }\n", "x=1 ) 1\n", "After() { :; }\n"),
    "haskell": ("before = 1\n", "x = = ) 2\n", "data After = After\n"),
    "elixir": ("def before, do: 1\n", "x = ) 1\n", "defmodule After do\nend\n"),
    "zig": ("fn before() void {}\n", "const = ) 1;\n", "const After = struct {};\n"),
}

COMMENTS = {
    "python": "# nothing\n",
    "ruby": "# nothing\n",
    "php": "<?php\n// nothing\n",
    "go": "// nothing\n",
    "lua": "-- nothing\n--[[ at all ]]\n",
    "bash": "# nothing\n",
    "haskell": "-- nothing\n{- at all -}\n",
    "elixir": "# nothing\n",
    "zig": "// nothing\n",
}


@pytest.mark.parametrize("name", PARSED)
def test_what_stands_before_and_after_broken_code_is_found(name: str) -> None:
    before, broken, after = BROKEN[name]
    extraction = extract(language(name), before + broken + after)
    lines = {symbol.name: symbol.name_line for symbol in extraction.symbols}
    assert lines["before"] == before.count("\n", 0, before.index("before")) + 1
    assert lines["After"] == before.count("\n") + broken.count("\n") + 1
    assert 0.0 < extraction.error_ratio < 0.6


@pytest.mark.parametrize("name", PARSED)
def test_nothing_is_found_in_nothing(name: str) -> None:
    assert extract(language(name), "") == Extraction()
    assert extract(language(name), "\n\n") == Extraction()
    assert extract(language(name), COMMENTS.get(name, "// nothing\n/* at all */\n")) == Extraction()


def test_a_language_without_parser_has_no_symbols() -> None:
    assert extract(language("markdown"), "# def f(): pass\n") == Extraction()


def test_text_that_is_no_code_is_mostly_errors() -> None:
    binary = ")]}%%> ;;= ,)0x.. }}\n" * 20
    assert extract(language("java"), binary).error_ratio > 0.5
    assert extract(language("python"), "def f():\n    return 1\n" * 20).error_ratio == 0.0


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("python", "x = " + "(" * 3_000 + ")" * 3_000),
        ("python", "".join(" " * depth + f"def f{depth}():\n" for depth in range(150)) + " " * 150 + "pass\n"),
        ("javascript", "f(function () {" * 1_000 + "})" * 1_000),
        ("c", "{" * 5_000),
        ("go", "package p\nvar x = " + "func() {" * 1_000),
        ("rust", "use a::{" * 2_000),
        ("cpp", "namespace a {" * 1_000),
        ("kotlin", "class A {" * 1_000),
        ("swift", "let x = " + "(" * 3_000 + ")" * 3_000),
        ("scala", "class A {" * 1_000),
        ("lua", "x = {" * 2_000),
        ("bash", "$(" * 2_000),
        ("haskell", "x = [" * 2_000),
        ("elixir", "defmodule A do\n" * 1_000),
        ("zig", "const A = struct {" * 1_000),
    ],
    ids=lambda value: value if len(value) < 12 else "",
)
def test_deep_nesting_neither_overflows_nor_hangs(name: str, source: str) -> None:
    extraction = extract(language(name), source)
    assert all(symbol.start_line >= 1 for symbol in extraction.symbols)


def test_columns_are_code_points_and_lines_end_at_newline_only() -> None:
    source = 'größe = "𝒳"; ätherisch = rufe("𝒳", größe)\r\ndef ß(): pass\rx\n\x0cdef z(): pass\n'
    extraction = extract(language("python"), source)
    assert [(s.name, s.name_line, s.name_column) for s in extraction.symbols] == [
        ("größe", 1, 0),
        ("ätherisch", 1, 13),
        ("ß", 2, 4),
        ("z", 3, 5),
    ]
    reads = [(r.name, r.line, r.column) for r in extraction.references]
    assert reads == [("rufe", 1, 25), ("größe", 1, 35)]


def test_a_lone_surrogate_moves_nothing() -> None:
    extraction = extract(language("python"), "s = '\ud800'; name = 1\n")
    assert [(symbol.name, symbol.name_column) for symbol in extraction.symbols] == [("s", 0), ("name", 9)]


@pytest.mark.parametrize("name", PARSED)
def test_characters_beyond_every_table_crash_no_scanner(name: str) -> None:
    """C's ``isdigit`` and its like read a table at the code point: far ones lie outside of it, and of the process at some addresses."""
    for before in ("", *"{}()[]<>$#&|*!?:=-+'\"`\\\n ", *BROKEN[name], "$((", "[[ a =~ ", "<<"):
        for far in ("\U0001f600", "\U000e1216", "\U0010ffff"):
            text = f"{before}{far}\n"
            check_consistency(extract(language(name), text), text)


@pytest.mark.parametrize("name", PARSED)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_any_text_gives_a_consistent_extraction(name: str, data: st.DataObject) -> None:
    pieces = [
        "".join(BROKEN[name]),
        *BROKEN[name],
        "{",
        "}",
        "(",
        ")",
        "\n",
        "\t",
        "class ",
        "'",
        '"',
        "\0",
        "é",
        "\r",
        "=> ",
        "::",
        "@x\n",
    ]
    text = "".join(data.draw(st.lists(st.one_of(st.sampled_from(pieces), st.text(max_size=5)), max_size=12)))
    check_consistency(extract(language(name), text), text)


@pytest.mark.parametrize("name", PARSED)
def test_a_whole_file_is_consistent(name: str) -> None:
    text = (Path(__file__).parent / "data" / "extraction" / f"{name}.source").read_text(encoding="utf-8")
    check_consistency(extract(language(name), text), text)
    for cut in range(0, len(text), 97):
        check_consistency(extract(language(name), text[:cut]), text[:cut])


def check_consistency(extraction: Extraction, text: str) -> None:
    lines = text.split("\n")
    symbols = extraction.symbols
    for index, symbol in enumerate(symbols):
        assert 1 <= symbol.start_line <= symbol.name_line <= symbol.end_line <= len(lines)
        assert lines[symbol.name_line - 1][symbol.name_column :].startswith(symbol.name) or symbol.kind is SymbolKind.NAMESPACE
        assert symbol.qualified.endswith(symbol.name)
        assert len(symbol.signature) <= 301
        assert len(symbol.doc) <= 300
        assert "\n" not in symbol.signature + symbol.doc
        if symbol.container is not None:
            assert symbol.container < index
            container = symbols[symbol.container]
            assert container.start_line <= symbol.start_line
            assert symbol.end_line <= container.end_line
    positions = [(reference.line, reference.column) for reference in extraction.references]
    assert positions == sorted(set(positions))
    for reference in extraction.references:
        assert lines[reference.line - 1][reference.column :].startswith(reference.name)
        if reference.enclosing is not None:
            around = symbols[reference.enclosing]
            assert around.start_line <= reference.line <= around.end_line
    assert all(1 <= item.line <= len(lines) for item in extraction.imports)
    assert 0.0 <= extraction.error_ratio <= 1.0


def test_the_standard_parser_agrees_on_this_project() -> None:
    """Names, first lines and last lines of all functions and classes, as ``ast`` reads them; calls by name and line."""
    root = Path(__file__).parents[2] / "app"
    expected, found, calls_expected, calls_found = set(), set(), set(), set()
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        extraction = extract(language("python"), text)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                expected.add((path, node.name, first, node.end_lineno, isinstance(node, ast.ClassDef)))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                calls_expected.add((path, node.func.attr, node.func.end_lineno))
        for symbol in extraction.symbols:
            if symbol.kind.is_callable or symbol.kind is SymbolKind.CLASS:
                found.add((path, symbol.name, symbol.start_line, symbol.end_line, symbol.kind is SymbolKind.CLASS))
        for reference in extraction.references:
            if reference.kind is not ReferenceKind.READ:
                calls_found.add((path, reference.name, reference.line))
    assert len(expected) > 300
    assert len(expected & found) >= 0.99 * len(expected)
    assert len(found - expected) <= 0.01 * len(expected)
    assert len(calls_expected & calls_found) >= 0.99 * len(calls_expected)
