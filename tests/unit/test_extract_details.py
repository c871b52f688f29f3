"""Single rules of extraction, one small source each."""

from __future__ import annotations

import pytest

from app.domain.code import Symbol, SymbolKind
from app.indexing.extract import extract
from app.indexing.import_trees import ImportLeaf, import_leaves
from app.indexing.nesting import enclosing_symbols
from app.languages.registry import language


def symbols(name: str, source: str) -> dict[str, Symbol]:
    return {symbol.qualified: symbol for symbol in extract(language(name), source).symbols}


def exported(name: str, source: str) -> set[str]:
    return {qualified for qualified, symbol in symbols(name, source).items() if symbol.exported}


def uses(name: str, source: str) -> list[tuple[str, str, str | None]]:
    return [(reference.kind.value, reference.name, reference.receiver) for reference in extract(language(name), source).references]


def brought_in(name: str, source: str) -> list[tuple[str, str | None, str | None, bool]]:
    return [(item.module, item.name, item.local, item.reexport) for item in extract(language(name), source).imports]


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("javascript", "function a() {}\nfunction b() {}\nexport { b };", {"b"}),
        ("javascript", "function a() {}\nmodule.exports = { a, m() {} };\nfunction c() {}", {"a", "m"}),
        ("javascript", "const a = () => 1;\nmodule.exports = a;", {"a"}),
        ("javascript", "function a() {}\nexports.b = a;", {"a"}),
        ("javascript", "var app = exports = module.exports = {};\napp.use = function use() {};", {"app", "app.use"}),
        ("typescript", "export class A { private b() {} #c() {} d() {} }", {"A", "A.d"}),
        ("typescript", "export namespace N { export function a() {} function b() {} }", {"N", "N.a"}),
        (
            "python",
            "class A:\n  def b(self): pass\n  def _c(self): pass\n  def __d__(self): pass\ndef e():\n  def f(): pass",
            {"A", "A.b", "A.__d__", "e"},
        ),
        ("python", "class _A:\n  def b(self): pass", set()),
        ("go", "package p\nfunc A() {}\nfunc b() {}\ntype C struct { D, e int }", {"A", "C", "C.D"}),
        (
            "rust",
            "pub struct A { pub b: u8, c: u8 }\nimpl A { pub fn d() {} fn e() {} }\nimpl B for A { fn f() {} }",
            {"A", "A.b", "A.d", "A.f"},
        ),
        ("java", "public class A { public int b; int c; private int d; protected int e; }", {"A", "A.b", "A.e"}),
        ("java", "class A { public int b; }", set()),
        ("csharp", "public interface A { void B(); }\ninternal class C { public void D() {} }", {"A", "A.B"}),
        ("php", "<?php class A { function b() {} private function c() {} static function d() {} }", {"A", "A.b", "A.d"}),
        ("c", "static int a(void) { return 1; }\nint b(void) { return 1; }\nstatic int c;", {"b"}),
        ("cpp", "class A { int b; public: int c; protected: int d; };\nstruct E { int f; private: int g; };", {"A", "A.c", "E", "E.f"}),
        ("cpp", "class A { class B { public: int c; }; int d; public: int e; };", {"A", "A.e"}),
        ("ruby", "class A\n  def b; end\n  private\n  def c; end\n  public\n  def d; end\n  private def e; end\nend", {"A", "A.b", "A.d"}),
    ],
)
def test_what_is_exported(name: str, source: str, expected: set[str]) -> None:
    assert exported(name, source) == expected


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("javascript", "var a = function () {}, b = async () => { var c = 1; };", {"a": "function", "b": "function"}),
        ("javascript", "(function () { var a = 1; function b() {} })();", {"b": "function"}),
        ("javascript", "function A() { this.b = 1; this.c = () => 1; }", {"A": "function", "A.c": "function"}),
        ("javascript", "const x = require('x'); const { y } = require('y'); const z = require('z').z;", {}),
        ("javascript", "class A { constructor() { this.b = 1; } c() { this.b = 2; this.d = 3; } }",
         {"A": "class", "A.constructor": "constructor", "A.b": "field", "A.c": "method", "A.d": "field"}),
        ("python", "x: int\nx = 1\nx = 2\nif x:\n  Y = 1\nfor z in x: w = z", {"x": "variable", "Y": "constant", "w": "variable"}),
        ("python", "type A = int\ntype B[T] = list[T]", {"A": "type", "B": "type"}),
        ("go", "package p\nfunc f() { var x int; const y = 1; type t struct{} }\nvar g = func() { z := 1; _ = z }",
         {"f": "function", "f.t": "struct", "g": "variable"}),
        ("c", "struct s { int a; } v;\ntypedef struct n { int b; } t;",
         {"v": "variable", "s": "struct", "s.a": "field", "t": "type", "n": "struct", "n.b": "field"}),
        ("c", "int f(void) { int g(int); int x = 1; return x; }", {"f": "function"}),
        ("c", "#define GUARD\n#define A 1\n", {"A": "macro"}),
        ("cpp", "void f() { Widget w(1); auto g = [](int a) { int b = a; return b; }; }", {"f": "function"}),
        ("cpp", "bool ns::Box<std::pair<A, B>>::operator<(int o) const { return true; }", {"ns.Box.operator<": "method"}),
        ("cpp", "Box::Box() {}\nBox::~Box() {}", {"Box.Box": "constructor", "Box.~Box": "method"}),
        ("csharp", "namespace A.B { namespace C { class D { D() {} } } }",
         {"A.B": "namespace", "A.B.C": "namespace", "A.B.C.D": "class", "A.B.C.D.D": "constructor"}),
        ("php", "<?php namespace A; class B {} namespace C; class D {}",
         {"A": "namespace", "A.B": "class", "C": "namespace", "C.D": "class"}),
        ("php", "<?php namespace A\\B { function c() {} }", {"A.B": "namespace", "A.B.c": "function"}),
        ("ruby", "class A::B\n  def c; end\nend\nP = Data.define(:x)", {"A.B": "class", "A.B.c": "method", "P": "class"}),
        ("rust", "mod a { impl b::C for D<u8> { fn e() {} } }", {"a": "module", "a.D": "impl", "a.D.e": "method"}),
    ],
)  # fmt: skip
def test_what_is_a_symbol(name: str, source: str, expected: dict[str, str]) -> None:
    assert {qualified: symbol.kind.value for qualified, symbol in symbols(name, source).items()} == expected


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("python", "def f(g):\n    g(); h(); g.i()", [("call", "g", ""), ("call", "h", None), ("call", "i", "g")]),
        ("python", "def f():\n    def g(): pass\n    g()", [("call", "g", None)]),
        ("python", "import m\nx = [m.a, m.B.c, n.d, n.E, n.EF]", [("read", "a", "m"), ("read", "c", "m.B"), ("read", "EF", "n")]),
        ("python", "a().b(1).c()", [("call", "a", None), ("call", "b", "a()"), ("call", "c", "a().b(1)")]),
        ("python", "def f(x: Optional['A.b'] | list[int]) -> 'C': pass", [("type", "Optional", None), ("type", "C", None)]),
        ("javascript", "import m from 'm';\n(m) => { m(); };\nnew m.A(); <B.C/>;",
         [("call", "m", None), ("call", "A", "m"), ("call", "C", "B")]),
        ("go", "package p\nfunc f(a A) { g(a, b); h(b.c) }",
         [("type", "A", None), ("call", "g", None), ("read", "b", None), ("call", "h", None)]),
        ("rust", "fn f() { vec![a(1), b.c(2), D::e(3)]; }",
         [("call", "vec", None), ("call", "a", None), ("call", "c", "b"), ("call", "e", "D")]),
        ("java", "class A<T> { T b(T c) { return d(c, this::e); } }", [("call", "d", None), ("read", "e", "this")]),
        ("cpp", "struct A : n::m::B<int>, C {};", [("inherit", "B", "n::m"), ("inherit", "C", None)]),
        ("ruby", "def f(a)\n  a\n  b\n  C.new(a)\nend",
         [("call", "b", None), ("call", "C", None), ("call", "new", "C")]),
        ("php", "<?php \\A\\b(); new \\C();", [("call", "b", "A"), ("call", "C", None)]),
    ],
)  # fmt: skip
def test_what_is_a_reference(name: str, source: str, expected: list[tuple[str, str, str | None]]) -> None:
    assert uses(name, source) == expected


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("python", "from .. import a\nfrom ...b.c import d as e, f\nimport g.h, i as j\nfrom k import *",
         [("..", "a", "a", False), ("...b.c", "d", "e", False), ("...b.c", "f", "f", False),
          ("g.h", None, "g.h", False), ("i", None, "j", False), ("k", "*", None, False)]),
        ("python", "try:\n    import a\nexcept ImportError:\n    from b import a",
         [("a", None, "a", False), ("b", "a", "a", False)]),
        ("javascript", "export * as n from 'm';\nexport { default } from 'm';\nexport { a as b };\nexport default class C {}",
         [("m", None, "n", True), ("m", "default", "default", True), ("", "a", "b", True), ("", "C", "default", True)]),
        ("javascript", "exports.a = require('./a');\nmodule.exports = require('./b');\nmodule.exports = C;",
         [("./a", None, "a", True), ("./b", "*", None, True), ("", "C", "default", True)]),
        ("javascript", "const a = await import('b');\nlazy(() => import(`c`));\nrequire(d);\nif (x) { require('e') }",
         [("b", None, "a", False), ("e", None, None, False)]),
        ("typescript", "import type A, { type B } from './m';\nimport { default as C } from './n';\nexport = D;",
         [("./m", "default", "A", False), ("./m", "B", "B", False), ("./n", "default", "C", False), ("", "D", "default", True)]),
        ("go", "package p\nimport \"a/go-b\"\nimport `c`\nimport \"d.v2\"", [("a/go-b", None, "b", False), ("d.v2", None, "d", False)]),
        ("rust", "pub use a::*;\nuse b as c;\nuse d::e as _;\nextern crate f as g;",
         [("a", "*", None, True), ("b", None, "c", False), ("d", "e", None, False), ("f", None, "g", False)]),
        ("csharp", "global using A;\nnamespace B { using C.D; }", [("A", "*", None, False), ("C.D", "*", None, False)]),
        ("php", "<?php use A; use B\\C, D\\E as F; use const G\\H; class X { use Y; }",
         [("A", None, "A", False), ("B", "C", "C", False), ("D", "E", "F", False), ("G", "H", "H", False)]),
        ("ruby", "require 'a/b'\nrequire_relative '../c'\nrequire x\nload 'd.rb'",
         [("a/b", "*", None, False), ("../c", "*", None, False), ("d.rb", "*", None, False)]),
    ],
)  # fmt: skip
def test_what_is_imported(name: str, source: str, expected: list[tuple[str, str | None, str | None, bool]]) -> None:
    assert brought_in(name, source) == expected


def test_import_trees_nest_and_may_be_cut_short() -> None:
    assert import_leaves(b"a::{b, c::{self, d as e, *}, /* f, */ g}", "::") == [
        ImportLeaf("a", "b", "b", 4),
        ImportLeaf("a", "c", "c", 11),
        ImportLeaf("a::c", "d", "e", 17),
        ImportLeaf("a::c", "*", None, 25),
        ImportLeaf("a", "g", "g", 38),
    ]
    assert [leaf.local for leaf in import_leaves(b"a::{b, c::{d", "::")] == ["b", "d"]
    assert import_leaves(b"}}}, ,{", "::") == []


def test_a_definition_begins_with_its_decorators_and_ends_with_its_body() -> None:
    found = symbols("python", "# note\n@a\n# why\n@b(\n  1\n)\n\n\ndef f(): pass\n\n\n@c\nasync def g():\n    return 1\n\n")
    assert (found["f"].start_line, found["f"].name_line, found["f"].end_line) == (9, 9, 9)
    assert (found["g"].start_line, found["g"].name_line, found["g"].end_line) == (12, 13, 14)
    found = symbols("typescript", "@A({\n  b: 1,\n}) export class C {\n  @D() e = 1; @F() g = 2;\n}")
    assert [(s.start_line, s.name_line) for s in found.values()] == [(1, 3), (4, 4), (4, 4)]


def test_documentation_is_directly_above_or_inside() -> None:
    found = symbols("go", "package p\n\n// Far away.\n\nvar a = 1 // beside\nvar b = 2\n\n/* One\n * two */\nfunc C() {}\n")
    assert [(s.name, s.doc) for s in found.values()] == [("a", ""), ("b", ""), ("C", "One two")]
    found = symbols(
        "python", 'class A:\n    r"""Raw\n\n    text."""\n    def b(self):\n        "short"\n    def c(self):\n        x = "no"\n'
    )
    assert [(s.name, s.doc) for s in found.values()] == [("A", "Raw text."), ("b", "short"), ("c", "")]
    long = symbols("rust", "/// " + "word " * 200 + "\nfn a() {}")["a"].doc
    assert len(long) == 300
    assert long.endswith("…")


def test_a_signature_is_one_line_without_body_and_comments() -> None:
    found = symbols("typescript", "export async function f(\n  a: number, // first\n  b = {},\n): Promise<void> {\n  return;\n}")
    assert found["f"].signature == "export async function f( a: number, b = {}, ): Promise<void>"
    assert symbols("c", "int f(int a);")["f"].signature == "int f(int a);"
    assert symbols("c", "extern int a;")["a"].signature == "extern int a;"
    assert symbols("c", "int a;")["a"].signature == "int a"
    assert len(symbols("python", "x = [" + "1, " * 1_000 + "]")["x"].signature) == 300


def test_enclosing_symbols_are_the_innermost() -> None:
    spans = [(0, 100), (10, 50), (20, 30), (20, 30), (60, 60), (60, 90)]
    assert list(enclosing_symbols(spans, [0, 5, 10, 25, 30, 55, 60, 89, 90, 100])) == [0, 0, 1, 2, 1, 0, 5, 5, 0, None]


def test_a_field_set_in_a_method_belongs_to_the_type_and_encloses_nothing() -> None:
    extraction = extract(language("python"), "class A:\n    def b(self):\n        self.c = d()\n        def e():\n            self.f = 1\n")
    assert [(s.qualified, s.kind) for s in extraction.symbols] == [
        ("A", SymbolKind.CLASS),
        ("A.b", SymbolKind.METHOD),
        ("A.c", SymbolKind.FIELD),
        ("A.b.e", SymbolKind.FUNCTION),
        ("A.f", SymbolKind.FIELD),
    ]
    assert [(r.name, r.enclosing) for r in extraction.references] == [("d", 1)]
