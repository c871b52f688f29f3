"""An index that grew step by step is the index that a fresh build makes; through broken syntax, moves, reverts and sweeps.

``INCREMENTAL_EXAMPLES`` sets how many histories are tried (a few by default).
"""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app import bootstrap
from app.config import Settings
from app.indexing.parse import ParsePool
from app.storage.sweep import due, sweep
from tests.integration.conftest import Bench
from tests.integration.index_content import index_content

PATHS = ("a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "d.js", "e.go", "notes.md", "A.py", ".gitignore", ".gitattributes")

SOURCES = (
    "def shared(x):\n    return x\n",
    "from a import shared\n\n\ndef user(y):\n    return shared(y)\n",
    "from b import user\n\n\nclass Base:\n    def run(self):\n        return user(1)\n\n\n"
    "class Child(Base):\n    def run(self):\n        return super().run()\n",
    "import a\nimport pkg.c as c\n\n\ndef wide():\n    return a.shared(c.wide())\n",
    "from .c import wide\n",
    "def broken(:\n    return shared(\n\nclass Half\n    def x(self)\n",
    "def shared(x):\n    return x\n" * 40,
    "export function shared(a) { return a }\nimport { user } from './b.js'\nuser(shared(1))\n",
    "package main\n\nfunc shared(a int) int { return a }\n\nfunc main() { shared(1) }\n",
    "export function half( { return {{{\n",
    "# Notes\n\nshared and user.\n",
    "",
    "e.go\nnotes.md\n",
    "!e.go\n",
    "a.py linguist-generated\npkg/** linguist-vendored\n",
    "a.py -linguist-generated\n",
    "x = 1\r\ny = 2\r\rz = 3",
)

WRITE = st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(SOURCES))
DELETE = st.tuples(st.just("delete"), st.sampled_from(PATHS))
MOVE = st.tuples(st.just("move"), st.sampled_from(PATHS), st.sampled_from(PATHS))
REVERT = st.tuples(st.just("revert"), st.integers(1, 3))
EDITS = st.lists(st.one_of(WRITE, WRITE, DELETE, MOVE), min_size=1, max_size=4)
STEPS = st.lists(st.tuples(st.one_of(EDITS, EDITS, EDITS, st.lists(REVERT, min_size=1, max_size=1)), st.booleans()), min_size=2, max_size=6)
"""What happens to the tree before each run, and whether what is replaced is swept after it."""

Step = tuple[list[tuple[Any, ...]], bool]

EXAMPLES = int(os.environ.get("INCREMENTAL_EXAMPLES", "12"))


def edited(history: list[dict[str, str]], edits: list[tuple[Any, ...]]) -> dict[str, str]:
    """The next state of a tree; a name that differs from another by case alone is a file of its own."""
    files = dict(history[-1])
    for kind, *arguments in edits:
        match kind:
            case "write":
                files[arguments[0]] = arguments[1]
            case "delete":
                files.pop(arguments[0], None)
            case "move" if arguments[0] in files:
                files[arguments[1]] = files.pop(arguments[0])
            case "revert":
                files = dict(history[-min(arguments[0] + 1, len(history))])
    return files


def write(tree: Path, files: dict[str, str]) -> None:
    for path in tree.rglob("*"):
        if path.is_file() and path.relative_to(tree).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        (tree / name).parent.mkdir(exist_ok=True, parents=True)
        (tree / name).write_bytes(text.encode())


def test_full_and_incremental_builds_agree(database_url: str, parse_pool: ParsePool, tmp_path: Path) -> None:
    with asyncio.Runner() as loop:
        backend = bootstrap.backend(Settings(database_url=database_url, embedder="none"))
        opened = loop.run(backend.__aenter__())
        bench = Bench(opened, bootstrap.compose(opened), parse_pool)
        try:

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate, Phase.shrink),
                database=None,
            )
            @given(STEPS)
            def check(steps: list[Step]) -> None:
                loop.run(_agree(bench, tmp_path / "tree", steps))

            check()
        finally:
            loop.run(backend.__aexit__(None, None, None))


async def _agree(bench: Bench, tree: Path, steps: list[Step]) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for stored in await bench.service.repositories.list():
        await bench.service.repositories.delete(stored.name)
    history: list[dict[str, str]] = [{}]
    for edits, swept in steps:
        history.append(edited(history, edits))
        write(tree, history[-1])
        await bench.index(tree, "grown")
        if swept:
            async with bench.backend.connect() as own:
                for repository_id in await due(own, 0):
                    assert await sweep(own, repository_id, 0)
    await bench.index(tree, "fresh")
    grown, grown_centrality = await index_content(bench.backend, "grown")
    fresh, fresh_centrality = await index_content(bench.backend, "fresh")
    for part, rows in fresh.items():
        assert grown[part] == rows, part
    assert grown_centrality.keys() == fresh_centrality.keys()
    for symbol, value in fresh_centrality.items():
        assert grown_centrality[symbol] == pytest.approx(value, rel=0.0501)
    coverages = [(await bench.service.repositories.get(name)).coverage for name in ("grown", "fresh")]
    assert coverages[0] == coverages[1]
