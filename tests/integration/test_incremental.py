"""An index that grew step by step is the index that a fresh build makes; also through broken syntax."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from app import bootstrap
from app.config import Settings
from app.indexing.parse import ParsePool
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

EDIT = st.tuples(st.sampled_from(PATHS), st.one_of(st.none(), st.sampled_from(SOURCES)))
STEPS = st.lists(st.lists(EDIT, min_size=1, max_size=4), min_size=2, max_size=5)


def apply(tree: Path, edits: list[tuple[str, str | None]]) -> None:
    """Write or delete files; a name that differs from another by case alone is a file of its own."""
    for name, text in edits:
        path = tree / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_bytes(text.encode())


def test_full_and_incremental_builds_agree(database_url: str, parse_pool: ParsePool, tmp_path: Path) -> None:
    with asyncio.Runner() as loop:
        backend = bootstrap.backend(Settings(database_url=database_url, embedder="none"))
        opened = loop.run(backend.__aenter__())
        bench = Bench(opened, bootstrap.compose(opened), parse_pool)
        try:

            @settings(
                max_examples=12,
                deadline=None,
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate, Phase.shrink),
                database=None,
            )
            @given(STEPS)
            def check(steps: list[list[tuple[str, str | None]]]) -> None:
                loop.run(_agree(bench, tmp_path / "tree", steps))

            check()
        finally:
            loop.run(backend.__aexit__(None, None, None))


async def _agree(bench: Bench, tree: Path, steps: list[list[tuple[str, str | None]]]) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    for stored in await bench.service.repositories.list():
        await bench.service.repositories.delete(stored.name)
    for edits in steps:
        apply(tree, edits)
        await bench.index(tree, "grown")
    await bench.index(tree, "fresh")
    grown, grown_centrality = await index_content(bench.backend, "grown")
    fresh, fresh_centrality = await index_content(bench.backend, "fresh")
    for part, rows in fresh.items():
        assert grown[part] == rows, part
    assert grown_centrality.keys() == fresh_centrality.keys()
    for symbol, value in fresh_centrality.items():
        assert grown_centrality[symbol] == pytest.approx(value, rel=0.06)
    coverages = [(await bench.service.repositories.get(name)).coverage for name in ("grown", "fresh")]
    assert coverages[0] == coverages[1]
