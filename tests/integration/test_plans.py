"""What the planner makes of the statements that rank chunks, right after several repositories were indexed: it knows no statistics yet."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from app.domain.vectors import BITS
from app.retrievers import candidates, nearest, text, traversal
from app.retrievers.scope import FIRST_FREE
from app.storage.engine import Connection, connection
from app.storage.facts import USING_NAMES
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

FILES = (250, *[3] * 8)
"""In each repository; one that is much larger than the rest misleads the planner."""


async def test_a_chunk_found_is_not_paired_with_every_file(bench: Bench, tmp_path: Path) -> None:
    for number, files in enumerate(FILES):
        tree = {f"m{i}.py": f"def common_{number}_{i}():\n    return {i}\n" for i in range(files)}
        await bench.index(write_tree(tmp_path / str(number), tree), name=f"r{number}")
    async with connection(bench.backend.dsn) as own:
        await own.execute(
            "INSERT INTO embedding (repository_id, vector_set, chunk_id, bits) "
            f"SELECT repository_id, 1, chunk_id, 0::bit({BITS}) FROM chunk"
        )
        stored = await own.fetch("SELECT repository_id, chunk_id FROM chunk")
        repositories, chunks = ([row[column] for row in stored] for column in range(2))
        for statement, own_arguments in (
            (text.PASSING, (repositories, chunks, [1.0] * len(chunks), 200)),
            (nearest.SCAN, (1, asyncpg.BitString.frombytes(bytes(BITS // 8)), 400, 200)),
        ):
            rows = await _most_rows(own, statement, *own_arguments)
            assert rows <= sum(FILES)


async def test_what_many_references_go_through_is_looked_at_once(bench: Bench, tmp_path: Path) -> None:
    tree = {f"m{i}.py": "def f(task):\n" + "    task.made.fill()\n" * 40 for i in range(30)}
    await bench.index(write_tree(tmp_path / "tree", tree))
    async with connection(bench.backend.dsn) as own:
        key = await own.fetchrow("SELECT repository_id, branch_id, current_gen FROM branch")
        assert key is not None
        (row,) = await own.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {USING_NAMES}", *key, ["made", "other"])
        receivers = await own.fetchval("SELECT count(DISTINCT receiver) FROM reference")
    split = [node for node in _nodes(json.loads(row[0])[0]["Plan"]) if "regexp" in node.get("Filter", "")]
    assert [node["Actual Rows"] + node["Rows Removed by Filter"] for node in split] == [receivers]


async def test_a_plan_that_is_made_once_reads_what_is_named(bench: Bench, tmp_path: Path) -> None:
    tree = {f"m{i}.py": f"def make_{i}(task):\n" + "".join(f"    task.made_{n}()\n" for n in range(100)) for i in range(60)}
    await bench.index(write_tree(tmp_path / "tree", tree))
    async with connection(bench.backend.dsn) as own:
        await own.execute("ANALYZE; SET plan_cache_mode = force_generic_plan")
        key = await own.fetchrow("SELECT repository_id, branch_id, current_gen FROM branch")
        assert key is not None
        scope = [f"'{{{value}}}'" for value in key]
        possible = [*scope, *["NULL"] * (FIRST_FREE - 4), "'{made_7}'"]
        assert await _planned_once(own, traversal.POSSIBLE, possible) == {"reference": 60, "file": 60, "symbol": 60}
        anywhere = candidates.ANYWHERE.format(condition="k.text LIKE $4")
        found = await _planned_once(own, anywhere, [scope[0], "10", "'{make_7}'", "'%make_7(%'"])
        assert found == {"chunk": 1, "symbol": 1}


async def _planned_once(own: Connection, statement: str, values: Sequence[str]) -> dict[str, float]:
    """The rows of each table that a statement reads with a plan that knows no values, those that are filtered out among them."""
    await own.execute(f"PREPARE once AS {statement}")
    (row,) = await own.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE once({', '.join(values)})")
    await own.execute("DEALLOCATE once")
    return _rows_read(row)


def _rows_read(row: asyncpg.Record) -> dict[str, float]:
    read: dict[str, float] = {}
    for node in _nodes(json.loads(row[0])[0]["Plan"]):
        rows = (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
        if rows and "Relation Name" in node:
            read[node["Relation Name"]] = read.get(node["Relation Name"], 0) + rows
    return read


async def _most_rows(own: Connection, statement: str, *own_arguments: object) -> float:
    """The most rows that were read of chunks or of files, in all runs of any one step of the plan."""
    branches = await own.fetch("SELECT repository_id, branch_id, current_gen FROM branch")
    scope = [[row[column] for row in branches] for column in range(3)]
    (row,) = await own.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", *scope, *[None] * (FIRST_FREE - 4), *own_arguments)
    scans = [node for node in _nodes(json.loads(row[0])[0]["Plan"]) if node.get("Relation Name") in ("chunk", "file")]
    return max(float(scan["Actual Rows"] * scan["Actual Loops"]) for scan in scans)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)
