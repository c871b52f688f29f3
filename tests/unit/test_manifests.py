"""How imports are written, as project files say; and which files are meant."""

from __future__ import annotations

import json

import pytest

from app.indexing.manifests import manifest_imports
from tests.unit.resolve_cases import Graph


def said(path: str, text: str) -> list[tuple[str | None, str]]:
    return [(imported.name, imported.module) for imported in manifest_imports(path, text)]


def test_paths_of_the_compiler() -> None:
    text = """{
      // people write comments here
      "compilerOptions": { "baseUrl": "./src", /* and there */ "paths": { "@/*": ["app/*", "lib/*"], "url": ["https://no"], }, },
    }"""
    assert said("tsconfig.json", text) == [
        ("@/*", "./src/app/*"),
        ("@/*", "./src/lib/*"),
        ("url", "./src/https://no"),
        ("*", "./src/*"),
    ]
    assert said("packages/a/jsconfig.json", '{"compilerOptions": {"paths": {"#x": ["./x.js"]}}}') == [("#x", "././x.js")]


def test_exports_of_a_package() -> None:
    exports = {".": {"types": "./dist/a.d.ts", "import": "./dist/a.js"}, "./sub/*": "./lib/sub/*.js", "./none": None}
    assert said("package.json", json.dumps({"name": "@own/a", "exports": exports, "imports": {"#in": "./src/in.js"}})) == [
        ("#in", "./src/in.js"),
        ("@own/a", "./dist/a.js"),
        ("@own/a", "./src/a.js"),
        ("@own/a", "./dist/a.d.ts"),
        ("@own/a", "./src/a.d.ts"),
        ("@own/a/sub/*", "./lib/sub/*.js"),
        ("@own/a/sub/*", "./src/sub/*.js"),
    ]
    assert said("package.json", '{"name": "b", "main": "index.js"}') == [
        ("b", "index.js"),
        ("b", "./index"),
        ("b", "./src/index"),
        ("b/*", "./*"),
    ]


def test_a_module_of_go() -> None:
    assert said("tool/go.mod", "// about\nmodule example.com/tool // v2\n\ngo 1.22\n") == [("example.com/tool", ".")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tsconfig.json", "{ broken"),
        ("tsconfig.json", "[]"),
        ("tsconfig.json", '{"compilerOptions": {"paths": {"a": "no list"}, "baseUrl": 3}}'),
        ("package.json", '{"name": 3, "exports": 4, "imports": []}'),
        ("package.json", "[" * 100_000),
        ("go.mod", ""),
        ("data.json", '{"name": "x", "main": "y"}'),
        ("composer.json", "{}"),
    ],
)
def test_what_says_nothing(path: str, text: str) -> None:
    assert said(path, text) == []


def test_the_nearest_compiler_options_count() -> None:
    graph = Graph(
        {
            "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["lib/*"]}}}',
            "web/tsconfig.app.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["own/*"]}}}',
            "lib/a.ts": "export function f() {}\n",
            "lib/b.ts": "export function g() {}\n",
            "web/own/a.ts": "export function f() {}\n",
            "web/main.ts": "import { f } from '@/a'\nimport { g } from '@/b'\nimport { f as h } from 'own/a'\nf(); g(); h()\n",
        }
    )
    assert graph.out("web/main.ts") == {"web/own/a.ts:f": "exact", "lib/b.ts:g": "exact"}


def test_packages_of_the_repository_are_known_by_their_names() -> None:
    graph = Graph(
        {
            "packages/core/package.json": '{"name": "@own/core", "exports": {".": "./dist/index.js", "./io": "./io.ts"}}',
            "packages/core/src/index.ts": "export function start() {}\n",
            "packages/core/io.ts": "export function read() {}\n",
            "packages/core/hidden.ts": "export function hide() {}\n",
            "app/node_modules/left/package.json": '{"name": "left"}',
            "app/node_modules/left/index.js": "exports.pad = function () {}\n",
            "app/main.ts": (
                "import { start } from '@own/core'\nimport { read } from '@own/core/io'\nimport { hide } from '@own/core/hidden'\n"
                "import { pad } from 'left'\nstart(); read(); hide(); pad()\n"
            ),
        }
    )
    assert graph.out("app/main.ts") == {"packages/core/src/index.ts:start": "exact", "packages/core/io.ts:read": "exact"}


def test_go_modules_need_no_vote() -> None:
    graph = Graph(
        {
            "go.mod": "module example.com/a/v2\n",
            "tools/go.mod": "module example.com/tools\n",
            "store/store.go": "package store\n\nfunc Open() {}\n",
            "tools/gen/gen.go": "package gen\n\nfunc Run() {}\n",
            "main.go": (
                'package main\n\nimport (\n\t"example.com/a/v2/store"\n\t"example.com/tools/gen"\n)\n\n'
                "func main() {\n\tstore.Open()\n\tgen.Run()\n}\n"
            ),
        }
    )
    assert graph.out("main.go:main") == {"store/store.go:Open": "exact", "tools/gen/gen.go:Run": "exact"}
