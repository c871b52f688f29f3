"""Edges that depend on what other files give and hold are the same after an incremental run as after a full one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.storage.engine import open_connection
from app.storage.facts import FactReader
from app.storage.sweep import due, sweep
from app.storage.writer import IndexWriter
from app.worker import Worker
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

BEFORE = {
    "made.py": "from kinds import Cup\ndef make():\n    return Cup()\n",
    "kinds.py": "class Cup:\n    def fill(self): pass\nclass Pot:\n    def __init__(self): pass\n    def fill(self): pass\n",
    "uses.py": "import requests\nfrom made import make\ndef work(task):\n    made = make()\n    made.fill()\n    task()\n"
    "    requests.get('x')\n",
    "passes.py": "from uses import work\nfrom made import make\nwork(make)\n",
    "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["lib/*"]}}}\n',
    "lib/tool.ts": "export function turn() {}\n",
    "own/tool.ts": "export function turn() {}\n",
    "main.ts": "import { turn } from '@/tool'\nturn()\n",
}
AFTER = BEFORE | {
    "made.py": "from kinds import Pot\n\n\ndef make():\n    return Pot()\n",
    "passes.py": "from uses import work\nfrom kinds import Pot\nwork(Pot)\n",
    "tsconfig.json": '{"compilerOptions": {"paths": {"@/*": ["own/*"]}}}\n',
}

EDGES = """
    SELECT f.path, e.line, e.kind, e.class, COALESCE(s.qualified, x.name, '') AS target, e.reference
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    JOIN edge e ON e.repository_id = r.id AND e.branch_id = b.branch_id AND e.from_gen <= b.current_gen AND e.to_gen > b.current_gen
    JOIN file f ON f.repository_id = r.id AND f.file_id = e.file_id AND f.from_gen <= b.current_gen AND f.to_gen > b.current_gen
    LEFT JOIN symbol s ON s.repository_id = r.id AND s.symbol_id = e.target
        AND EXISTS (SELECT 1 FROM file t WHERE t.repository_id = r.id AND t.file_id = s.file_id AND t.to_gen > b.current_gen)
    LEFT JOIN external x ON x.repository_id = r.id AND x.symbol_id = e.target
    WHERE r.name = $1
    ORDER BY 1, 2, 3, 4, 5, 6
"""


async def test_an_incremental_run_by_another_process_gives_the_edges_of_a_full_one(bench: Bench, tmp_path: Path, database_url: str) -> None:
    tree = write_tree(tmp_path / "tree", BEFORE)
    await bench.index(tree, "grown")
    write_tree(tree, AFTER)
    bench.worker = Worker(bench.backend)  # knows nothing of the run before
    await bench.index(tree, "grown")
    await bench.index(write_tree(tmp_path / "other", AFTER), "fresh")
    connection = await open_connection(database_url)
    try:
        grown = [tuple(row) for row in await connection.fetch(EDGES, "grown")]
        fresh = [tuple(row) for row in await connection.fetch(EDGES, "fresh")]
    finally:
        await connection.close()
    assert grown == fresh
    seen = {row[:5] for row in grown}
    assert ("uses.py", 5, "calls", "likely", "Pot.fill") in seen
    assert ("uses.py", 6, "instantiates", "likely", "Pot") in seen
    assert ("uses.py", 7, "calls", "exact", "requests.get") in seen
    assert [row[4] for row in grown if row[:3] == ("main.ts", 2, "calls")] == ["turn"]


async def test_a_sweep_forgets_libraries_that_nothing_uses(bench: Bench, tmp_path: Path, database_url: str) -> None:
    tree = write_tree(tmp_path / "tree", BEFORE)
    await bench.index(tree, "grown")
    write_tree(tree, {"uses.py": "import json\ndef work(task):\n    json.dumps(task)\n"})
    await bench.index(tree, "grown")
    connection = await open_connection(database_url)
    try:
        libraries = "SELECT name FROM external ORDER BY name"
        assert [row["name"] for row in await connection.fetch(libraries)] == ["json.dumps", "requests.get"]
        (repository_id,) = await due(connection, 0)
        assert await sweep(connection, repository_id, 0) is not None
        assert [row["name"] for row in await connection.fetch(libraries)] == ["json.dumps"]
    finally:
        await connection.close()


async def test_what_is_of_a_library_takes_no_part_in_centrality(bench: Bench, tmp_path: Path, database_url: str) -> None:
    await bench.index(write_tree(tmp_path / "tree", BEFORE), "ranked")
    connection = await open_connection(database_url)
    try:
        ranked = await connection.fetchval("SELECT count(*) FROM centrality")
        named = await connection.fetchval("SELECT count(*) FROM external")
        both = await connection.fetchval("SELECT count(*) FROM centrality JOIN external USING (repository_id, symbol_id)")
    finally:
        await connection.close()
    assert ranked > 0
    assert named > 0
    assert both == 0


async def test_ranks_are_computed_anew_only_where_a_link_came_or_went(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked: list[int] = []
    original = IndexWriter.edge_ends

    async def noted(self: IndexWriter) -> Any:
        ranked.append(self.next_gen)
        return await original(self)

    monkeypatch.setattr(IndexWriter, "edge_ends", noted)
    tree = write_tree(tmp_path / "tree", BEFORE)
    generations = []
    for passes in (
        BEFORE["passes.py"],
        "# Passed on.\n\n" + BEFORE["passes.py"],  # the lines of edges move
        BEFORE["passes.py"] + "work(make)\n",  # a second call of the same function counts
        BEFORE["passes.py"].replace("work(make)", "work(print)"),
        BEFORE["passes.py"].replace("work(make)", "work(print)") + "import json\njson.dumps(1)\n",  # leads out of the repository
    ):
        write_tree(tree, {"passes.py": passes})
        await bench.index(tree, "grown")
        generations.append((await bench.backend.repositories.get("grown")).generation)
    assert generations == [1, 2, 3, 4, 5]
    assert ranked == [1, 3, 4]


RECEIVERS = {
    "plain.py": "import made\nmade.make()\n",
    "inner.py": "def f(task):\n    task.made.fill()\n    task(made).fill()\n",
    "item.py": "def f(task):\n    task['made'].fill()\n",
    "part.py": "def f(unmade, made_up, madé):\n    unmade.fill()\n    made_up.fill()\n    madé.fill()\n",
    "own.py": "def f(task):\n    task.fill()\n",
    "letters.py": "def f(task):\n    task.größe.fill()\n",
}


@pytest.mark.parametrize("few", [0, 4])
async def test_who_reaches_through_a_name_is_found_by_whole_words(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """Whether there are few names to look for or many."""
    monkeypatch.setattr("app.storage.facts.FEW_NAMES", few)
    await bench.index(write_tree(tmp_path / "tree", RECEIVERS), "receivers")
    async with bench.backend.connect() as own:
        key = await own.fetchrow("SELECT repository_id, branch_id, current_gen FROM branch")
        assert key is not None
        reader = FactReader(own, *key)
        paths = {file_id: path for path, file_id in (await reader.live()).items()}
        using = {
            name: {paths[file_id] for file_id in await reader.files_using([name])}
            for name in ("made", "größe", "gr", "task", "==", "\\", "%")
        }
    assert using == {
        "made": {"plain.py", "inner.py", "item.py"},
        "größe": {"letters.py"},
        "gr": set(),
        "task": {"inner.py", "item.py", "own.py", "letters.py"},
        "==": set(),
        "\\": set(),
        "%": set(),
    }
