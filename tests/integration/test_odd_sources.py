"""Sources that try what an index run takes for granted: whose turn it is, what a change costs, and how long a line or a folder may be."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.domain.analysis import FileAnalysis
from app.domain.index import JobState, RepositorySource
from app.indexing import pipeline
from app.storage.writer import SegmentWriter, WrittenFile
from app.worker import Worker
from tests.integration.conftest import SHOP, Bench, write_tree
from tests.integration.index_content import index_content

pytestmark = pytest.mark.anyio


async def found(bench: Bench, text: str) -> set[str]:
    answer = await bench.search(text, literal=True, limit=100, timeout_ms=10_000)
    return {result.path for result in answer.results}


async def test_a_broken_repository_holds_up_no_other(bench: Bench, shop: Path, tmp_path: Path) -> None:
    await bench.service.repositories.put("broken", RepositorySource(str(tmp_path / "nothing")))
    broken, _ = await bench.service.jobs.enqueue("broken")
    (tmp_path / "empty").mkdir()
    assert (await bench.index(tmp_path / "empty", "empty")).state is JobState.SUCCEEDED
    assert (await bench.index(shop)).state is JobState.SUCCEEDED
    assert (await bench.service.jobs.get(broken.id)).state is JobState.FAILED
    assert await found(bench, "def add_tax") == {"shop/money.py"}


async def test_two_workers_never_build_one_repository_at_the_same_time(bench: Bench, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {f"f{n}.py": f"def name_{n}():\n    return name_{n + 1}()\n" * 5 for n in range(200)})
    await bench.service.repositories.put("tree", RepositorySource(str(tree)))
    running: set[int] = set()

    async def watch() -> None:
        while True:
            running.add(len(await bench.service.jobs.list("tree", state=JobState.RUNNING)))
            await asyncio.sleep(0.01)

    async def work() -> None:
        worker = Worker(bench.backend)
        while not all(job.state is JobState.SUCCEEDED for job in await bench.service.jobs.list("tree")):
            await worker.step(bench.pool)
            await asyncio.sleep(0.01)

    first, _ = await bench.service.jobs.enqueue("tree")
    watching = asyncio.create_task(watch())
    working = [asyncio.create_task(work()) for _ in range(2)]
    while (await bench.service.jobs.get(first.id)).state is JobState.QUEUED:  # noqa: ASYNC110 - another connection changes it
        await asyncio.sleep(0.01)
    write_tree(tree, {"late.py": "def late_name(): ...\n"})
    second, joined = await bench.service.jobs.enqueue("tree")
    third, joined_too = await bench.service.jobs.enqueue("tree")
    assert (joined, joined_too, third.id) == (False, True, second.id), "a request for what a run may have missed waits, the next one joins"
    await asyncio.gather(*working)
    watching.cancel()
    assert running <= {0, 1}
    assert await found(bench, "late_name") == {"late.py"}
    await bench.index(tree, "fresh")
    assert (await index_content(bench.backend, "tree"))[0] == (await index_content(bench.backend, "fresh"))[0]


async def test_a_file_that_shrinks_leaves_nothing_behind(bench: Bench, tmp_path: Path) -> None:
    long = "".join(f"def part_{n}():\n    return {n}\n\n\n" for n in range(400))
    tree = write_tree(tmp_path / "tree", {"shrinks.py": long, "stays.py": "STAYS = 1\n"})
    await bench.index(tree)
    assert await found(bench, "part_399") == {"shrinks.py"}
    write_tree(tree, {"shrinks.py": "def part_0():\n    return 0\n"})
    await bench.index(tree)
    assert (await found(bench, "part_399"), await found(bench, "def part_0")) == (set(), {"shrinks.py"})
    content, _ = await index_content(bench.backend, "shop")
    assert [row[:3] for row in content["chunks"] if row[0] == "shrinks.py"] == [("shrinks.py", 1, 2)]


async def test_a_line_of_five_million_characters_is_found_to_its_end(bench: Bench, tmp_path: Path) -> None:
    line = "word " * 1_000_000
    await bench.index(write_tree(tmp_path / "tree", {"data/long.json": f'["{line}", "at_the_very_end"]\n', "short.py": "x = 1\n"}))
    answer = await bench.search("at_the_very_end", literal=True, timeout_ms=10_000)
    assert [result.path for result in answer.results] == ["data/long.json"]
    assert len(answer.results[0].snippet) < 100_000, "what is shown is cut"


async def test_a_folder_of_many_files_is_one_folder(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "tree", {f"flat/n{n}.txt": f"note number{n}x\n" for n in range(3_000)}))
    stored = await bench.service.repositories.get("shop")
    assert (stored.coverage.files, stored.coverage.skipped) == (3_000, 0)
    assert await found(bench, "number2999x") == {"flat/n2999.txt"}
    (tmp_path / "tree" / "flat" / "n7.txt").unlink()
    job = await bench.index(tmp_path / "tree")
    assert (job.result["analysed"], job.result["files"]) == (0, 2_999)


async def test_modes_and_times_are_no_changes(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    before = await index_content(bench.backend, "shop")
    for path in shop.rglob("*.py"):
        path.chmod(0o755)
        path.touch()
    job = await bench.index(shop)
    assert (job.result["analysed"], job.result["unchanged"]) == (0, len(SHOP))
    assert await index_content(bench.backend, "shop") == before


async def test_a_run_that_is_cut_off_loses_no_more_than_a_segment(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = write_tree(tmp_path / "tree", {f"f{n:03}.py": f"def name_{n}(): ...\n" for n in range(300)})
    monkeypatch.setattr(pipeline, "SEGMENT_FILES", 128)
    write, written = SegmentWriter.add, 0

    async def add(self: SegmentWriter, analyses: Sequence[FileAnalysis]) -> list[WrittenFile]:
        nonlocal written
        written += len(analyses)
        if written == 300:
            raise asyncio.CancelledError
        return await write(self, analyses)

    with monkeypatch.context() as cut:
        cut.setattr(SegmentWriter, "add", add)
        with pytest.raises(asyncio.CancelledError):
            await bench.index(tree, "tree")
    job = await bench.index(tree, "tree")
    copied = 8 + 300 // pipeline.COPIES  # at once; a segment ends with the COPY that makes it full
    kept = copied * -(-pipeline.SEGMENT_FILES // copied)
    assert (job.state, job.result["analysed"], job.result["unchanged"]) == (JobState.SUCCEEDED, 300 - kept, kept)
    await bench.index(tree, "fresh")
    assert (await index_content(bench.backend, "tree"))[0] == (await index_content(bench.backend, "fresh"))[0]
