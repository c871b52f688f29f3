"""Settings of patterns and rules that few languages use, each on the least code that needs it."""

from __future__ import annotations

import pytest

from app.domain.code import Symbol
from app.domain.errors import ConfigurationError
from app.indexing.blanks import parser_view
from app.indexing.extract import extract
from app.indexing.qualified_names import trimmed
from app.languages.registry import ExtractionRules, LanguageSpec, language


def symbols(name: str, source: str) -> dict[str, Symbol]:
    """By qualified name; two of one name would be a mistake."""
    found = extract(language(name), source).symbols
    by_name = {symbol.qualified: symbol for symbol in found}
    assert len(by_name) == len(found)
    return by_name


def test_blanked_text_keeps_every_offset() -> None:
    spec = LanguageSpec("some", rules=ExtractionRules(blanked=(r"a([a-z\r\n]+)z", r"\n(\#[^\n]*)")))
    assert parser_view(b"#if x\nabc\r\ndz az\n", spec) == b"     \na  \r\n z az\n"
    assert parser_view(b"abcz", LanguageSpec("some")) == b"abcz"


def test_a_parser_of_ascii_sees_letters_for_all_else_and_names_stay_what_they_are() -> None:
    spec = LanguageSpec("some", rules=ExtractionRules(ascii_only=True))
    assert parser_view("{é\U000e1216}".encode(), spec) == b"{xxxxxx}"
    assert parser_view(b"{}", spec) == b"{}"
    found = symbols("bash", "größe() { echo 😀; }\n  後() { größe; }\n")
    assert {name: (symbol.name_line, symbol.name_column) for name, symbol in found.items()} == {"größe": (1, 0), "後": (2, 2)}


@pytest.mark.parametrize("pattern", ["(", "no group"])
def test_a_pattern_that_cannot_blank_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigurationError, match="language some"):
        _ = LanguageSpec("some", rules=ExtractionRules(blanked=(pattern,))).blanked


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("cpp", "class MY_API Shelf {\n  int size();\n};\n", {"Shelf": "class", "Shelf.size": "method"}),
        ("cpp", "MY_INLINE Shelf::Shelf(int a)\n    : size(a) {}\n", {"Shelf.Shelf": "constructor"}),
        ("cpp", "\nMY_INLINE bool full(int a) MY_NOEXCEPT { return a; }\n", {"full": "function"}),
        ("cpp", "\nMY_BEGIN_NAMESPACE\nnamespace shop {\nint a;\n}\n", {"shop": "namespace", "shop.a": "variable"}),
        ("cpp", "struct S {\n  int f() LOCKS(mu) { return 1; }\n};\n", {"S": "struct", "S.f": "method"}),
        ("c", "\nMY_EXTERN CURLcode open_it(int a);\n", {"open_it": "function"}),
        ("c", "\nHRESULT\nopen_it(int a)\n{\n}\n", {"open_it": "function"}),
        ("c", "\nDWORD WINAPI run(void *a) { return 1; }\n", {"run": "function"}),
        ("c", "\nFILE *open_it(int a) { return 0; }\n", {"open_it": "function"}),
        ("c", "\nBOOL is_open(int a) { return 1; }\n", {"is_open": "function"}),
        ("c", "enum e {\n  FIRST,\n  LAST\n};\n", {"e": "enum", "e.FIRST": "enum_member", "e.LAST": "enum_member"}),
        ("swift", "class A {\n  #if os(macOS)\n  func f() {}\n  #else\n  func g() {}\n  #endif\n}\n",
         {"A": "class", "A.f": "method", "A.g": "method"}),
        ("haskell", "f = 1\n#if X\ng = 2\n#else\nh = 3\n#endif\n", {"f": "function", "g": "function", "h": "function"}),
        ("kotlin", "class A(\n    actual val b: Int,\n)\n", {"A": "class", "A.b": "property"}),
        ("zig", "fn f() void {\n    const a, const b = g();\n}\nfn h() void {}\n", {"f": "function", "h": "function"}),
    ],
)  # fmt: skip
def test_code_that_the_grammar_alone_cannot_read(name: str, source: str, expected: dict[str, str]) -> None:
    assert {qualified: symbol.kind.value for qualified, symbol in symbols(name, source).items()} == expected


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("javascript", "app.use(function handle() {})\n", {"handle": "function"}),
        ("javascript", "function a() { return function inner() {} }\n", {"a": "function", "a.inner": "function"}),
        ("javascript", "let later\nlater = () => 1\n", {"later": "variable"}),
        ("javascript", "app.run = function run() {}\n", {"app.run": "method"}),
        ("c", "typedef void(on_done)(int a);\ntypedef const void *(*getter)(int a);\n", {"on_done": "type", "getter": "type"}),
        ("csharp", "class A { public static bool operator ==(A a, A b) => true; }\n", {"A": "class", "A.==": "method"}),
        ("kotlin", "class A {\n    companion object { fun of() = A() }\n}\n", {"A": "class", "A.of": "method"}),
        ("scala", "given Ordering[Line] with\n  def compare(a: Line) = 1\n", {"Ordering": "impl", "Ordering.compare": "method"}),
        ("zig", "fn f() void {\n    const S = struct { a: u8 };\n}\n", {"f": "function", "f.S": "struct", "f.S.a": "field"}),
        ("lua", "local M = {}\nM.a = function() end\nfunction M:b() end\n", {"M": "variable", "M.a": "method", "M.b": "method"}),
    ],
)  # fmt: skip
def test_what_defines(name: str, source: str, expected: dict[str, str]) -> None:
    found = extract(language(name), source).symbols
    assert {symbol.qualified: symbol.kind.value for symbol in reversed(found)} == expected


def test_a_macro_stays_in_the_signature() -> None:
    assert symbols("cpp", "class MY_API Shelf {};\n")["Shelf"].signature == "class MY_API Shelf"


def test_clauses_are_one_definition() -> None:
    found = symbols("haskell", "-- | Adds.\nadd :: Int -> Int\nadd 0 = 1\n-- Else.\nadd n = n\n\nother = add 1\n")
    assert list(found) == ["add", "other"]
    assert (found["add"].start_line, found["add"].end_line, found["add"].name_line) == (2, 5, 2)
    assert (found["add"].signature, found["add"].doc) == ("add :: Int -> Int", "Adds.")


def test_clauses_end_where_something_stands_between() -> None:
    clauses = ["def a(1), do: 1", "def a(2), do: 2", '@doc "Other."', "def a(1, 2), do: 3", "def b(1), do: 1", "def a(3), do: 3"]
    source = "\n".join(["defmodule M do", *clauses, "end\n"])
    found = extract(language("elixir"), source).symbols
    assert [(symbol.name, symbol.start_line, symbol.end_line, symbol.doc) for symbol in found[1:]] == [
        ("a", 2, 3, ""),
        ("a", 4, 5, "Other."),
        ("b", 6, 6, ""),
        ("a", 7, 7, ""),
    ]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("kotlin", "fun `is open`() {}\n", ("is open", 5)),
        ("swift", "func `default`() {}\n", ("default", 6)),
        ("zig", 'const @"odd name" = 1;\n', ("odd name", 8)),
        ("elixir", "defmodule M do\n  defstruct size: 1\nend\n", ("size", 12)),
        ("elixir", "defmodule M do\n  defstruct [:size]\nend\n", ("size", 14)),
        ("ruby", "attr_reader :size\n", ("size", 13)),
        ("bash", "alias ll='ls -l'\n", ("ll", 6)),
        ("haskell", "data L = L :| L\n", (":|", 11)),
    ],
)
def test_a_name_is_read_without_what_is_written_around_it(name: str, source: str, expected: tuple[str, int]) -> None:
    symbol = extract(language(name), source).symbols[-1]
    assert (symbol.name, symbol.name_column) == expected


def test_trimming_leaves_no_name_empty() -> None:
    rules = ExtractionRules(name_trim=":")
    assert trimmed(":a", rules) == ("a", 1)
    assert trimmed(":", rules) == (":", 0)
    assert trimmed(":a", ExtractionRules()) == (":a", 0)


def test_a_haskell_module_exports_what_it_lists_or_everything() -> None:
    listed = symbols("haskell", "module M (a, T(..)) where\na = 1\nb = 2\ndata T = C\n")
    assert {name for name, symbol in listed.items() if symbol.exported} == {"M", "M.a", "M.T", "M.T.C"}
    assert all(symbol.exported for symbol in symbols("haskell", "module M where\na = 1\n").values())
    assert symbols("haskell", "a = 1\n")["a"].exported


def test_an_announcement_is_no_use() -> None:
    elixir = extract(language("elixir"), "defmodule M do\n  @spec a(integer) :: integer\n  def a(x), do: x\nend\n")
    assert [reference.name for reference in elixir.references] == []
    haskell = extract(language("haskell"), "module M (a, T) where\na = 1\ndata T = C\n")
    assert [reference.name for reference in haskell.references] == []


def test_an_attribute_of_a_module_is_seen_in_it_alone() -> None:
    found = symbols("elixir", "defmodule M do\n  @limit 10\n  @moduledoc false\n  def a, do: @limit\nend\n")
    assert list(found) == ["M", "M.limit", "M.a"]
    assert not found["M.limit"].exported


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("scala", "import a.{b, c => d, e => _}, f.g._\n",
         [("a", "b", "b"), ("a", "c", "d"), ("a", "e", None), ("f.g", "*", None)]),
        ("scala", "import a.b as c\n", [("a", "b", "c")]),
        ("kotlin", "import a.b.C\nimport a.b.*\nimport a.b.C as D\n", [("a.b", "C", "C"), ("a.b", "*", None), ("a.b", "C", "D")]),
        ("elixir", "alias A.{B, C}\nalias D.E\nalias D.E, as: F\nimport G, only: [h: 1]\n",
         [("A", "B", "B"), ("A", "C", "C"), ("D", "E", "E"), ("D.E", None, "F"), ("G", "*", None)]),
        ("haskell", "import A\nimport B (c, D(..))\nimport qualified E.F as G\nimport H hiding (i)\n",
         [("A", "*", None), ("B", "c", "c"), ("B", "D", "D"), ("E.F", None, "G"), ("H", "*", None)]),
        ("lua", "local a = require('b.c')\nrequire 'd'\n", [("b.c", None, "a"), ("d", None, None)]),
        ("zig", 'const a = @import("a.zig");\nconst B = @import("b.zig").B;\n', [("a.zig", None, "a"), ("b.zig", "B", "B")]),
        ("bash", 'source ./a.sh\n. "$HERE/b.sh"\n', [("./a.sh", "*", None), ("$HERE/b.sh", "*", None)]),
        ("swift", "import Shop\nimport struct Shop.Order\n", [("Shop", "*", None), ("Shop.Order", "*", None)]),
    ],
)  # fmt: skip
def test_what_an_import_binds(name: str, source: str, expected: list[tuple[str, str | None, str | None]]) -> None:
    assert [(item.module, item.name, item.local) for item in extract(language(name), source).imports] == expected


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("haskell", "-- | Adds\n-- numbers.\na = 1\n", "Adds numbers."),
        ("haskell", "{- | Adds\n   numbers.\n-}\na = 1\n", "Adds numbers."),
        ("lua", "--- Adds\n-- numbers.\nfunction a() end\n", "Adds numbers."),
        ("lua", "--[[ Adds numbers. ]]\nfunction a() end\n", "Adds numbers."),
        ("bash", "# Adds numbers.\na() { :; }\n", "Adds numbers."),
        ("bash", "#!/bin/bash\na() { :; }\n", ""),
        ("kotlin", "/** Adds numbers. */\nfun a() {}\n", "Adds numbers."),
        ("swift", "/// Adds\n/// numbers.\nfunc a() {}\n", "Adds numbers."),
        ("scala", "/** Adds\n  * numbers.\n  */\ndef a = 1\n", "Adds numbers."),
        ("zig", "/// Adds\n/// numbers.\nfn a() void {}\n", "Adds numbers."),
    ],
)
def test_documentation_is_read_without_its_markers(name: str, source: str, expected: str) -> None:
    assert symbols(name, source)["a"].doc == expected
