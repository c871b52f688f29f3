"""Index jobs when something changes under them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app import worker as worker_module
from app.domain.index import JobState, RepositorySource
from app.http import job_pages
from app.storage.engine import connection
from app.storage.jobs import Claims, ProgressStore
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio


async def test_a_request_with_other_globs_does_not_join_the_run_that_began_without_them(bench: Bench, shop: Path) -> None:
    repositories, jobs = bench.service.repositories, bench.service.jobs
    await repositories.put("shop", RepositorySource(str(shop)))
    first, _ = await jobs.enqueue("shop")
    async with connection(bench.backend.dsn) as own:
        claims = Claims(own)
        claimed = await claims.claim()
        assert claimed is not None
        await repositories.put("shop", RepositorySource(str(shop)))
        assert (await jobs.enqueue("shop"))[1], "an equal request joins"

        await repositories.put("shop", RepositorySource(str(shop), include=("web/**",)))
        assert await ProgressStore(bench.backend.pool, first.id).report("analyse", 1, 7)
        second, joined = await jobs.enqueue("shop")
        assert (joined, second.id == first.id) == (False, False)
        await claims.finish(claimed, JobState.SUCCEEDED, None, {})
    while await bench.worker.step(bench.pool):
        pass
    assert (await repositories.get("shop")).coverage.files == 1


async def test_a_path_that_leads_elsewhere_since_is_not_followed(bench: Bench, shop: Path, tmp_path: Path) -> None:
    await bench.index(shop)
    secret = write_tree(tmp_path / "secret", {"key.py": "def secret_key(): ...\n"})
    shop.rename(tmp_path / "moved")
    shop.symlink_to(secret)
    job = await bench.index(shop)
    assert job.state is JobState.FAILED
    assert "symlink" in (job.error or "")
    assert not (await bench.search("def secret_key")).results
    assert (await bench.search("def add_tax")).results, "the last index stays"


async def test_a_repository_deleted_between_claim_and_run_is_no_fault(bench: Bench, shop: Path) -> None:
    await bench.service.repositories.put("shop", RepositorySource(str(shop)))
    await bench.service.jobs.enqueue("shop")
    async with connection(bench.backend.dsn) as own:
        claims = Claims(own)
        job = await claims.claim()
        assert job is not None
        await bench.service.repositories.delete("shop")
        await bench.worker._run_job(claims, bench.pool, job)
    assert (await bench.index(shop)).state is JobState.SUCCEEDED


async def test_a_worker_that_is_told_to_stop_gives_its_job_back(bench: Bench, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "many", {f"f{n}.py": "def f():\n    return 1\n" * 50 for n in range(300)})
    await bench.service.repositories.put("many", RepositorySource(str(tree)))
    job, _ = await bench.service.jobs.enqueue("many")
    stop = asyncio.Event()
    working = asyncio.create_task(bench.worker.run(stop))
    while (await bench.service.jobs.get(job.id)).state is JobState.QUEUED:  # noqa: ASYNC110 - another connection changes it
        await asyncio.sleep(0.01)
    stop.set()
    await asyncio.wait_for(working, 30)
    given_back = await bench.service.jobs.get(job.id)
    assert (given_back.state, given_back.attempts) in ((JobState.QUEUED, 0), (JobState.SUCCEEDED, 1))
    while await bench.worker.step(bench.pool):
        pass
    assert (await bench.service.jobs.get(job.id)).state is JobState.SUCCEEDED


async def test_a_worker_with_nothing_to_do_begins_as_soon_as_it_is_asked(bench: Bench, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would not look by itself for an hour."""
    waiting = asyncio.Event()
    sleep = worker_module._sleep

    async def noted(end: asyncio.Event, seconds: float) -> None:
        if seconds == worker_module.IDLE_SECONDS:
            waiting.set()
        await sleep(end, seconds)

    monkeypatch.setattr(worker_module, "IDLE_SECONDS", 3_600.0)
    monkeypatch.setattr(worker_module, "_sleep", noted)
    await bench.service.repositories.put("shop", RepositorySource(str(shop)))
    stop = asyncio.Event()
    working = asyncio.create_task(bench.worker.run(stop))
    try:
        async with asyncio.timeout(60):
            await waiting.wait()
            job, _ = await bench.service.jobs.enqueue("shop")
            while (await bench.service.jobs.get(job.id)).state is not JobState.SUCCEEDED:  # noqa: ASYNC110 - another task changes it
                await asyncio.sleep(0.01)
    finally:
        stop.set()
        await working


async def test_a_repository_deleted_during_its_run_is_no_fault(
    bench: Bench, shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run is past its last look at the job when the repository goes."""
    analysed = bench.pool.analyse_all

    async def delete_first(*arguments: Any) -> AsyncIterator[Any]:
        async for result in analysed(*arguments):
            if await bench.service.repositories.list():
                await bench.service.repositories.delete("shop")
            yield result

    await bench.service.repositories.put("shop", RepositorySource(str(shop)))
    await bench.service.jobs.enqueue("shop")
    monkeypatch.setattr(bench.pool, "analyse_all", delete_first)
    while await bench.worker.step(bench.pool):
        pass
    monkeypatch.undo()
    shown = capsys.readouterr()
    assert "Traceback" not in shown.out + shown.err
    assert (await bench.index(shop)).state is JobState.SUCCEEDED
    async with connection(bench.backend.dsn) as own:
        assert await own.fetchval("SELECT count(DISTINCT repository_id) FROM chunk") == 1


async def test_pages_of_jobs_are_whole_while_jobs_come_and_go(bench: Bench, tmp_path: Path) -> None:
    made: list[str] = []

    async def queue() -> None:
        await bench.service.repositories.put(f"r{len(made)}", RepositorySource(str(tmp_path)))
        made.append((await bench.service.jobs.enqueue(f"r{len(made)}"))[0].id)

    for _ in range(5):
        await queue()
    async with bench.backend.connect() as own:  # as of one transaction: only the ids tell them apart
        await own.execute("UPDATE job SET created_at = (SELECT min(created_at) FROM job)")
    seen: list[str] = []
    after = None
    while page := await bench.service.jobs.list(None, 2, None, after):
        seen += [job.id for job in page]
        after = job_pages.place(job_pages.cursor(page[-1]))
        await queue()  # a newer one is on no later page
        await bench.service.repositories.delete(page[-1].repository)  # and the place stays where its job is gone
    assert seen == sorted(made[:5], reverse=True)
