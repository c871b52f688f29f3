"""What nothing needs any more goes, and nothing else does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from app import bootstrap
from app.config import Settings
from app.domain.access import AuditEntry
from app.domain.index import JobState, RepositorySource, SourceKind
from app.indexing.parse import ParsePool
from app.observability import metrics
from app.storage.engine import Connection, connection
from app.storage.retention import forget
from app.storage.sweep import MOST_SEGMENTS, due, sweep
from app.worker import MOST_GIVEN_WAY
from tests.integration.conftest import SHOP, Bench, write_tree
from tests.integration.git_remotes import Remote

pytestmark = pytest.mark.anyio

LONG_AGO = "now() - interval '100 days'"


@pytest.fixture
async def clones(database_url: str, parse_pool: ParsePool, anyio_backend: str, tmp_path: Path) -> AsyncIterator[Bench]:
    settings = Settings(database_url=database_url, embedder="none", state_dir=tmp_path / "state")
    async with bootstrap.backend(settings) as backend:
        yield Bench(backend, bootstrap.compose(backend), parse_pool)


async def follow(bench: Bench, remote: Remote) -> None:
    await bench.service.repositories.put("shop", RepositorySource(url=remote.url, kind=SourceKind.GIT))
    job, _ = await bench.service.jobs.enqueue("shop")
    while await bench.worker.step(bench.pool):
        pass
    assert (await bench.service.jobs.get(job.id)).state is JobState.SUCCEEDED


async def blobs(own: Connection) -> set[str]:
    return {row["oid"].hex() for row in await own.fetch("SELECT oid FROM blob")}


def removed(kind: str) -> float:
    families = {family.name: family for family in text_string_to_metric_families(metrics.render()[0].decode())}
    samples = families["fourfold_removed"].samples
    return sum(sample.value for sample in samples if sample.name.endswith("_total") and sample.labels == {"kind": kind})


async def test_old_jobs_go_but_for_those_that_wait_run_or_are_the_newest(bench: Bench, shop: Path, tmp_path: Path) -> None:
    first, second = await bench.index(shop), await bench.index(shop)
    other = await bench.index(write_tree(tmp_path / "other", SHOP), "other")
    waiting, _ = await bench.service.jobs.enqueue("shop")
    async with connection(bench.backend.dsn) as own:
        assert await forget(own, 30, 30, 30) == {"job": 0, "blob": 0, "audit": 0}, "nothing is old"
        await own.execute(f"UPDATE job SET created_at = created_at - interval '100 days', finished_at = {LONG_AGO}")
        assert await forget(own, 30, 30, 30) == {"job": 2, "blob": 0, "audit": 0}
        left = {row["id"] for row in await own.fetch("SELECT id::text FROM job")}
    assert left == {waiting.id, other.id}
    assert not left & {first.id, second.id}


async def test_a_blob_goes_when_no_index_shows_it_and_no_run_asks_for_it(clones: Bench, tmp_path: Path) -> None:
    remote = Remote(tmp_path / "remotes")
    first = remote.commit({**SHOP, "logo.png": "\0\1\2"})
    await follow(clones, remote)
    old_id = remote.git("rev-parse", "HEAD:shop/money.py")
    binary = remote.git("rev-parse", "HEAD:logo.png")
    remote.commit({"shop/money.py": "def add_levy(a):\n    return a\n"})
    await follow(clones, remote)
    async with connection(clones.backend.dsn) as own:
        everything = await blobs(own)
        assert {old_id, binary} < everything
        await own.execute(f"UPDATE blob SET used_on = {LONG_AGO}")
        assert await forget(own, 30, 90, 30) == {"job": 0, "blob": 1, "audit": 0}
        assert await blobs(own) == everything - {binary}, "the replaced content is still readable"
        await sweep(own, await own.fetchval("SELECT id FROM repository"), 0)
        assert await forget(own, 30, 90, 30) == {"job": 0, "blob": 1, "audit": 0}
        assert await blobs(own) == everything - {binary, old_id}

        remote.commit({"extra.py": "EXTRA = 1\n"})
        await follow(clones, remote)
        assert await own.fetchval("SELECT count(*) FROM blob WHERE used_on < current_date") == 0, "what a run asks for counts as used"
        assert binary in await blobs(own)

    job, _ = await clones.service.jobs.enqueue("shop", first)
    while await clones.worker.step(clones.pool):
        pass
    assert (await clones.service.jobs.get(job.id)).state is JobState.SUCCEEDED
    answer = await clones.search(f"def add_tax rev:{first}", repositories=("shop",))
    assert answer.results[0].path == "shop/money.py", "what was forgotten is read again"


async def test_libraries_go_with_the_last_edge_that_leads_to_them(bench: Bench, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree", {"uses.py": "import helpers\n\n\ndef work():\n    return helpers.lift()\n"})
    await bench.index(tree)
    write_tree(tree, {"helpers.py": "def lift():\n    return 1\n"})
    await bench.index(tree)
    async with connection(bench.backend.dsn) as own:
        assert await own.fetchval("SELECT array_agg(name) FROM external") == ["helpers.lift"]
        swept = await sweep(own, await own.fetchval("SELECT id FROM repository"), 0)
        assert swept is not None
        assert (swept.files, swept.libraries) == (0, 1), "the file that used it is the same as before"
        assert await own.fetchval("SELECT count(*) FROM external") == 0


async def test_merging_counts_the_words_of_names_anew(bench: Bench, tmp_path: Path) -> None:
    for edit in range(MOST_SEGMENTS + 2):
        tree = write_tree(tmp_path / "tree", {"stays.py": "def ferry_boat(): ...\n", "edited.py": f"def only_{'x' * (edit + 3)}(): ...\n"})
        await bench.index(tree, "grown")
    await bench.index(tree, "fresh")
    words = "SELECT word, symbols, files FROM name_word JOIN repository r ON r.id = repository_id WHERE r.name = $1 ORDER BY word"
    async with connection(bench.backend.dsn) as own:
        assert await own.fetch(words, "grown") != await own.fetch(words, "fresh")
        swept = await sweep(own, await own.fetchval("SELECT id FROM repository WHERE name = 'grown'"), 0)
        assert swept is not None
        assert swept.merged
        assert await own.fetch(words, "grown") == await own.fetch(words, "fresh")


async def test_a_worker_sweeps_and_counts(database_url: str, parse_pool: ParsePool, anyio_backend: str, shop: Path) -> None:
    settings = Settings.model_validate({"database_url": database_url, "embedder": "none", "index": {"grace_seconds": 0}})
    kinds = ("generation", "file", "job")
    async with bootstrap.backend(settings) as backend:
        bench = Bench(backend, bootstrap.compose(backend), parse_pool)
        await bench.index(shop)
        (shop / "shop" / "money.py").write_text("def add_levy(a):\n    return a\n")
        await bench.index(shop)
        before = {kind: removed(kind) for kind in kinds}
        async with connection(backend.dsn) as own:
            await own.execute(f"UPDATE job SET created_at = created_at - interval '100 days', finished_at = {LONG_AGO}")
            await bench.worker._sweep(own, asyncio.Event())
        assert {kind: removed(kind) - before[kind] for kind in kinds} == dict.fromkeys(kinds, 1)
        assert (await bench.search("def add_levy")).results


@pytest.fixture
async def swept_at_once(database_url: str, parse_pool: ParsePool, anyio_backend: str, shop: Path) -> AsyncIterator[Bench]:
    """A repository with more segments than are kept, whose replaced generations are due."""
    settings = Settings.model_validate({"database_url": database_url, "embedder": "none", "index": {"grace_seconds": 0}})
    async with bootstrap.backend(settings) as backend:
        bench = Bench(backend, bootstrap.compose(backend), parse_pool)
        for edit in range(MOST_SEGMENTS + 2):
            (shop / "shop" / "money.py").write_text(f"def add_levy(a):\n    return a * {edit}\n")
            await bench.index(shop)
        yield bench


async def test_a_job_does_not_wait_for_a_sweep(swept_at_once: Bench, shop: Path) -> None:
    bench = swept_at_once
    stop, before = asyncio.Event(), removed("generation")
    async with connection(bench.backend.dsn) as other, connection(bench.backend.dsn) as own, asyncio.TaskGroup() as group:
        async with other.transaction():
            await other.execute("SELECT FROM segment FOR UPDATE")  # the merge waits for as long
            group.create_task(bench.worker._serve(bench.pool, stop))
            while removed("generation") == before or not await own.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110 - another connection changes it
                await asyncio.sleep(0.02)
            (shop / "shop" / "money.py").write_text("def add_duty(a):\n    return a\n")
            job, _ = await bench.service.jobs.enqueue("shop")
            while (await bench.service.jobs.get(job.id)).state is not JobState.SUCCEEDED:  # noqa: ASYNC110 - another connection changes it
                await asyncio.sleep(0.02)
            assert (await bench.search("def add_duty")).results
            assert await due(own, 0), "what was left is swept later"
        stop.set()
    bench.worker._swept_at = 0.0
    async with connection(bench.backend.dsn) as own:
        await bench.worker._sweep(own, asyncio.Event())
        assert not await due(own, 0)
        assert await own.fetchval("SELECT count(*) FROM segment") == 1
    assert (await bench.search("def add_duty")).results


async def test_a_sweep_that_gave_way_often_goes_on(swept_at_once: Bench) -> None:
    queued = asyncio.Event()
    queued.set()
    worker = swept_at_once.worker
    async with connection(swept_at_once.backend.dsn) as own:
        for _ in range(MOST_GIVEN_WAY):
            worker._swept_at = 0.0
            await worker._sweep(own, queued)
            assert await due(own, 0)
        worker._swept_at = 0.0
        await worker._sweep(own, queued)
        assert not await due(own, 0)


async def test_an_old_entry_of_the_audit_log_is_forgotten(bench: Bench) -> None:
    for action in ("old", "new"):
        await bench.service.audit.record(AuditEntry("someone", action, None, 200))
    async with bench.backend.connect() as own:
        await own.execute("UPDATE audit SET at = now() - interval '366 days' WHERE action = 'old'")
        assert (await forget(own, 30, 90, 365))["audit"] == 1
    assert [entry.action for entry in await bench.service.audit.list(None, None, None, 10)] == ["new"]
