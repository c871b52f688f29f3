"""Centralities and links are the same from memory as from the database, for the generation that was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from app.domain.code import PathClass
from app.domain.query import Scope
from app.domain.ranking import Candidate, FileKey, FileLink
from app.storage import generation_memory
from app.storage.chunks import Chunks
from app.storage.graph_memory import GraphMemory
from app.storage.snapshots import Snapshots
from tests.integration.conftest import SHOP, Bench, write_tree

pytestmark = pytest.mark.anyio

FILES = """
    SELECT f.repository_id, f.path, f.file_id, v.first_chunk, v.chunks FROM file f JOIN file_version v USING (repository_id, file_id)
    WHERE f.repository_id = $1 AND f.from_gen <= $2 AND f.to_gen > $2
"""

Answers = tuple[Mapping[tuple[int, int], float], Sequence[FileLink], Sequence[FileLink]]


async def _scope(bench: Bench, *names: str) -> Scope:
    return await Snapshots(bench.backend.pool).resolve(names)


async def _asked(bench: Bench, store: Chunks, scope: Scope) -> Answers:
    """The centralities of all chunks; the links between all files, and those of two files with the others."""
    async with bench.backend.connect() as connection:
        rows = [row for s in scope.snapshots for row in await connection.fetch(FILES, s.repository_id, s.generation)]
    files = [Candidate(FileKey(r["repository_id"], r["path"]), r["file_id"], "python", PathClass.SOURCE, 1.0, ()) for r in rows]
    chunks = [(file.key, row["first_chunk"] + at) for file, row in zip(files, rows, strict=True) for at in range(row["chunks"])]
    central = await store.centralities(scope, [*chunks, (files[0].key, 1 << 30)])
    best = [file for file in files if file.key.path in ("shop/cart.py", "a.py")]
    others = [file for file in files if file not in best]
    return central, await store.links(scope, files, files), await store.links(scope, best, others)


async def _remembered(memory: GraphMemory, scope: Scope) -> None:
    for _ in range(2_000):
        if memory.of(scope) is not None:
            return
        await asyncio.sleep(0.01)
    raise TimeoutError


async def _by_database(bench: Bench, scope: Scope, monkeypatch: pytest.MonkeyPatch) -> Answers:
    with monkeypatch.context() as changed:
        changed.setattr(generation_memory, "MOST_CHUNKS", 0)
        return await _asked(bench, Chunks(bench.backend.pool), scope)


async def _by_memory(bench: Bench, scope: Scope) -> Answers:
    store = Chunks(bench.backend.pool)
    await _remembered(store.graphs, scope)
    return await _asked(bench, store, scope)


async def test_memory_says_what_the_database_says(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.index(write_tree(tmp_path / "shop", SHOP))
    await bench.index(write_tree(tmp_path / "other", {"a.py": "import b\nb.go()\n", "b.py": "def go(): pass\n"}), "other")
    scope = await _scope(bench)
    read = await _by_database(bench, scope, monkeypatch)
    assert all(read)
    assert {(link.source.path, link.target.path) for link in read[1]} >= {("shop/cart.py", "shop/money.py"), ("a.py", "b.py")}
    assert await _by_memory(bench, scope) == read


async def test_each_generation_has_its_own(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = write_tree(tmp_path / "shop", SHOP)
    await bench.index(tree)
    before = await _scope(bench, "shop")
    store = Chunks(bench.backend.pool)
    assert store.graphs.of(before) is None  # who asks first does not wait
    by_database = await _asked(bench, store, before)
    await _remembered(store.graphs, before)
    first = await _asked(bench, store, before)
    assert first == by_database
    write_tree(tree, {"shop/report.py": "def monthly(sales):\n    return sales\n"})
    await bench.index(tree)
    after = await _scope(bench, "shop")
    await _remembered(store.graphs, after)
    second = await _asked(bench, store, after)
    assert first[1] != second[1]
    assert second == await _by_database(bench, after, monkeypatch)
    assert first == await _asked(bench, store, before)


async def test_a_repository_without_symbols_is_remembered_too(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "texts", {"a.txt": "nothing but words\n"}), "texts")
    assert await _by_memory(bench, await _scope(bench, "texts")) == ({}, [], [])
