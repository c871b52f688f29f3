"""Merging the word index's segments changes nothing that is found."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from app.domain.query import Scope
from app.retrievers.word_index import WordIndex
from app.storage import generation_memory, sweep
from app.storage.engine import connection
from app.storage.live_files import LiveFilesCache
from app.storage.posting_memory import PostingMemory
from app.storage.snapshots import Snapshots
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

WORDS = ("alpha", "beta", "gamma", "return", "edit")


@pytest.fixture(autouse=True)
def _by_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generation_memory, "MOST_CHUNKS", -1)


def _index(bench: Bench) -> WordIndex:
    return WordIndex(PostingMemory(bench.backend.pool))


async def _scope(bench: Bench) -> Scope:
    return await Snapshots(bench.backend.pool).resolve(("a",))


async def _scores(bench: Bench, scope: Scope, words: Iterable[str] = WORDS) -> dict[int, float]:
    live = await LiveFilesCache(bench.backend.pool).of(scope)
    async with bench.backend.pool.reader(keyed=True) as reads:
        found = await _index(bench).score_chunks(reads, scope, live, dict.fromkeys(words, 1.0))
    return dict(zip(found.chunks.tolist(), found.scores.tolist(), strict=True))


async def test_many_segments_become_one_without_what_is_gone(bench: Bench, tmp_path: Path) -> None:
    tree = {f"m{number}.py": f"def alpha_{number}(beta):\n    return gamma_{number}\n" for number in range(40)}
    for edit in range(sweep.MOST_SEGMENTS + 2):
        tree["edited.py"] = f"def edit_{edit}():\n    return {edit}\n" * (edit + 1)
        await bench.index(write_tree(tmp_path / "a", tree), name="a")
    async with connection(bench.backend.dsn) as own:
        repository_id = await own.fetchval("SELECT id FROM repository")
        scope = await _scope(bench)
        before = await _scores(bench, scope)
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
        assert await _scores(bench, scope) == before
        files = (await _index(bench).count_files(own, scope, WORDS))[repository_id]
        assert (files.total, files.files["alpha"], files.files["return"], files.files["edit"]) == (41, 40, 41, 1)


async def test_what_is_indexed_meanwhile_does_not_change_the_scores_of_a_generation(bench: Bench, tmp_path: Path) -> None:
    tree = {f"m{number}.py": f"def alpha_{number}(beta):\n    return gamma_{number}\n" for number in range(9)}
    await bench.index(write_tree(tmp_path / "a", tree), name="a")
    old = await _scope(bench)
    before = await _scores(bench, old)
    tree |= {f"n{number}.py": "def gamma():\n    alpha = beta\n" for number in range(30)} | {"m0.py": "edit = 1\n"}
    await bench.index(write_tree(tmp_path / "a", tree), name="a")
    assert len(before) == 9
    assert await _scores(bench, old) == before
    new = await _scores(bench, await _scope(bench))
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
        assert not await _scores(bench, await _scope(bench), ["x"])
