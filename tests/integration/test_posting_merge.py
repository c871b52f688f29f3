"""Merging the word index's segments changes nothing that is found."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from app.retrievers.word_index import count_files, score_chunks
from app.storage import sweep
from app.storage.engine import Connection, connection
from app.storage.live_files import LiveFiles, LiveFilesCache
from app.storage.snapshots import Snapshots
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

WORDS = ("alpha", "beta", "gamma", "return", "edit")


async def _live(bench: Bench) -> Mapping[int, LiveFiles]:
    return await LiveFilesCache(bench.backend.pool).of(await Snapshots(bench.backend.pool).resolve(("a",)))


async def _scores(own: Connection, live: Mapping[int, LiveFiles]) -> dict[int, float]:
    found = await score_chunks(own, live, dict.fromkeys(WORDS, 1.0))
    return dict(zip(found.chunks.tolist(), found.scores.tolist(), strict=True))


async def test_many_segments_become_one_without_what_is_gone(bench: Bench, tmp_path: Path) -> None:
    tree = {f"m{number}.py": f"def alpha_{number}(beta):\n    return gamma_{number}\n" for number in range(40)}
    for edit in range(sweep.MOST_SEGMENTS + 2):
        tree["edited.py"] = f"def edit_{edit}():\n    return {edit}\n" * (edit + 1)
        await bench.index(write_tree(tmp_path / "a", tree), name="a")
    async with connection(bench.backend.dsn) as own:
        repository_id = await own.fetchval("SELECT id FROM repository")
        live = await _live(bench)
        before = await _scores(own, live)
        assert await own.fetchval("SELECT count(*) FROM segment") == sweep.MOST_SEGMENTS + 2
        swept = await sweep.sweep(own, repository_id, 0)
        assert swept is not None
        assert swept.merged
        (segment,) = await own.fetch("SELECT * FROM segment")
        chunks = await own.fetch("SELECT chunk_id, file_id FROM chunk")
        assert segment["chunks"] == len(chunks)
        assert segment["files"] == len({row["file_id"] for row in chunks}) == 41
        assert segment["first_chunk"] == min(row["chunk_id"] for row in chunks)
        assert before.keys() == {row["chunk_id"] for row in chunks}
        assert await _scores(own, live) == before
        files = (await count_files(own, [repository_id], WORDS))[repository_id]
        assert (files.total, files.files["alpha"], files.files["return"], files.files["edit"]) == (41, 40, 41, 1)


async def test_what_is_indexed_meanwhile_does_not_change_the_scores_of_a_generation(bench: Bench, tmp_path: Path) -> None:
    tree = {f"m{number}.py": f"def alpha_{number}(beta):\n    return gamma_{number}\n" for number in range(9)}
    await bench.index(write_tree(tmp_path / "a", tree), name="a")
    old = await _live(bench)
    async with connection(bench.backend.dsn) as own:
        before = await _scores(own, old)
        tree |= {f"n{number}.py": "def gamma():\n    alpha = beta\n" for number in range(30)} | {"m0.py": "edit = 1\n"}
        await bench.index(write_tree(tmp_path / "a", tree), name="a")
        assert len(before) == 9
        assert await _scores(own, old) == before
        new = await _scores(own, await _live(bench))
        assert len(new) == 39
        assert {chunk: new[chunk] for chunk in before.keys() & new.keys()} != {chunk: before[chunk] for chunk in before.keys() & new.keys()}


async def test_a_repository_without_chunks_has_no_segment(bench: Bench, tmp_path: Path) -> None:
    for edit in range(sweep.MOST_SEGMENTS + 2):
        await bench.index(write_tree(tmp_path / "a", {"a.py": f"x = {edit}\n"}), name="a")
    (tmp_path / "a" / "a.py").unlink()
    await bench.index(tmp_path / "a", name="a")
    async with connection(bench.backend.dsn) as own:
        repository_id = await own.fetchval("SELECT id FROM repository")
        swept = await sweep.sweep(own, repository_id, 0)
        assert swept is not None
        assert swept.merged
        assert await own.fetchval("SELECT count(*) FROM posting") == await own.fetchval("SELECT count(*) FROM segment") == 0
        assert not len((await score_chunks(own, await _live(bench), {"x": 1.0})).chunks)
