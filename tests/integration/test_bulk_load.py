"""A first load builds its trigram indexes last; nothing is ever published without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.storage import bulk_load
from app.storage.engine import Connection, connection
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

TREE = {f"m{number}.py": f"def answer_{number}():\n    return {number}\n" for number in range(6)}


async def _present(own: Connection) -> set[str]:
    rows = await own.fetch("SELECT indexname FROM pg_indexes WHERE indexname = ANY($1::text[])", bulk_load.BUILT_LAST)
    return {row["indexname"] for row in rows}


async def _definitions(own: Connection) -> list[str]:
    rows = await own.fetch("SELECT indexdef FROM pg_indexes WHERE indexname = ANY($1::text[]) ORDER BY 1", bulk_load.BUILT_LAST)
    return [row["indexdef"] for row in rows]


async def test_a_first_load_drops_the_indexes_and_publishes_with_them(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_load, "LEAST_FILES", 3)
    async with connection(bench.backend.dsn) as own:
        migrated = await _definitions(own)
        await bulk_load.begin(own, 2)
        assert await _present(own) == set(bulk_load.BUILT_LAST)
        await bulk_load.begin(own, 3)
        assert await _present(own) == set()
        await bench.index(write_tree(tmp_path / "a", TREE), name="a")
        assert await _definitions(own) == migrated
        await bulk_load.begin(own, 1_000)
        assert await _present(own) == set(bulk_load.BUILT_LAST), "content that is searched keeps its indexes"


async def test_what_a_killed_load_left_without_indexes_gets_them_with_the_next_content(bench: Bench, tmp_path: Path) -> None:
    async with connection(bench.backend.dsn) as own:
        await own.execute("DROP INDEX " + ", ".join(bulk_load.BUILT_LAST))
        await bench.index(write_tree(tmp_path / "a", {"a.py": "x = 1\n"}), name="a")
        assert await _present(own) == set(bulk_load.BUILT_LAST)


async def test_a_table_in_use_keeps_its_indexes(bench: Bench) -> None:
    async with connection(bench.backend.dsn) as own, connection(bench.backend.dsn) as other, other.transaction():
        await other.execute("LOCK TABLE chunk IN ACCESS SHARE MODE")
        await bulk_load.begin(own, 1_000_000)
        assert await _present(own) == set(bulk_load.BUILT_LAST)
