"""Git remotes as sources: cloned, followed, and never trusted."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from app import bootstrap
from app.config import CredentialSettings, GitSettings, Settings
from app.domain.errors import InvalidRequest, RevisionNotFound
from app.domain.index import Job, JobState, RepositorySource, SourceKind
from app.domain.query import Filters
from app.domain.ranking import SearchAnswer
from app.indexing.parse import ParsePool
from app.storage.engine import connection
from tests.integration.conftest import SHOP, Bench
from tests.integration.git_remotes import Remote, http_remotes
from tests.integration.index_content import index_content

pytestmark = pytest.mark.anyio

TOKEN = "s3cret-t0ken"


@pytest.fixture
async def clones(database_url: str, parse_pool: ParsePool, anyio_backend: str, tmp_path: Path) -> AsyncIterator[Bench]:
    settings = Settings(
        database_url=database_url,
        embedder="none",
        state_dir=tmp_path / "state",
        git=GitSettings(allowed_hosts=("127.0.0.1",)),
        credentials={"forge": CredentialSettings(host="forge.example", token=TOKEN)},
    )
    async with bootstrap.backend(settings) as backend:
        yield Bench(backend, bootstrap.compose(backend), parse_pool)


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "remotes")


async def put(bench: Bench, url: str, **source: Any) -> None:
    await bench.service.repositories.put("shop", RepositorySource(url=url, kind=SourceKind.GIT, **source))


async def run(bench: Bench, revision: str | None = None) -> Job:
    job, _ = await bench.service.jobs.enqueue("shop", revision)
    while await bench.worker.step(bench.pool):
        pass
    return await bench.service.jobs.get(job.id)


async def paths(bench: Bench, query: str, revision: str | None = None) -> set[str]:
    answer = await search(bench, query, revision)
    return {result.path for result in answer.results}


async def search(bench: Bench, query: str, revision: str | None = None) -> SearchAnswer:
    return await bench.search(query, repositories=("shop",), literal=True, limit=50, filters=Filters(revision=revision))


async def content(bench: Bench, revision: str | None = None) -> dict[str, list[Any]]:
    return (await index_content(bench.backend, "shop", revision))[0]


async def test_a_remote_is_cloned_indexed_and_followed_through_a_rewritten_history(clones: Bench, remote: Remote) -> None:
    first = remote.commit(SHOP)
    await put(clones, remote.url)
    job = await run(clones)
    assert job.state is JobState.SUCCEEDED, job.error
    stored = await clones.service.repositories.get("shop")
    assert (stored.revision, stored.stale, stored.coverage.files) == (first, False, len(SHOP))
    assert await paths(clones, "def add_tax") == {"shop/money.py"}

    second = remote.commit({"shop/money.py": "def add_levy(a):\n    return a\n", "shop/report.py": None, "new.py": "x = 1\n"})
    job = await run(clones)
    assert (job.result["revision"], job.result["analysed"], job.result["unchanged"]) == (second, 2, len(SHOP) - 2)
    assert not await paths(clones, "def add_tax")
    assert await paths(clones, "add_levy") == {"shop/money.py"}

    remote.git("reset", "--quiet", "--hard", first)
    third = remote.commit({"shop/money.py": "def add_duty(a):\n    return a\n"})
    job = await run(clones)
    assert job.result["revision"] == third
    assert await paths(clones, "def add_duty") == {"shop/money.py"}
    assert (await clones.service.repositories.get("shop")).coverage.files == len(SHOP)
    assert (await run(clones)).result["current"] == ["main"], "nothing moved, nothing is done"


async def test_several_branches_and_tags_share_what_they_have_in_common(clones: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    remote.git("tag", "--annotate", "--message", "one", "v1.0")
    remote.commit({"shop/money.py": "def add_levy(a):\n    return a\n"}, branch="release/2")
    head = remote.commit({"extra.py": "EXTRA = 1\n"})
    await put(clones, remote.url, refs=("main", "release/*", "v1.*"))
    job = await run(clones)
    assert job.state is JobState.SUCCEEDED, job.error
    assert sorted(job.result["refs"]) == ["main", "release/2", "v1.0"]  # type: ignore[call-overload]

    assert (await search(clones, "add_tax")).scope.snapshots[0].revision == head
    assert await paths(clones, "def add_tax") == {"shop/money.py"}
    assert await paths(clones, "EXTRA") == {"extra.py"}
    assert not await paths(clones, "def add_tax", "release/2")
    assert await paths(clones, "add_levy", "release/2") == {"shop/money.py"}
    assert not await paths(clones, "EXTRA", "v1.0")
    assert await paths(clones, "EXTRA", head[:10]) == {"extra.py"}
    async with connection(clones.backend.dsn) as own:
        assert await own.fetchval("SELECT count(*) FROM file_version") == len(SHOP) + 2, "one version of each content"

    with pytest.raises(RevisionNotFound, match=r"main, release/2, v1\.0"):
        await search(clones, "add_tax", "relase/2")

    remote.git("branch", "--quiet", "--delete", "--force", "release/2")
    remote.push()
    await run(clones)
    with pytest.raises(RevisionNotFound):
        await search(clones, "add_tax", "release/2")


async def test_every_branch_is_what_a_clean_index_of_it_alone_would_be(clones: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    remote.commit({"shop/money.py": "def add_levy(a):\n    return a\n", "shop/cart.py": None}, branch="dev")
    await put(clones, remote.url, refs=("*",))
    await run(clones)
    remote.commit({"shop/more.py": "from .money import add_tax\n\n\ndef more():\n    return add_tax(1)\n"})
    await run(clones)
    remote.commit({"shop/cart.py": SHOP["shop/cart.py"]}, branch="dev")
    await run(clones)
    together = {branch: await content(clones, branch) for branch in ("main", "dev")}
    for branch, expected in together.items():
        await clones.service.repositories.delete("shop")
        await put(clones, remote.url, refs=(branch,))
        await run(clones)
        assert await content(clones, branch) == expected, branch


async def test_a_sweep_keeps_what_an_older_branch_still_shows(clones: Bench, remote: Remote) -> None:
    from app.storage.sweep import due, sweep

    remote.commit(SHOP)
    remote.commit({"shop/money.py": "def add_levy(a):\n    return a\n"}, branch="dev")
    await put(clones, remote.url, refs=("*",))
    await run(clones)
    for number in range(3):
        remote.commit({"n.py": f"N = {number}\n"})
        await run(clones)
    before = {branch: await content(clones, branch) for branch in ("main", "dev")}
    async with connection(clones.backend.dsn) as own:
        for repository_id in await due(own, 0):
            await sweep(own, repository_id, 0)
        assert await own.fetchval("SELECT count(*) FROM generation") == 2
        assert await own.fetchval("SELECT count(*) FROM file_version WHERE path = 'n.py'") == 1
    assert {branch: await content(clones, branch) for branch in ("main", "dev")} == before


async def test_any_commit_on_request(clones: Bench, remote: Remote) -> None:
    old = remote.commit(SHOP)
    remote.commit({"shop/money.py": "def add_levy(a):\n    return a\n"})
    await put(clones, remote.url)
    await run(clones)
    assert not await paths(clones, "def add_tax")
    job = await run(clones, old)
    assert job.state is JobState.SUCCEEDED, job.error
    assert await paths(clones, "def add_tax", old) == {"shop/money.py"}
    assert await paths(clones, "def add_tax", old[:8]) == {"shop/money.py"}
    assert not await paths(clones, "def add_tax"), "the default branch answers as before"

    missing = await run(clones, "ab" * 20)
    assert missing.state is JobState.SUCCEEDED
    assert "ab" * 20 in missing.result["failed"]  # type: ignore[operator]
    with pytest.raises(InvalidRequest, match="full id"):
        await run(clones, old[:8])


async def test_a_remote_that_is_down_keeps_its_index_and_is_tried_again(clones: Bench, tmp_path: Path) -> None:
    remote = Remote(tmp_path / "served")
    remote.commit(SHOP)
    with http_remotes(tmp_path / "served") as served:
        await put(clones, f"{served.url}/remote.git")
        assert (await run(clones)).state is JobState.SUCCEEDED
        served.down = True
        job = await run(clones)
        assert (job.state, job.attempts) == (JobState.QUEUED, 1)
        assert "503" in (job.error or "")
        stored = await clones.service.repositories.get("shop")
        assert "503" in (stored.source_error or "")
        assert await paths(clones, "def add_tax") == {"shop/money.py"}

        served.down = False
        moved = remote.commit({"n.py": "N = 1\n"})
        assert (await run(clones)).result["revision"] == moved, "a request does not wait for the backoff"
        assert (await clones.service.repositories.get("shop")).source_error is None


async def test_a_remote_that_lists_nothing_any_more_forgets_nothing(clones: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    await put(clones, remote.url, refs=("*",))
    await run(clones)
    remote.bare.rename(remote.bare.with_name("moved"))
    await clones.service.jobs.look(await clones.service.repositories.get("shop"))
    stored = await clones.service.repositories.get("shop")
    assert stored.source_error
    assert await paths(clones, "def add_tax") == {"shop/money.py"}


async def test_a_secret_goes_to_its_host_alone_and_stands_nowhere(clones: Bench, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    remote = Remote(tmp_path / "served")
    remote.commit(SHOP)
    with http_remotes(tmp_path / "served") as served:
        url = f"{served.url}/remote.git"
        with pytest.raises(InvalidRequest, match="not for"):
            clones.service.remotes.check(url, "forge")
        with pytest.raises(InvalidRequest, match="no credential"):
            clones.service.remotes.check(url, "other")
        await put(clones, url, credential="forge")  # as if the setting had changed since
        job = await run(clones)
        assert job.state is JobState.FAILED
        assert "not for" in (job.error or "")
        assert not served.seen
    async with connection(clones.backend.dsn) as own:
        rows = await own.fetch("SELECT job::text AS text FROM job UNION ALL SELECT repository::text FROM repository")
    assert not any(TOKEN in row["text"] for row in rows)
    shown = capfd.readouterr()
    assert TOKEN not in shown.out + shown.err


def test_the_token_reaches_git_by_its_environment(tmp_path: Path) -> None:
    from app.sources.address import parse_address
    from app.sources.credentials import git_environment

    address = parse_address("https://forge.example/shop")
    environment = git_environment(address, "93.184.216.34", CredentialSettings(host="forge.example", token=TOKEN), tmp_path / "known")
    config = {environment[f"GIT_CONFIG_KEY_{n}"]: environment[f"GIT_CONFIG_VALUE_{n}"] for n in range(int(environment["GIT_CONFIG_COUNT"]))}
    assert config["http.curloptResolve"] == "forge.example:443:93.184.216.34"
    assert config["http.https://forge.example/shop.extraHeader"].startswith("Authorization: Basic ")
    assert environment["GIT_ALLOW_PROTOCOL"] == "https"


async def test_redirects_are_not_followed(clones: Bench, tmp_path: Path) -> None:
    remote = Remote(tmp_path / "served")
    remote.commit(SHOP)
    with http_remotes(tmp_path / "served") as inner, http_remotes(tmp_path / "served") as outer:
        outer.redirect_to = inner.url
        await put(clones, f"{outer.url}/remote.git")
        assert (await run(clones)).state is JobState.QUEUED
        assert outer.seen
        assert not inner.seen


async def test_submodules_are_recorded_and_on_request_indexed_at_their_pinned_commit(clones: Bench, remote: Remote, tmp_path: Path) -> None:
    library = Remote(tmp_path / "library")
    pinned = library.commit({"lib.py": "def pinned_name(): ...\n"})
    library.commit({"lib.py": "def newer_name(): ...\n"})
    remote.commit(SHOP)
    remote.git("submodule", "--quiet", "add", library.url, "vendor/lib")
    remote.git("-C", "vendor/lib", "checkout", "--quiet", pinned)
    remote.commit({})
    await put(clones, remote.url)
    await run(clones)
    stored = await clones.service.repositories.get("shop")
    assert stored.coverage.by_reason["submodule"] == 1
    assert not await paths(clones, "pinned_name")

    await put(clones, remote.url, submodules=True)
    await run(clones)
    assert await paths(clones, "pinned_name") == {"vendor/lib/lib.py"}
    assert not await paths(clones, "newer_name")

    library.bare.rename(library.bare.with_name("gone.git"))
    remote.git("-C", "vendor/lib", "checkout", "--quiet", "main")
    remote.commit({"n.py": "N = 1\n"})
    assert (await run(clones)).state is JobState.SUCCEEDED, "a submodule that cannot be had stops nothing"
    assert (await clones.service.repositories.get("shop")).coverage.by_reason["submodule"] == 1


async def test_a_submodule_that_could_not_be_had_is_tried_again_without_a_new_commit(clones: Bench, remote: Remote, tmp_path: Path) -> None:
    library = Remote(tmp_path / "library")
    library.commit({"lib.py": "def pinned_name(): ...\n"})
    remote.commit(SHOP)
    remote.git("submodule", "--quiet", "add", library.url, "vendor/lib")
    remote.commit({})
    away = library.bare.with_name("away.git")
    library.bare.rename(away)
    await put(clones, remote.url, submodules=True)
    job = await run(clones)
    assert (job.state, [*job.result["failed"]]) == (JobState.SUCCEEDED, ["main: vendor/lib"])  # type: ignore[misc]
    assert (await run(clones)).result["current"] == ["main"], "it is away still"

    away.rename(library.bare)
    await clones.service.jobs.look(await clones.service.repositories.get("shop"))
    assert not await clones.service.jobs.list("shop", state=JobState.QUEUED), "not at every look"
    async with connection(clones.backend.dsn) as own:
        await own.execute("UPDATE job SET finished_at = finished_at - interval '2 hours'")
    await clones.service.jobs.look(await clones.service.repositories.get("shop"))
    (queued,) = await clones.service.jobs.list("shop", state=JobState.QUEUED)
    while await clones.worker.step(clones.pool):
        pass
    job = await clones.service.jobs.get(queued.id)
    assert (job.state, job.result["failed"]) == (JobState.SUCCEEDED, {})
    assert await paths(clones, "pinned_name") == {"vendor/lib/lib.py"}
    assert "submodule" not in (await clones.service.repositories.get("shop")).coverage.by_reason
    assert (await run(clones)).result["current"] == ["main"]


async def test_attributes_alone_class_unchanged_files_anew(clones: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    await put(clones, remote.url)
    await run(clones)
    remote.commit({".gitattributes": "shop/money.py linguist-generated\n"})
    job = await run(clones)
    assert job.result["analysed"] == 2
    assert {path: kind for path, _, kind in (await content(clones))["files"]}["shop/money.py"] == "generated"
    remote.commit({".gitattributes": None})
    await run(clones)
    assert {path: kind for path, _, kind in (await content(clones))["files"]}["shop/money.py"] == "source"


async def test_odd_trees(clones: Bench, remote: Remote) -> None:
    remote.commit({"a b.py": "x = 1\n", 'q"uo\nte.py': "quoted = 1\n", "Case.py": "upper = 1\n"})
    raw = os.fsencode(remote.work) + b"/caf\xe9.py"
    Path(os.fsdecode(raw)).write_text("latin = 1\n")
    (remote.work / "link").symlink_to("/etc/passwd")
    (remote.work / "data.bin").write_bytes(bytes(range(256)))
    (remote.work / "big.lfs").write_text(f"version https://git-lfs.github.com/spec/v1\noid sha256:{'a' * 64}\nsize 9\n")
    (remote.work / ("n" * 251 + ".py")).write_text("long_name = 1\n")
    remote.commit({})
    await put(clones, remote.url)
    assert (await run(clones)).state is JobState.SUCCEEDED
    assert await paths(clones, "latin = 1") == {"caf\\xe9.py"}
    assert await paths(clones, "quoted = 1") == {'q"uo\nte.py'}
    assert await paths(clones, "long_name") == {"n" * 251 + ".py"}
    by_reason = (await clones.service.repositories.get("shop")).coverage.by_reason
    assert {reason: by_reason[reason] for reason in ("symlink", "binary", "lfs_pointer")} == {"symlink": 1, "binary": 1, "lfs_pointer": 1}
    remote.git("mv", "--force", "Case.py", "case.py")
    remote.commit({})
    job = await run(clones)
    assert job.result["analysed"] == 1
    assert await paths(clones, "upper = 1") == {"case.py"}


async def test_other_globs_make_the_index_stale(clones: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    await put(clones, remote.url)
    await run(clones)
    await put(clones, remote.url, include=("web/**",))
    assert (await clones.service.repositories.get("shop")).stale
    assert (await search(clones, "renderCart")).scope.snapshots[0].stale
    await run(clones)
    stored = await clones.service.repositories.get("shop")
    assert (stored.stale, stored.coverage.files) == (False, 1)


async def test_polling_queues_a_run_when_the_remote_moved(clones: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    await put(clones, remote.url)
    await run(clones)
    await clones.service.jobs.look(await clones.service.repositories.get("shop"))
    assert not await clones.service.jobs.list("shop", state=JobState.QUEUED)
    moved = remote.commit({"n.py": "N = 1\n"})
    await clones.service.jobs.look(await clones.service.repositories.get("shop"))
    assert (await clones.service.repositories.get("shop")).stale
    (job,) = await clones.service.jobs.list("shop", state=JobState.QUEUED)
    assert job.priority == 0
    while await clones.worker.step(clones.pool):
        pass
    assert (await clones.service.repositories.get("shop")).revision == moved


async def test_a_deleted_repository_leaves_nothing_on_disk(clones: Bench, remote: Remote, tmp_path: Path) -> None:
    remote.commit(SHOP)
    await put(clones, remote.url)
    await run(clones)
    (kept,) = (tmp_path / "state" / "sources").iterdir()
    assert not (kept / "spool").exists() or not any((kept / "spool").iterdir())
    await clones.service.repositories.delete("shop")
    assert not any((tmp_path / "state" / "sources").iterdir())
    async with connection(clones.backend.dsn) as own:
        for table in ("ref", "blob", "generation", "branch", "file_version"):
            assert await own.fetchval(f"SELECT count(*) FROM {table}") == 0, table


async def test_a_run_that_was_cut_off_is_finished_by_the_next(clones: Bench, remote: Remote, tmp_path: Path) -> None:
    remote.commit({f"f{n}.py": f"def name_{n}():\n    return name_{n - 1}()\n" * 20 for n in range(400)})
    await put(clones, remote.url)
    job, _ = await clones.service.jobs.enqueue("shop")
    working = asyncio.create_task(clones.worker.step(clones.pool))
    while (await clones.service.jobs.get(job.id)).stage not in ("analyse", "resolve"):  # noqa: ASYNC110 - another connection changes it
        await asyncio.sleep(0.01)
    working.cancel()
    await asyncio.gather(working, return_exceptions=True)
    (kept,) = (tmp_path / "state" / "sources").iterdir()
    (kept / "spool").mkdir(exist_ok=True)
    (kept / "spool" / "left").write_text("of a killed run")
    assert (await run(clones)).state is JobState.SUCCEEDED
    assert not any((kept / "spool").iterdir())
    grown = await content(clones)
    await clones.service.repositories.delete("shop")
    await put(clones, remote.url)
    await run(clones)
    assert await content(clones) == grown


async def test_the_command_line_indexes_a_remote(clones: Bench, remote: Remote, tmp_path: Path, database_url: str) -> None:
    remote.commit(SHOP)
    remote.commit({"dev.py": "DEV_ONLY = 1\n"}, branch="dev")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FOURFOLD_")}
    environment |= {"DATABASE_URL": database_url, "FOURFOLD_EMBEDDER": "none", "FOURFOLD_STATE_DIR": str(tmp_path / "state")}
    command = [sys.executable, "-P", "-m", "app", "index", remote.url, "--name", "shop", "--ref", "main", "--ref", "d*"]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    out, err = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, err.decode()
    assert f"shop: {len(SHOP)} files indexed" in out.decode()
    assert await paths(clones, "DEV_ONLY", "dev") == {"dev.py"}
    for wrong in (["https://u:p@forge.example/x"], [str(tmp_path), "--ref", "x"]):
        process = await asyncio.create_subprocess_exec(*command[:5], *wrong, env=environment, stderr=asyncio.subprocess.PIPE)
        assert (await process.communicate())[1]
        assert process.returncode != 0


async def test_a_remote_that_hangs_holds_up_neither_other_repositories_nor_the_end(clones: Bench, tmp_path: Path, shop: Path) -> None:
    Remote(tmp_path / "served").commit(SHOP)
    with http_remotes(tmp_path / "served") as served:
        served.hangs = threading.Event()
        await put(clones, f"{served.url}/remote.git", poll_seconds=0.1)
        stop = asyncio.Event()
        working = asyncio.create_task(clones.worker.run(stop))
        while not served.seen:  # noqa: ASYNC110 - a thread changes it
            await asyncio.sleep(0.05)
        await clones.service.repositories.put("other", RepositorySource(str(shop)))
        job, _ = await clones.service.jobs.enqueue("other")
        while (await clones.service.jobs.get(job.id)).state is not JobState.SUCCEEDED:  # noqa: ASYNC110 - another connection changes it
            await asyncio.sleep(0.05)
        assert not working.done()
        assert served.seen == served.seen[:1], "it still waits"
        stop.set()
        await asyncio.wait_for(working, 30)  # while the remote still hangs
        served.hangs.set()


async def test_a_remote_that_sends_too_much_is_refused_and_leaves_nothing(clones: Bench, remote: Remote) -> None:
    first = remote.commit(SHOP)
    clones.backend.settings.git.max_fetch_bytes = 200_000
    await put(clones, remote.url)
    assert (await run(clones)).state is JobState.SUCCEEDED
    stored = await clones.service.repositories.get("shop")
    directory = clones.backend.mirrors.git(stored).directory

    def bytes_kept() -> int:
        return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())

    before = bytes_kept()
    remote.commit({"large.txt": random.Random(1).randbytes(400_000).hex()})
    job = await run(clones)
    assert job.state is JobState.FAILED
    assert "more than 200,000 bytes (FOURFOLD_GIT__MAX_FETCH_BYTES)" in (job.error or "")
    assert (await clones.service.repositories.get("shop")).revision == first, "the last index stays"
    assert bytes_kept() < before + 50_000
    clones.backend.settings.git.max_fetch_bytes = 2_000_000
    job = await run(clones)
    assert (job.state, job.result["revision"]) == (JobState.SUCCEEDED, remote.git("rev-parse", "HEAD"))
