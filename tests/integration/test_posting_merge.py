"""Merging the word index's segments changes nothing that is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.retrievers.word_index import count_files, score_chunks
from app.storage import sweep
from app.storage.engine import Connection, connection
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

WORDS = ("alpha", "beta", "gamma", "return", "edit")


async def _scores(own: Connection, repository_id: int) -> dict[int, float]:
    found = await score_chunks(own, [repository_id], dict.fromkeys(WORDS, 1.0))
    return dict(zip(found.chunks.tolist(), found.scores.tolist(), strict=True))


async def test_many_segments_become_one_without_what_is_gone(bench: Bench, tmp_path: Path) -> None:
    tree = {f"m{number}.py": f"def alpha_{number}(beta):\n    return gamma_{number}\n" for number in range(40)}
    for edit in range(sweep.MOST_SEGMENTS + 2):
        tree["edited.py"] = f"def edit_{edit}():\n    return {edit}\n" * (edit + 1)
        await bench.index(write_tree(tmp_path / "a", tree), name="a")
    async with connection(bench.backend.dsn) as own:
        repository_id = await own.fetchval("SELECT id FROM repository")
        before = await _scores(own, repository_id)
        assert await own.fetchval("SELECT count(*) FROM segment") == sweep.MOST_SEGMENTS + 2
        swept = await sweep.sweep(own, repository_id, 0)
        assert swept is not None
        assert swept.merged
        (segment,) = await own.fetch("SELECT * FROM segment")
        chunks = await own.fetch("SELECT chunk_id, file_id FROM chunk")
        assert segment["chunks"] == len(chunks)
        assert segment["files"] == len({row["file_id"] for row in chunks}) == 41
        assert segment["first_chunk"] == min(row["chunk_id"] for row in chunks)
        after = await _scores(own, repository_id)
        assert after.keys() == {row["chunk_id"] for row in chunks} < before.keys()
        kept = {chunk: before[chunk] for chunk in after}
        assert sorted(after, key=lambda chunk: (-after[chunk], chunk)) == sorted(kept, key=lambda chunk: (-kept[chunk], chunk))
        files = (await count_files(own, [repository_id], WORDS))[repository_id]
        assert (files.total, files.files["alpha"], files.files["return"], files.files["edit"]) == (41, 40, 41, 1)


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
        assert not len((await score_chunks(own, [repository_id], {"x": 1.0})).chunks)
