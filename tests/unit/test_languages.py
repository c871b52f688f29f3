"""Which language a file is in, and that the language data is sound."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.errors import ConfigurationError
from app.languages.registry import PARSED, LanguageSpec, Registry, language, language_names, language_of, registry, validate


@pytest.mark.parametrize(
    ("path", "head", "expected"),
    [
        ("src/app.py", "", "python"),
        ("types/stub.pyi", "", "python"),
        ("SRC/APP.PY", "", "python"),
        ("a/b.test.jsx", "", "javascript"),
        ("types/index.d.ts", "", "typescript"),
        ("page.tsx", "", "tsx"),
        ("main.go", "", "go"),
        ("Main.java", "", "java"),
        ("lib.rs", "", "rust"),
        ("main.c", "", "c"),
        ("main.cc", "", "cpp"),
        ("Program.cs", "", "csharp"),
        ("config.ru", "", "ruby"),
        ("Rakefile", "", "ruby"),
        ("index.php", "", "php"),
        ("bin/run", "#!/usr/bin/env python3", "python"),
        ("bin/run", "#!/usr/bin/python3.11 -u\nx", "python"),
        ("bin/run", "#!/usr/bin/env -S node --harmony", "javascript"),
        ("bin/run", "#!/bin/bash -e", "bash"),
        ("bin/run", "#! /usr/bin/env  ruby", "ruby"),
        ("bin/run", "#!", None),
        ("bin/run", "python", None),
        ("README.md", "", "markdown"),
        ("docs/index.rst", "", "restructuredtext"),
        (".github/workflows/ci.yml", "", "yaml"),
        ("package.json", "", "json"),
        ("pyproject.toml", "", "toml"),
        ("index.html", "", "html"),
        ("style.css", "", "css"),
        ("schema.sql", "", "sql"),
        ("Dockerfile", "", "dockerfile"),
        ("Dockerfile.dev", "", "dockerfile"),
        ("Makefile", "", "makefile"),
        ("Main.kt", "", "kotlin"),
        ("App.swift", "", "swift"),
        ("Main.scala", "", "scala"),
        ("init.lua", "", "lua"),
        ("Main.hs", "", "haskell"),
        ("mix.exs", "", "elixir"),
        ("page.html.heex", "", "eex"),
        ("build.zig", "", "zig"),
        ("test/add.bats", "", "bash"),
        ("configure", "", "bash"),
        ("configure.ac", "", "autoconf"),
        ("bin/run", "#!/usr/bin/env luajit", "lua"),
        (".gitignore", "", "ignore"),
        ("LICENSE", "", "text"),
        ("archive.tar.gz", "", None),
        ("noextension", "", None),
        ("", "", None),
    ],
)
def test_language_of_a_file(path: str, head: str, expected: str | None) -> None:
    found = language_of(path, head)
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("", "c"),
        ("#include <stdio.h>\nint f(void);\n", "c"),
        ("struct point { int x; };\ntypedef struct point point;\n", "c"),
        ("/* the class of it */\nint using;\n", "c"),
        ("#pragma once\nnamespace geometry {\n", "cpp"),
        ("template <typename T>\nT f(T);\n", "cpp"),
        ("struct A {\n  public:\n  int x;\n};\n", "cpp"),
        ("#include <vector>\n", "cpp"),
        ("// -*- C++ -*-\n", "cpp"),
        ("void f(std::string name);\n", "cpp"),
    ],
)
def test_a_header_is_what_it_says(head: str, expected: str) -> None:
    found = language_of("include/point.h", head)
    assert found is not None
    assert found.name == expected


def test_every_query_compiles_and_every_pattern_has_one_role() -> None:
    validate()
    for name in PARSED:
        roles = language(name).compiled.roles
        assert {"definition", "reference", "import", "mark"} <= {role.group for role in roles}


def test_only_listed_languages_have_a_grammar() -> None:
    parsed = {name for name, spec in registry().languages.items() if spec.grammar is not None}
    assert parsed == set(PARSED)
    assert language("cobol").grammar is None


def test_a_folder_is_a_language_or_a_base_of_one() -> None:
    folder = Path(__file__).parents[2] / "app" / "languages"
    folders = {path.name for path in folder.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert folders == {*PARSED, "ecmascript", "jsx"}


def test_the_documentation_names_every_parsed_language() -> None:
    page = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for name in PARSED:
        assert f"`{name}`" in page


def test_two_languages_may_not_claim_the_same_extension() -> None:
    with pytest.raises(ConfigurationError, match=r"one and two both claim \.x"):
        Registry((LanguageSpec("one", extensions=(".x",)), LanguageSpec("two", extensions=(".x",))))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("(function_definition name: (identifier) @name)", "exactly one role"),
        ("(function_definition name: (identifier) @name) @definition.functoin", "exactly one role"),
        ("(function_definition name: (identifier) @definition.function) @reference.call", "exactly one role"),
        ("(function_definition name: (identifier) @nmae) @definition.function", "exactly one role"),
        ("(no_such_node) @comment", "no_such_node"),
        ("(comment @comment", "language broken"),
    ],
)
def test_a_wrong_pattern_is_refused_with_its_text(source: str, complaint: str) -> None:
    spec = LanguageSpec("broken", grammar="python", query_source=source)
    with pytest.raises(ConfigurationError, match=complaint):
        _ = spec.compiled


def test_an_unknown_grammar_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="language broken"):
        _ = LanguageSpec("broken", grammar="nonsense").compiled


def test_a_text_language_has_nothing_to_compile() -> None:
    with pytest.raises(ConfigurationError, match="no grammar"):
        _ = language("markdown").compiled


@pytest.mark.parametrize(
    ("written", "name"),
    [
        *(("py", "python"), ("js", "javascript"), ("jsx", "javascript"), ("node", "javascript"), ("ts", "typescript"), ("tsx", "tsx")),
        *(("rb", "ruby"), ("rs", "rust"), ("cs", "csharp"), ("c#", "csharp"), ("C++", "cpp"), ("hpp", "cpp"), ("h", "c"), ("golang", "go")),
        *(("sh", "bash"), ("shell", "bash"), ("zsh", "bash"), ("yml", "yaml"), ("kt", "kotlin"), ("hs", "haskell"), ("ex", "elixir")),
        *(("md", "markdown"), ("rst", "restructuredtext"), ("docker", "dockerfile"), ("tf", "terraform"), ("objc", "objective-c")),
    ],
)
def test_what_a_language_may_be_called(written: str, name: str) -> None:
    assert registry().names.known_as([written, f"!{written}"]) == ((name, f"!{name}"), ())


def test_every_language_is_called_by_its_own_name() -> None:
    assert registry().names.known_as(registry().languages) == (tuple(registry().languages), ())


def test_a_name_that_no_language_has() -> None:
    assert registry().names.known_as(["Klingon", "!klingon", "py"]) == (("klingon", "!klingon", "python"), ("klingon",))
    assert [registry().names.near(name) for name in ("pyton", "typscript", "kotln", "klingon")] == [
        ("python",),
        ("typescript",),
        ("kotlin",),
        (),
    ]


def test_an_alias_names_one_language() -> None:
    with pytest.raises(ConfigurationError, match="both claim x"):
        language_names([LanguageSpec("a", aliases=("x",)), LanguageSpec("b", aliases=("x",))])
    with pytest.raises(ConfigurationError, match="the name of another"):
        language_names([LanguageSpec("a", aliases=("b",)), LanguageSpec("b")])
