"""What a process that was killed while it wrote leaves on disk: nothing, or what the next one takes away."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from app import bootstrap
from app.config import Settings
from app.domain.errors import SourceUnavailable
from app.domain.index import JobState, RepositorySource, SourceKind
from app.indexing.parse import ParsePool
from app.sources.git import Git, GitError
from app.sources.writing import left_behind, writing
from app.storage.engine import connection
from tests.integration.conftest import SHOP, Bench
from tests.integration.git_remotes import Remote
from tests.integration.kills import Running, own_state_directory
from tests.integration.test_retention import removed

SECONDS = 30.0


def until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)


def open_files(pid: int) -> list[str]:
    found = []
    for handle in Path(f"/proc/{pid}/fd").iterdir():
        try:
            found.append(str(handle.readlink()))
        except FileNotFoundError:
            continue
    return found


@pytest.fixture
def own_state() -> Iterator[Path]:
    with own_state_directory() as path:
        yield path


@pytest.mark.timeout(300)
def test_an_upload_that_is_cut_off_leaves_no_file(own_state: Path) -> None:
    running = Running(own_state)
    sources = own_state / "sources"
    port = urlsplit(running.url).port
    assert port is not None
    with socket.create_connection(("127.0.0.1", port)) as client:
        head = "PUT /v1/repositories/shop/archive?revision=r1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/gzip\r\n"
        client.sendall(f"{head}Content-Length: 1000000\r\n\r\n".encode() + b"\x1f\x8b" + bytes(200_000))
        until(lambda: any(name.startswith(str(sources)) for name in open_files(running.process.pid)))
        running.process.kill()
        running.process.wait()
    assert [path for path in sources.rglob("*") if path.is_file()] == []


@pytest.fixture
def mirror(tmp_path: Path) -> Git:
    git = Git(tmp_path / "copy" / "git")
    git.create()
    return git


def test_a_writer_waits_for_a_git_that_outlived_its_parent(mirror: Git) -> None:
    script = (
        "import sys, time; from pathlib import Path; from app.sources.git import Git; from app.sources.writing import writing\n"
        "git = Git(Path(sys.argv[1]))\n"
        "with writing(git):\n"
        "    child = git.start('cat-file', '--batch'); print(child.pid, child.stdin.fileno(), flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(mirror.directory)], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child, handle = map(int, parent.stdout.readline().split())
        with Path(f"/proc/{parent.pid}/fd/{handle}").open("wb"):  # its input does not end with its parent
            try:
                parent.kill()
                parent.wait()
                lock = mirror.directory / "shallow.lock"
                lock.touch()
                with pytest.raises(SourceUnavailable), writing(mirror):
                    pass
                assert lock.exists(), "it may be the living git's"
            finally:
                os.kill(child, signal.SIGKILL)
    with writing(mirror, wait_seconds=SECONDS):
        assert not lock.exists()


def test_one_writer_at_a_time(mirror: Git) -> None:
    with writing(mirror), pytest.raises(SourceUnavailable) as refused, writing(mirror, wait_seconds=0.1):
        pass
    assert refused.value.retry_after
    with writing(mirror):
        pass


def test_only_what_no_ref_can_be_is_left_behind(mirror: Git) -> None:
    kept = ("refs/heads/tmp_x", "refs/heads/fast_import_crash_1", "refs/heads/lock", "objects/pack/pack-1.pack", "config")
    left = ("shallow.lock", "refs/heads/a/b.lock", "objects/pack/tmp_pack_a1", "objects/0a/tmp_obj_b2", "fast_import_crash_7")
    for name in (*kept, *left):
        (mirror.directory / name).parent.mkdir(parents=True, exist_ok=True)
        (mirror.directory / name).touch()
    assert {path.relative_to(mirror.directory).as_posix() for path in left_behind(mirror.directory)} == set(left)


@pytest.fixture
async def clones(database_url: str, parse_pool: ParsePool, anyio_backend: str, tmp_path: Path) -> AsyncIterator[Bench]:
    settings = Settings(database_url=database_url, embedder="none", state_dir=tmp_path / "state")
    async with bootstrap.backend(settings) as backend:
        yield Bench(backend, bootstrap.compose(backend), parse_pool)


@pytest.mark.anyio
async def test_locks_of_a_killed_git_hold_up_no_run(clones: Bench, tmp_path: Path) -> None:
    remote = Remote(tmp_path / "remotes")
    remote.commit(SHOP)

    async def index() -> JobState:
        await clones.service.repositories.put("shop", RepositorySource(url=remote.url, kind=SourceKind.GIT))
        job, _ = await clones.service.jobs.enqueue("shop")
        while await clones.worker.step(clones.pool):
            pass
        return (await clones.service.jobs.get(job.id)).state

    assert await index() is JobState.SUCCEEDED
    git = clones.backend.mirrors.git(await clones.service.repositories.get("shop"))
    remote.commit({"shop/money.py": "def add_levy():\n    return 1\n"})
    left = [git.directory / name for name in ("shallow.lock", "refs/heads/main.lock", "packed-refs.lock", "objects/pack/tmp_pack_x")]
    for path in left:
        path.touch()
    with pytest.raises(GitError):
        git.run("update-ref", "refs/heads/main", "HEAD~0")
    spooled = git.directory.parent / "spool" / "tmpabc"
    spooled.mkdir(parents=True)
    assert await index() is JobState.SUCCEEDED
    assert not any(path.exists() for path in [*left, spooled])
    assert (await clones.search("def add_levy")).results


@pytest.mark.anyio
async def test_a_deletion_that_was_cut_off_is_finished_by_a_worker(clones: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = Remote(tmp_path / "remotes")
    remote.commit(SHOP)
    for name in ("shop", "other"):
        await clones.service.repositories.put(name, RepositorySource(url=remote.url, kind=SourceKind.GIT))
        await clones.service.jobs.enqueue(name)
    while await clones.worker.step(clones.pool):
        pass
    sources = tmp_path / "state" / "sources"
    with monkeypatch.context() as killed:
        killed.setattr("app.sources.mirrors.shutil.rmtree", lambda *_, **__: None)
        await clones.service.repositories.delete("shop")
    assert len(list(sources.iterdir())) == 2
    before = removed("copy")
    async with connection(clones.backend.dsn) as own:
        await clones.worker._sweep(own, asyncio.Event())
    assert removed("copy") - before == 1
    kept = clones.backend.mirrors.git(await clones.service.repositories.get("other")).directory.parent
    assert list(sources.iterdir()) == [kept]
