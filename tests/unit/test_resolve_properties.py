"""Resolution depends on the repository's contents alone; what ``must_resolve`` leaves alone would come out the same."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.domain.facts import FileFacts
from app.indexing.resolution.affected import passed_on
from app.indexing.resolution.carried import vocabulary
from app.indexing.resolve import DefinitionIndex, ResolvedEdge, affected_names, must_resolve, resolve_file, stale_modules
from tests.unit.resolve_cases import facts, named_edges

SOURCES = {
    "pkg/__init__.py": "from .shapes import *\nfrom .shapes import Circle as Round\n",
    "pkg/shapes.py": "from .base import Base\nclass Circle(Base):\n    def area(self):\n        return self.scale_by_unit()\n",
    "pkg/base.py": "class Base:\n    def scale_by_unit(self): pass\n    def area(self): pass\n",
    "use.py": """
        import pkg
        from pkg import Round
        shape = Round()
        def f():
            shape.area()
            pkg.Circle()
            shape.scale_by_unit()
        """,
    "other.py": "class Square:\n    def area(self): pass\ndef g(x):\n    x.scale_by_unit()\n",
    "a.ts": "export * from './b'\nexport default class Kit { open() {} }\n",
    "b.ts": "export * from './a'\nexport function helper() {}\n",
    "d.js": "const kit = require('./a')\nexports.kit = require('./a')\nfunction f() { kit(); kit.open() }\n",
    "e.js": "const { kit } = require('./d')\nfunction f() { kit() }\n",
    "c.ts": "import Kit, { helper as h } from './a'\nfunction f(kit: Kit) { h(); kit.open() }\n",
    "n/a.go": "package n\n\nfunc A() { b() }\n",
    "n/b.go": "package n\n\nfunc b() { A() }\n",
    "made.py": """
        from pkg.base import Base
        from other import Square
        class Kept(Base):
            def __init__(self, part): self.part = part
            def use(self): return self.part.area()
            def hook(self): return self.late()
        def make(): return Kept(Square())
        def outer():
            def inner(): pass
            table = {"a": inner, "b": make}
            return table
        """,
    "uses.py": """
        from made import make, outer, Kept
        def apply(task): return task()
        def work():
            kept = make()
            kept.use()
            apply(make)
            outer()["a"]()
            for step in kept: step()
            kept = Kept(3)
            kept.use()
        """,
    "tree.py": """
        from made import make
        from other import g
        def step(): pass
        nodes = {}
        nodes["self"] = nodes
        nodes["run"] = step
        nodes["deep"] = [nodes, {"in": [make, {"out": [nodes, {"end": [g, {"last": [step]}]}]}]}]
        def grow(): return [grow(), {"a": [make, grow()]}]
        def walk():
            nodes["self"]["run"]()
            nodes["deep"][0]["run"]()
            for node in nodes["deep"]: node["in"][0]()
        """,
    "walk.py": """
        from tree import grow, nodes
        def far():
            grow()[0][0][1]["a"][0]()
            grow()[1]["a"][1][1]["a"][0]()
            nodes["self"]["self"]["run"]()
            nodes["deep"][1]["in"][0]()
            nodes["deep"][1]["in"][1]["out"][1]["end"][0](1)
            nodes["deep"][1]["in"][1]["out"][1]["end"][1]["last"][0]()
        """,
    "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["lib/*"]}}}',
    "lib/tool.ts": "export function turn() {}\n",
    "src/tool.ts": "export function turn() {}\n",
    "kit/package.json": '{"name": "@own/kit", "main": "dist/main.js"}',
    "kit/src/main.ts": "export function start() {}\nexport const box = { items: [] as Part[] }\n",
    "kit/index.ts": "export function start() {}\n",
    "app.ts": """
        import { turn } from "@/tool"
        import { start } from "@own/kit"
        class Part { go() {} }
        function main(parts: Part[]) { turn(); start(); parts[0].go() }
        """,
    "go.mod": "module example.com/n\n",
    "cmd/main.go": 'package main\n\nimport "example.com/n/n"\n\nfunc main() { n.A() }\n',
    "old.js": """
        const app = {}
        app.set = function () {}
        app.enable = function () { this.set() }
        function View() { this.draw() }
        View.prototype.draw = function () {}
        function main() { app.enable(); new View().draw() }
        """,
    "x.c": '#include "y.h"\nint main(void) { return dial(); }\n',
    "y.h": "int dial(void);\n",
    "y.c": "int dial(void) { return 1; }\n",
}
VARIANTS: dict[str, list[str | None]] = {
    "pkg/__init__.py": ["", "from .base import *\nfrom .base import Base as Round\n", "from .shapes import Circle as Round\n"],
    "pkg/shapes.py": ["class Circle:\n    def area(self): pass\n", "from .base import Base\nclass Circle(Base): pass\n", None],
    "pkg/base.py": ["class Base:\n    def area(self): pass\n", "class Root:\n    def scale_by_unit(self): pass\nclass Base(Root): pass\n"],
    "pkg/circle.py": ["class Circle:\n    def area(self): pass\n    def scale_by_unit(self): pass\n"],
    "use.py": [None],
    "other.py": ["class Square:\n    def area(self): pass\n    def scale_by_unit(self): pass\ndef g(x):\n    x.scale_by_unit()\n", None],
    "a.ts": ["export * from './b'\nclass Box { open() {} }\nexport default Box\n", "export function helper() {}\n", None],
    "b.ts": ["export function helper() {}\nfunction spare() {}\nexport { spare as other }\n", None],
    "tsconfig.json": ['{"compilerOptions": {"paths": {"@/*": ["src/*"]}}}', '{"compilerOptions": {"baseUrl": "."}}', None],
    "kit/package.json": ['{"name": "@own/kit", "main": "index.ts"}', '{"name": "kit"}', None],
    "kit/src/main.ts": ["export function begin() {}\n", None],
    "lib/tool.ts": ["export const other = 1\n", None],
    "go.mod": ["module example.com/other\n", "module example.com\n", None],
    "old.js": [
        "const app = {}\napp.set = function () {}\napp.enable = function () { app.set() }\nclass View { draw() {} }\nnew View().draw()\n",
        None,
    ],
    "n/b.go": ["package n\n\nfunc c() {}\n", None],
    "n/c.go": ["package n\n\nfunc b() {}\n"],
    "made.py": [
        "class Kept:\n    def use(self): pass\n    def __iter__(self): return self\ndef make(): return Kept()\ndef outer(): return {}\n",
        "from other import Square\ndef make(): return Square()\nclass Kept(Square): pass\ndef outer(): return {'a': make}\n",
        None,
    ],
    "tree.py": [
        "from uses import work\nnodes = {}\nnodes['self'] = nodes\nnodes['run'] = work\nnodes['deep'] = [nodes, {'in': [work]}]\n",
        "from made import make\nnodes = [make]\nnodes.append(nodes)\ndef grow(): return [nodes, grow(), {'a': [grow()]}]\n",
        None,
    ],
    "grown.py": ["from tree import nodes\nfrom uses import apply\nnodes['run'] = apply\nnodes['deep'][1]['in'] = [apply]\n"],
    "late.py": ["from made import Kept\nclass Later(Kept):\n    def late(self): pass\n"],
    "passing.py": [
        "from uses import apply\nfrom other import g\napply(g)\n",
        "from uses import apply as run\nfrom made import outer\nrun(outer)\n",
    ],
    "y.h": ["int other(void);\n", None],
    "y.c": ["static int dial(void) { return 1; }\n", None],
    "z.c": ["int dial(void) { return 2; }\n"],
}
CHANGES = [(path, source) for path, sources in VARIANTS.items() for source in sources]


def built(files: dict[str, FileFacts]) -> dict[str, list[ResolvedEdge]]:
    index = DefinitionIndex(files.values())
    return {path: resolve_file(file, index) for path, file in files.items()}


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_the_order_of_files_plays_no_part(shuffler: random.Random) -> None:
    files = facts(SOURCES)
    expected = named_edges(files)
    shuffler.shuffle(files)
    assert named_edges(files) == expected
    assert len(expected) > 20


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=6))
@example([("kit/src/main.ts", "export function begin() {}\n"), ("kit/src/main.ts", None)])
def test_incremental_and_full_builds_agree(changes: list[tuple[str, str | None]]) -> None:
    files = {file.path: file for file in facts(SOURCES)}
    edges = built(files)
    index = DefinitionIndex(files.values())
    for path, source in changes:
        former = files.pop(path, None)
        present = facts({path: source})[0] if source is not None else None
        if former is not None:
            index.remove(path)
        if present is not None:
            files[path] = present
            index.add(present)
        affected = affected_names([former] if former else [], [present] if present else [], index)
        kept = {name: found for name, found in edges.items() if name in files}
        again = {name: resolve_file(file, index) for name, file in files.items() if name == path or must_resolve(file, affected)}
        assert {module.path for module in stale_modules(index, affected)} <= again.keys()
        edges = kept | again
        assert edges == built(files)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.sampled_from(CHANGES), max_size=6))
def test_a_file_depends_on_no_word_that_it_does_not_have(changes: list[tuple[str, str | None]]) -> None:
    """What passes a change on is looked for only in files that have a changed word."""
    for file in facts(SOURCES | {path: source for path, source in changes if source is not None}):
        index = DefinitionIndex([file])
        for module in index.modules.values():
            depends = {word for _, words in passed_on(module) for word in words if not word.endswith("(")}
            assert depends <= vocabulary(module)


@pytest.mark.parametrize("path", ["pkg/base.py", "other.py"])
def test_an_edit_that_changes_no_declaration_affects_nothing(path: str) -> None:
    files = {file.path: file for file in facts(SOURCES)}
    moved = facts({path: "\n\n" + SOURCES[path]})[0]
    index = DefinitionIndex([*files.values(), moved])
    affected = affected_names([files[path]], [moved], index)
    assert not affected.names
    assert not affected.modules


def test_unrelated_files_are_left_alone() -> None:
    files = {file.path: file for file in facts(SOURCES)}
    changed = facts({"pkg/base.py": "class Base:\n    def area(self): pass\n"})[0]
    index = DefinitionIndex([*(f for f in files.values() if f.path != "pkg/base.py"), changed])
    affected = affected_names([files["pkg/base.py"]], [changed], index)
    again = {path for path, file in files.items() if must_resolve(file, affected)}
    assert {"use.py", "other.py", "pkg/shapes.py"} <= again
    assert again.isdisjoint({"a.ts", "b.ts", "c.ts", "n/a.go", "n/b.go", "x.c", "y.h", "y.c"})


USERS = {f"use{n}.py" for n in range(5)}
POPULAR = {
    "text.py": "def slug(value, extra=None):\n    made = value.strip()\n    return Slug(made)\nclass Slug:\n    def show(self): pass\n",
    **{
        f"use{number}.py": f"from text import slug\ndef f{number}(name):\n    made = slug(name)\n    return made.show()\n"
        for number in range(5)
    },
    "ring.py": "from task import task\ndef ring():\n    return [ring(), lookup.get(1), {'in': [ring(), task]}]\n",
    "spin.py": "from ring import ring\ndef spin():\n    ring()[2]['in'][1]()\n",
    "task.py": "def first(): pass\ndef second(): pass\ntask = first\n",
    "given.py": "class Given:\n    def strip(self): pass\nclass Other:\n    def strip(self): pass\n",
}


@pytest.mark.parametrize(
    ("path", "added", "expected"),
    [
        ("new.py", "from text import slug\ndef fresh(name):\n    return slug(name)\n", set()),
        ("use0.py", "def fresh(name):\n    return slug(name.get())\n", set()),
        ("new.py", "from text import slug\nfrom given import Given\ndef fresh():\n    slug(Given)\n", {"text.py"}),
        ("text.py", "def fresh():\n    return slug(1)\n", set()),
        (
            "text.py",
            "def slug(value, extra=None):\n    return Kept()\nclass Kept:\n    def show(self): pass\n",
            {f"use{n}.py" for n in range(5)},
        ),
        ("new.py", "def get(key):\n    return key\n", {"ring.py"}),
        ("task.py", "task = second\n", {"ring.py", "spin.py"}),
    ],
    ids=[
        "the same value",
        "an unknown value",
        "another value",
        "a call beside it",
        "another result",
        "a collection in itself",
        "another item of it",
    ],
)
def test_a_value_is_followed_as_far_as_it_is_another(path: str, added: str, expected: set[str]) -> None:
    before = {file.path: file for file in facts(POPULAR)}
    after = {file.path: file for file in facts(POPULAR | {path: POPULAR.get(path, "") + added})}
    index = DefinitionIndex(after.values())
    affected = affected_names([before[path]] if path in before else [], [after[path]], index)
    assert {other for other, file in after.items() if other != path and must_resolve(file, affected)} == expected
    changed = {other for other, file in after.items() if other != path and built(before)[other] != resolve_file(file, index)}
    assert changed <= expected
