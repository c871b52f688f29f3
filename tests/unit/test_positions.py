"""What the name at a place means: ``^`` in the line below a name asks, and what follows lists the lines of its definitions."""

from __future__ import annotations

import re

import pytest

from app.domain.code import EdgeClass
from app.domain.position import NameAt
from app.indexing.positions import SourceFile, name_at
from app.indexing.resolve import DefinitionIndex
from app.languages.registry import language_of

_ASKED = re.compile(r"^\W*(\^)(.*)$")

PYTHON = """\
import os
#      ^
from lib.shapes import Circle as Round, area
#                      ^ lib/shapes.py:1
#                                       ^ lib/shapes.py:5
from lib import missing

limit = 3

def outer(count, *rest):
    total = count
#           ^ 10
    if total > limit:
#      ^ 11
#              ^ 8
        total = len(rest)
#                   ^ 10
    def inner():
        return total
#              ^ 11 16
    print(total)
#         ^ 16 11
    squares = [value * value for value in rest]
#              ^ 23
    return inner
#          ^ 18

class Box:
    size = limit
    def grow(self, by=limit):
        self.size = self.size + by
#                        ^ 29
#                               ^ 30
        return size
#              ^

def shape(made: Round):
    return made.radius, area(Round(1)), outer(count=limit)
#               ^ lib/shapes.py:2
#                       ^ lib/shapes.py:5
#                                             ^
#          ^ 37
text = "limit"
#       ^
"""

SHAPES = """\
class Circle:
    def __init__(self, radius): self.radius = radius


def area(circle): return 3 * circle.radius
"""

SCRIPT = """\
import { make, other as another } from "./made";
//       ^ made.ts:1
//              ^ made.ts:2
const settings = { depth: 1, nested: { on: true } };
export function run(input: number, { key, named: alias }: Options) {
    let found = input;
//              ^ 5
    for (let found = 0; found < input; found++) {
//                      ^ 8
        var late = found;
//                 ^ 8
    }
    another(found, late, key, alias);
//          ^ 6
//                 ^ 10
//                       ^ 5
//                            ^ 5
//  ^ made.ts:2
    return settings.nested.on;
//                  ^ 4
//                         ^ 4
}
interface Options { key: string; named: string }
"""

MADE = "export const make = () => 1;\nexport function other() {}\n"


OTHERS = {
    "m.go": """package m

import "fmt"

var top = 1

func f(count int, names ...string) (err error) {
	total := count
//          ^ 7
	for i, name := range names {
//                      ^ 7
		total += i
//          ^ 10
		fmt.Println(name, top)
//              ^ 10
//                    ^ 5
	}
	if value, ok := g(total); ok {
		return value
//          ^ 18
	}
	h := func(x int) int { return x + total }
//                             ^ 22
//                                     ^ 8
	return h(err)
//      ^ 22
//        ^ 7
}
""",
    "m.c": """int top = 1;

int f(int count, char *name, int list[]) {
    int total = count;
//              ^ 3
    for (int i = 0; i < total; i++) {
//                  ^ 6
//                      ^ 4
        char *p = name;
//                ^ 3
        total += list[i] + *p + top;
//               ^ 3
//                          ^ 9
//                              ^ 1
    }
    return total;
//         ^ 4
}
""",
    "m.rs": """fn f(count: i32, name: &str) -> i32 {
    let total = count;
//              ^ 1
    let g = |x: i32| x + total;
//                   ^ 4
//                       ^ 2
    for (i, c) in name.chars().enumerate() {
//                ^ 1
        println!("{}", i);
        let d = c;
//              ^ 7
    }
    match Some(total) {
//             ^ 2
        Some(v) => v,
//                 ^ 15
        None => g(total),
//              ^ 4
    }
}
""",
    "M.java": """class M {
    int size;
    int f(int count, String... names) {
        int total = count + size;
//                  ^ 3
//                          ^ 2
        for (String name : names) { total += name.length(); }
//                         ^ 3
//                                           ^ 7
        try { g(total); } catch (Exception e) { throw e; }
//              ^ 4
//                                                    ^ 10
        Runnable r = () -> g(total);
//                           ^ 4
        return total;
//             ^ 4
    }
    void g(int x) {}
}
""",
}


def opened(files: dict[str, str]) -> tuple[dict[str, SourceFile], DefinitionIndex]:
    parsed = {}
    for path, text in files.items():
        spec = language_of(path, text)
        assert spec is not None
        parsed[path] = SourceFile(spec, path, text)
    return parsed, DefinitionIndex(file.facts for file in parsed.values())


def asked(text: str) -> list[tuple[int, int, list[str]]]:
    """(1-based line, 0-based column, what is expected)."""
    found, above = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        match = _ASKED.match(line)
        if match is None:
            above = number
        else:
            found.append((above, match.start(1), match[2].split()))
    return found


def shown(path: str, at: NameAt | None) -> list[str]:
    return [str(site.line) if site.path == path else f"{site.path}:{site.line}" for site in at.definitions] if at else []


@pytest.mark.parametrize(
    ("path", "files"),
    [
        ("app.py", {"app.py": PYTHON, "lib/__init__.py": "", "lib/shapes.py": SHAPES}),
        ("run.ts", {"run.ts": SCRIPT, "made.ts": MADE}),
        *((path, {path: text}) for path, text in OTHERS.items()),
    ],
)
def test_every_place_leads_to_its_lines(path: str, files: dict[str, str]) -> None:
    parsed, index = opened(files)
    wrong = []
    for line, column, expected in asked(files[path]):
        found = [one for one in shown(path, name_at(parsed[path], index, line, column)) if one != str(line) or one in expected]
        if sorted(found) != sorted(expected):
            wrong.append((line, column, found, expected))
    assert wrong == []


def test_a_definition_is_its_own() -> None:
    parsed, index = opened({"a.py": "def f():\n    pass\n"})
    at = name_at(parsed["a.py"], index, 1, 4)
    assert at is not None
    (site,) = at.definitions
    assert (at.name, site.line, site.column, site.kind, site.edge_class) == ("f", 1, 4, "function", EdgeClass.EXACT)
    assert site.symbol_id == parsed["a.py"].facts.symbol_ids[0]


def test_right_behind_a_name_is_still_the_name() -> None:
    parsed, index = opened({"a.py": "def f(größe):\n    return größe\n"})
    for column in (11, 15, 16):
        at = name_at(parsed["a.py"], index, 2, column)
        assert at is not None
        assert (at.name, at.line, at.column, at.occurrences) == ("größe", 2, 11, ((1, 6), (2, 11)))


@pytest.mark.parametrize(("line", "column"), [(1, 0), (3, 9), (3, 30), (9, 0), (4, 0)])
def test_where_no_name_stands(line: int, column: int) -> None:
    parsed, index = opened({"a.py": "\n# a comment\nx = 'some text' + 1\n"})
    assert name_at(parsed["a.py"], index, line, column) is None


def test_an_import_that_leads_out_of_the_repository_is_its_own_definition() -> None:
    parsed, index = opened({"a.py": "import os.path\nfrom json import dumps\n\nprint(dumps(os.path))\n"})
    for column, line in ((6, 2), (12, 1)):
        at = name_at(parsed["a.py"], index, 4, column)
        assert at is not None
        assert [(site.line, site.kind) for site in at.definitions] == [(line, "import")]


def test_occurrences_leave_out_namesakes() -> None:
    text = "function f(a) {\n  const b = a.b + b2({ b: 1 });\n  { const b = 2; g(b); }\n  return b;\n}\n"
    parsed, index = opened({"a.js": text})
    at = name_at(parsed["a.js"], index, 4, 9)
    assert at is not None
    assert at.occurrences == ((2, 8), (4, 9))


def test_languages_without_scopes_know_their_symbols() -> None:
    parsed, index = opened({"a.go": "package a\n\nfunc helper() int { return 1 }\n\nfunc main() { helper() }\n"})
    at = name_at(parsed["a.go"], index, 5, 15)
    assert at is not None
    assert [(site.line, site.kind) for site in at.definitions] == [(3, "function")]
