"""Secrets for remotes, against real servers: they open the door, they stand nowhere, and when they no longer do the old index answers."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import trustme

from app import bootstrap
from app.config import CredentialSettings, GitSettings, Settings
from app.domain.index import Job, JobState, RepositorySource, SourceKind
from app.indexing.parse import ParsePool
from app.storage.engine import connection
from tests.integration.conftest import SHOP, Bench
from tests.integration.git_remotes import HttpRemotes, Remote, http_remotes
from tests.integration.process_table import shown
from tests.integration.ssh_remotes import SshRemotes, key_pair, ssh_remotes

pytestmark = pytest.mark.anyio

TOKEN = "t0ken-that-nobody-may-see"
ENCODED = base64.b64encode(f"git:{TOKEN}".encode()).decode()

Open = Callable[..., AbstractAsyncContextManager[Bench]]


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    made = Remote(tmp_path / "served")
    made.commit(SHOP)
    return made


@pytest.fixture
def ca(tmp_path: Path) -> trustme.CA:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return authority


@pytest.fixture
def https(remote: Remote, ca: trustme.CA) -> Iterator[HttpRemotes]:
    with http_remotes(remote.bare.parent, ca) as served:
        served.secret = TOKEN
        yield served


@pytest.fixture
def ssh(remote: Remote) -> Iterator[SshRemotes]:
    with ssh_remotes(remote.bare.parent) as served:
        yield served


@pytest.fixture
def open_bench(database_url: str, parse_pool: ParsePool, anyio_backend: str, tmp_path: Path) -> Open:
    @asynccontextmanager
    async def opened(ca_file: Path | None = tmp_path / "ca.pem", **credential: Any) -> AsyncIterator[Bench]:
        settings = Settings(
            database_url=database_url,
            embedder="none",
            state_dir=tmp_path / "state",
            git=GitSettings(allowed_hosts=("localhost", "127.0.0.1"), ca_file=ca_file),
            credentials={"forge": CredentialSettings(**credential)} if credential else None,
        )
        async with bootstrap.backend(settings) as backend:
            yield Bench(backend, bootstrap.compose(backend), parse_pool)

    return opened


async def follow(bench: Bench, url: str, credential: str | None = "forge") -> Job:
    await bench.service.repositories.put("shop", RepositorySource(url=url, kind=SourceKind.GIT, credential=credential))
    job, _ = await bench.service.jobs.enqueue("shop")
    while await bench.worker.step(bench.pool):
        pass
    return await bench.service.jobs.get(job.id)


async def finds(bench: Bench) -> bool:
    answer = await bench.search("def add_tax", repositories=("shop",), literal=True)
    return [result.path for result in answer.results] == ["shop/money.py"]


async def assert_nowhere(bench: Bench, shown: str, *secrets: str) -> None:
    """Neither in a row of any table, nor in what was logged, nor in a file of the service's own."""
    async with connection(bench.backend.dsn) as own:
        tables = [
            row["relname"]
            for row in await own.fetch("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
        ]
        rows = [row["text"] for table in tables for row in await own.fetch(f'SELECT x::text AS text FROM "{table}" x')]
    assert rows
    kept = [path.read_bytes() for path in (bench.backend.settings.state_dir or Path()).rglob("*") if path.is_file()]
    assert kept
    for secret in secrets:
        assert not any(secret in row for row in rows)
        assert secret not in shown
        assert not any(secret.encode() in content for content in kept)


async def test_a_token_opens_an_https_remote_of_a_company_s_own_authority(
    open_bench: Open, https: HttpRemotes, remote: Remote, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url = f"{https.url}/remote.git"
    async with open_bench(host="localhost", token=TOKEN) as bench:
        job = await follow(bench, url)
        assert job.state is JobState.SUCCEEDED, job.error
        assert await finds(bench)
        assert {authorization for _, authorization in https.seen} == {f"Basic {ENCODED}"}
        moved = remote.commit({"new.py": "NEW = 1\n"})
        assert (await follow(bench, url)).result["revision"] == moved
        await assert_nowhere(bench, "".join(capfd.readouterr()), TOKEN, ENCODED)


async def test_no_process_shows_the_token_while_it_is_in_use(open_bench: Open, https: HttpRemotes) -> None:
    async with open_bench(host="localhost", token=TOKEN) as bench:
        https.hangs = threading.Event()
        working = asyncio.create_task(follow(bench, f"{https.url}/remote.git"))
        while not https.seen:  # noqa: ASYNC110 - a thread changes it
            await asyncio.sleep(0.02)
        family = [psutil.Process(), *psutil.Process().children(recursive=True)]
        commands = [process.command for process in shown(family)]
        assert any("ls-remote" in command for command in commands), "git is at it"
        assert not [command for command in commands if TOKEN in command or ENCODED in command]
        served, https.hangs = https.hangs, None
        served.set()
        await working


@pytest.mark.parametrize("wrong", ["token", "none"])
async def test_a_wrong_token_is_told_at_once(open_bench: Open, https: HttpRemotes, wrong: str) -> None:
    async with open_bench(host="localhost", token="of-last-year") as bench:
        job = await follow(bench, f"{https.url}/remote.git", "forge" if wrong == "token" else None)
        assert (job.state, job.attempts) == (JobState.FAILED, 1), "to ask again is of no use"
        expected = "localhost: the credential was refused" if wrong == "token" else "a credential is needed; name one in source.credential"
        assert expected in (job.error or "")
        assert "of-last-year" not in (job.error or "")


async def test_a_token_that_is_revoked_leaves_the_old_index_and_one_that_is_changed_needs_no_restart(
    open_bench: Open, https: HttpRemotes, remote: Remote, tmp_path: Path
) -> None:
    token_file = tmp_path / "token"
    token_file.write_text(TOKEN + "\n")
    async with open_bench(host="localhost", token_file=token_file) as bench:
        url = f"{https.url}/remote.git"
        assert (await follow(bench, url)).state is JobState.SUCCEEDED
        https.secret = "another-since"
        remote.commit({"new.py": "NEW = 1\n"})
        job = await follow(bench, url)
        assert job.state is JobState.FAILED
        assert "the credential was refused" in (job.error or "")
        assert "the last index stays in place" in (job.error or "")
        stored = await bench.service.repositories.get("shop")
        assert "the credential was refused" in (stored.source_error or "")
        assert await finds(bench)
        await bench.service.jobs.look(stored)
        assert not await bench.service.jobs.list("shop", state=JobState.QUEUED), "the clock asks, and queues nothing"

        token_file.write_text("another-since")
        job = await follow(bench, url)
        assert job.state is JobState.SUCCEEDED, job.error
        assert (await bench.service.repositories.get("shop")).source_error is None
        token_file.unlink()
        job = await follow(bench, url)
        assert (job.state, "token file cannot be read" in (job.error or "")) == (JobState.FAILED, True)
        assert await finds(bench)


async def test_a_certificate_of_an_authority_that_is_not_known_gets_no_secret(open_bench: Open, https: HttpRemotes) -> None:
    async with open_bench(ca_file=None, host="localhost", token=TOKEN) as bench:
        job = await follow(bench, f"{https.url}/remote.git")
        assert job.state is JobState.QUEUED, "it may be mended there"
        assert "certificate" in (job.error or "")
        assert not https.seen


async def test_a_key_opens_an_ssh_remote(
    open_bench: Open, ssh: SshRemotes, remote: Remote, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    private = tmp_path / "key"
    ssh.keys.add(key_pair(private))
    url = f"{ssh.url}/remote.git"
    async with open_bench(host="127.0.0.1", ssh_key_file=private) as bench:
        job = await follow(bench, url)
        assert job.state is JobState.SUCCEEDED, job.error
        assert await finds(bench)
        assert set(ssh.commands) == {"git-upload-pack '/remote.git'"}
        await assert_nowhere(bench, "".join(capfd.readouterr()), private.read_text().splitlines()[1])

        ssh.keys.clear()
        remote.commit({"new.py": "NEW = 1\n"})
        job = await follow(bench, url)
        assert (job.state, job.attempts) == (JobState.FAILED, 1)
        assert "the credential was refused" in (job.error or "")
        assert "Permission denied" in (job.error or "")
        assert await finds(bench)


@pytest.mark.parametrize("known", ["in the file", "met before"])
async def test_a_host_with_another_key_than_is_known_is_not_trusted(
    open_bench: Open, ssh: SshRemotes, remote: Remote, tmp_path: Path, known: str
) -> None:
    private, known_hosts = tmp_path / "key", tmp_path / "known_hosts"
    ssh.keys.add(key_pair(private))
    port = ssh.url.rpartition(":")[2]
    known_hosts.write_text(f"[127.0.0.1]:{port} {ssh.host_key}\n127.0.0.1 {ssh.host_key}\n")
    given = {"known_hosts_file": known_hosts} if known == "in the file" else {}
    async with open_bench(host="127.0.0.1", ssh_key_file=private, **given) as bench:
        job = await follow(bench, f"{ssh.url}/remote.git")
        assert job.state is JobState.SUCCEEDED, job.error
        files = [known_hosts] if given else list((tmp_path / "state" / "sources").glob("*/known_hosts"))
        assert len(files) == 1
        other = key_pair(tmp_path / "other")
        files[0].write_text(files[0].read_text().replace(ssh.host_key, other))
        job = await follow(bench, f"{ssh.url}/remote.git")
        assert job.state is JobState.FAILED
        assert "Host key verification failed" in (job.error or "")
        assert await finds(bench)
