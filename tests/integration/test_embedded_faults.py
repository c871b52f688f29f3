"""What happens to the embedded server when processes die."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import psutil
import pytest

from app.domain.errors import StoreUnavailable
from app.storage import cluster, embedded
from tests.integration.embedded_process import UserProcess, fetch, postgres_processes, postmaster_of, supervisor_of, wait_until


@pytest.fixture(scope="module")
def state_dir() -> Iterator[Path]:
    """Not the directory that other tests use: its server is killed here."""
    parent = Path(tempfile.mkdtemp(prefix="fourfold-faults-"))
    parent.chmod(0o711)
    embedded.acquire(parent / "state").release(wait_seconds=60)
    yield parent / "state"
    shutil.rmtree(parent)


@pytest.fixture
def server(state_dir: Path) -> Iterator[embedded.EmbeddedServer]:
    with embedded.acquire(state_dir, timeout=60) as server:
        yield server
        server.release(wait_seconds=60)
    assert not embedded.is_running(state_dir)
    assert postgres_processes(state_dir) == []


def _write_note(url: str) -> None:
    fetch(url, "CREATE TABLE IF NOT EXISTS note (text text)")
    fetch(url, "TRUNCATE note")
    fetch(url, "INSERT INTO note VALUES ('kept')")


def test_last_user_out_stops_the_server(state_dir: Path) -> None:
    first, second = UserProcess(state_dir), UserProcess(state_dir)
    url = first.url()
    assert second.url() == url
    first.leave()
    assert fetch(url, "SELECT 1") == 1
    second.leave()
    assert not embedded.is_running(state_dir)
    assert postgres_processes(state_dir) == []


def test_killed_user_leaves_nothing_behind(state_dir: Path) -> None:
    user = UserProcess(state_dir)
    user.url()
    assert postgres_processes(state_dir)
    user.kill()
    wait_until(lambda: not embedded.is_running(state_dir))
    assert postgres_processes(state_dir) == []
    assert not (state_dir / "server/data/postmaster.pid").exists(), "the shutdown was not clean"


def test_killed_user_leaves_the_server_to_the_others(state_dir: Path, server: embedded.EmbeddedServer) -> None:
    user = UserProcess(state_dir)
    user.url()
    postmaster = postmaster_of(state_dir)
    user.kill()
    time.sleep(0.5)
    assert postmaster.is_running()
    assert fetch(server.url, "SELECT 1") == 1


def test_killed_supervisor_takes_postgres_along_and_is_replaced(state_dir: Path, server: embedded.EmbeddedServer) -> None:
    _write_note(server.url)
    postmaster = postmaster_of(state_dir)
    supervisor_of(state_dir).kill()
    wait_until(lambda: not postmaster.is_running())
    with pytest.raises((OSError, asyncpg.PostgresError)):
        fetch(server.url, "SELECT 1")
    server.ensure()
    assert fetch(server.url, "SELECT text FROM note") == "kept"


def test_server_is_back_at_once_after_its_supervisor_was_killed(state_dir: Path, server: embedded.EmbeddedServer) -> None:
    """The new supervisor waits until the old server's processes are gone."""
    old = postmaster_of(state_dir)
    supervisor_of(state_dir).kill()
    wait_until(lambda: not embedded.is_running(state_dir))
    server.ensure()
    wait_until(lambda: not old.is_running())
    server.ensure()
    assert postmaster_of(state_dir).ppid() == supervisor_of(state_dir).pid
    assert fetch(server.url, "SELECT 1") == 1


def test_terminated_supervisor_stops_the_server_cleanly(state_dir: Path, server: embedded.EmbeddedServer) -> None:
    supervisor_of(state_dir).terminate()
    wait_until(lambda: not embedded.is_running(state_dir))
    assert postgres_processes(state_dir) == []
    assert not (state_dir / "server/data/postmaster.pid").exists()
    server.ensure()


def test_killed_postmaster_is_restarted(state_dir: Path, server: embedded.EmbeddedServer) -> None:
    _write_note(server.url)
    supervisor = supervisor_of(state_dir)
    errors: list[Exception] = []
    busy = threading.Thread(target=_run_until_error, args=(server.url, "SELECT count(*) FROM generate_series(1, 100000000000)", errors))
    busy.start()
    time.sleep(0.3)
    postmaster = postmaster_of(state_dir)
    postmaster.kill()
    wait_until(lambda: not postmaster.is_running())
    server.ensure()
    assert fetch(server.url, "SELECT text FROM note") == "kept"
    assert supervisor_of(state_dir) == supervisor
    busy.join(timeout=10)
    assert len(errors) == 1


def _run_until_error(url: str, query: str, errors: list[Exception]) -> None:
    try:
        fetch(url, query)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        errors.append(error)


def test_data_survives_the_death_of_every_process(state_dir: Path) -> None:
    user = UserProcess(state_dir)
    _write_note(user.url())
    processes = [supervisor_of(state_dir), *postgres_processes(state_dir)]
    user.kill()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(processes, timeout=30)
    with embedded.acquire(state_dir, timeout=60) as server:
        assert fetch(server.url, "SELECT text FROM note") == "kept"
        server.release(wait_seconds=60)


def test_pid_file_with_the_pid_of_another_program(state_dir: Path) -> None:
    """The program runs under the server's account, so PostgreSQL itself would refuse to start."""
    account = cluster.account_for(state_dir / "server")
    stranger = subprocess.Popen(["sleep", "600"], user=account.uid, group=account.gid, extra_groups=None if account.uid is None else [])
    try:
        pid_file = state_dir / "server/data/postmaster.pid"
        pid_file.write_text(f"{stranger.pid}\n{state_dir}/server/data\n1700000000\n5432\n/tmp\n\n  1234567         0\nready   \n")
        pid_file.chmod(0o600)
        account.own(pid_file)
        with embedded.acquire(state_dir, timeout=30) as server:
            assert fetch(server.url, "SELECT 1") == 1
            server.release(wait_seconds=60)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_postgres_started_by_hand_on_the_same_data_is_left_alone(state_dir: Path) -> None:
    account = cluster.account_for(state_dir / "server")
    postgres = cluster.find_binaries(state_dir, account) / "postgres"
    with tempfile.TemporaryDirectory(prefix="fourfold-") as socket_dir:
        account.own(Path(socket_dir))
        stranger = subprocess.Popen(
            [postgres, "-D", state_dir / "server/data", "-c", "listen_addresses=", "-k", socket_dir],
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=cluster.environment(),
            user=account.uid,
            group=account.gid,
            extra_groups=None if account.uid is None else [],
        )
        try:
            wait_until(lambda: (Path(socket_dir) / ".s.PGSQL.5432").exists())
            with pytest.raises(StoreUnavailable, match=f"another PostgreSQL runs on this data directory.*{stranger.pid}"):
                embedded.acquire(state_dir, timeout=30)
            assert stranger.poll() is None
            assert postmaster_of(state_dir).pid == stranger.pid
        finally:
            stranger.send_signal(signal.SIGINT)
            stranger.wait(timeout=30)


def test_forked_child_does_not_keep_the_server(state_dir: Path) -> None:
    server = embedded.acquire(state_dir, timeout=60)
    child = os.fork()
    if child == 0:
        signal.pause()
        os._exit(0)
    try:
        server.release(wait_seconds=30)
        assert not embedded.is_running(state_dir)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_failed_start_shows_the_end_of_the_log(state_dir: Path) -> None:
    config = state_dir / "server/data/postgresql.conf"
    text = config.read_text()
    config.write_text(text + "\nno_such_setting = 1\n")
    try:
        with pytest.raises(StoreUnavailable, match=r"no_such_setting"):
            embedded.acquire(state_dir, timeout=30)
    finally:
        config.write_text(text)
    assert not embedded.is_running(state_dir)
