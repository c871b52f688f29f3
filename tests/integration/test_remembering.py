"""A process that has just started learns beside its work what its first run will need."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from app.domain.index import JobState, RepositorySource
from app.indexing import analyse
from app.indexing import remember as module
from app.indexing.indexed_definitions import DefinitionMemory
from app.indexing.resolution.index import Module
from app.indexing.resolve import prepare
from app.indexing.seen import SeenFiles
from app.storage.facts import FactReader
from app.storage.newest import newest_index
from app.worker import Worker
from tests.integration.conftest import SHOP, Bench, write_tree

pytestmark = pytest.mark.anyio


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The file versions whose facts are read from the store."""
    read: list[int] = []
    original = FactReader.files

    async def noted(self: FactReader, file_ids: list[int]) -> Any:
        read.extend(file_ids)
        return await original(self, file_ids)

    monkeypatch.setattr(FactReader, "files", noted)
    return read


def begin(worker: Worker) -> Sequence[asyncio.Task[None]]:
    """What a worker begins with: the definitions, then the files."""
    worker._begin_remembering(asyncio.Event())
    return worker._beginning


async def edit_and_index(bench: Bench, shop: Path) -> None:
    write_tree(shop, {"shop/money.py": SHOP["shop/money.py"].replace("125", "124")})
    assert (await bench.index(shop)).state is JobState.SUCCEEDED


async def test_the_first_run_of_a_new_process_reads_nothing_that_did_not_change(bench: Bench, shop: Path, asked: list[int]) -> None:
    await bench.index(shop)
    bench.worker = Worker(bench.backend)
    await asyncio.wait(begin(bench.worker))
    assert len(asked) > 3
    asked.clear()
    await edit_and_index(bench, shop)
    assert len(asked) == 1, "the former facts of the changed file"


async def test_the_first_run_of_a_new_process_opens_no_file_that_did_not_change(
    bench: Bench, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.index(shop)
    opened: list[str] = []
    read = analyse._read

    def noted(path: str, most: int) -> Any:
        opened.append(Path(path).relative_to(shop).as_posix())
        return read(path, most)

    monkeypatch.setattr(analyse, "_read", noted)
    monkeypatch.setattr("app.indexing.seen.RACY_NS", 0)
    bench.worker = Worker(bench.backend)
    await asyncio.wait(begin(bench.worker))
    assert sorted(opened) == sorted(SHOP)
    opened.clear()
    await edit_and_index(bench, shop)
    assert opened == ["shop/money.py"]


async def test_what_is_read_ahead_ends_with_the_first_run(bench: Bench, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.index(shop)
    settings, memory = bench.backend.settings.index, SeenFiles()
    monkeypatch.setattr("app.indexing.seen.RACY_NS", 0)
    module.read_ahead(RepositorySource(str(shop)), settings, memory, {}, lambda: len(memory) == 2)
    assert len(memory) == 2


async def test_a_folder_that_is_gone_is_not_read_ahead(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    shop.rename(shop.with_name("elsewhere"))
    bench.worker = Worker(bench.backend)
    with capture_logs() as logs:
        await asyncio.wait(begin(bench.worker))
    assert "reading_ahead_interrupted" in [log["event"] for log in logs]
    shop.with_name("elsewhere").rename(shop)
    await edit_and_index(bench, shop)


async def test_a_change_of_text_alone_asks_for_no_definitions(bench: Bench, shop: Path, asked: list[int]) -> None:
    await bench.index(write_tree(shop, {"notes.txt": "A shop.\n"}))
    bench.worker = Worker(bench.backend)
    asked.clear()
    write_tree(shop, {"notes.txt": "Nothing but words.\n"})
    assert (await bench.index(shop)).state is JobState.SUCCEEDED
    assert asked == []
    assert (await bench.search("Nothing but words", literal=True)).results
    (shop / "notes.txt").unlink()
    assert (await bench.index(shop)).state is JobState.SUCCEEDED
    assert asked, "an import may mean another file now"


async def test_a_run_waits_for_what_it_would_read_itself(
    bench: Bench, shop: Path, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.index(shop)
    began = asyncio.Event()

    async def noted(*arguments: Any) -> None:
        began.set()
        await module.remember(*arguments)

    monkeypatch.setattr("app.worker.remember", noted)
    worker = bench.worker = Worker(bench.backend)
    remembering, _ = begin(worker)
    await began.wait()
    await edit_and_index(bench, shop)
    assert remembering.done()
    assert not remembering.cancelled()
    assert len(asked) == len(set(asked)) + 1, "nothing is read twice but the former facts of the changed file"


async def test_a_run_of_another_repository_does_not_wait(bench: Bench, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.index(shop)

    began = asyncio.Event()

    async def endless(*_: object) -> None:
        began.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("app.worker.remember", endless)
    worker = bench.worker = Worker(bench.backend)
    remembering, _ = begin(worker)
    await began.wait()
    assert (await bench.index(write_tree(tmp_path / "other", SHOP), "other")).state is JobState.SUCCEEDED
    assert remembering.cancelled()


async def test_what_another_version_read_is_not_remembered(bench: Bench, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.index(shop)
    async with bench.backend.connect() as own:
        assert await newest_index(own, bench.pool.extractor)
        assert await newest_index(own, "another") is None
        monkeypatch.setattr(module, "MOST_SYMBOLS", 1)
        newest = await newest_index(own, bench.pool.extractor)
        assert newest is not None
        worker = Worker(bench.backend)
        await module.remember(own, newest, worker._memory)
        assert (await worker._memory.take((newest.repository_id, newest.created_at))).index.size == 0


async def test_a_worker_with_nothing_to_do_reads_what_the_next_change_asks_of_all_files(
    bench: Bench, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.index(shop)
    read: list[str] = []
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def noted(module: Module) -> None:
        prepare(module)
        read.append(module.path)
        if len(read) == len(SHOP):
            loop.call_soon_threadsafe(done.set)

    monkeypatch.setattr("app.indexing.indexed_definitions.prepare", noted)
    monkeypatch.setattr(DefinitionMemory.prepare, "__defaults__", (2,))
    stop = asyncio.Event()
    worker = Worker(bench.backend)
    serving = asyncio.create_task(worker.run(stop))
    try:
        async with asyncio.timeout(60):
            await done.wait()
    finally:
        stop.set()
        await serving
    assert sorted(read) == sorted(SHOP)
