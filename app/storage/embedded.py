"""The embedded PostgreSQL: a real server for whoever has none, started by its first user and stopped after its last one.

The state directory holds the locks (see ``app.storage.supervisor``) and ``server/``, which belongs to the account that
PostgreSQL runs as: ``password``, ``data/``, ``log/`` and ``run/`` with the socket. docs/decisions/0001-embedded-server.md says why.
"""

from __future__ import annotations

import fcntl
import logging
import os
import socket
import stat
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from urllib.parse import quote

from app.domain.errors import ConfigurationError, StoreUnavailable
from app.storage import cluster, supervisor
from app.storage.cluster import Account
from app.storage.server_settings import server_settings, socket_dir_for

START_SECONDS: Final = 600.0
"""Crash recovery of a large cluster takes minutes."""

_REPORT_SECONDS = 10.0

Report = Callable[[str], None]

_log = logging.getLogger(__name__)


def default_state_dir() -> Path:
    """Where the state lives when no setting says so; for root a directory that the server's account can reach."""
    if os.geteuid() == 0:
        return Path("/var/lib/fourfold")
    base = os.environ.get("XDG_STATE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".local" / "state") / "fourfold"


def is_running(state_dir: Path) -> bool:
    """Whether a supervisor is alive there, be it that its server still starts or already stops."""
    try:
        descriptor = os.open(state_dir / "supervisor.lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


def acquire(state_dir: Path, *, timeout: float = START_SECONDS, report: Report = _log.info) -> EmbeddedServer:
    """Become a user of the server in ``state_dir``; create and start it if need be. Blocks until it answers.

    ``timeout`` is in seconds; ``report`` hears about long waits. Raises ConfigurationError when the server cannot be set up
    like this, StoreUnavailable with the end of its log when it does not come up.
    """
    server = EmbeddedServer(state_dir, timeout=timeout, report=report)
    try:
        server.ensure()
    except BaseException:
        server.release()
        raise
    return server


class EmbeddedServer:
    """A share in the running server, held until ``release`` or the end of this process, however it ends."""

    def __init__(self, state_dir: Path, *, timeout: float = START_SECONDS, report: Report = _log.info) -> None:
        self.state_dir = state_dir.resolve()
        self._timeout = timeout
        self._report = report
        self._server_dir = self.state_dir / "server"
        self._startup_log = self.state_dir / "startup.log"  # not in server/: its owner could make root write elsewhere
        self._users: int | None = None
        self.account = self._prepare()
        self.socket_dir = socket_dir_for(self._server_dir / "run", self.account)
        os.register_at_fork(after_in_child=self._forget_users_lock)

    @property
    def url(self) -> str:
        """For ``app.storage.dsn.parse``; contains the password."""
        password = cluster.password_of(self._server_dir, self.account)
        return f"postgresql://{cluster.ROLE}:{quote(password, safe='')}@/{cluster.DATABASE}?host={quote(str(self.socket_dir), safe='/')}"

    @property
    def log_dir(self) -> Path:
        return self._server_dir / "log"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.release()

    def release(self, *, wait_seconds: float = 0.0) -> None:
        """Give the share back. The last user may wait until the server has stopped."""
        if self._users is None:
            return
        descriptor, self._users = self._users, None
        is_last = _try_lock(descriptor, fcntl.LOCK_EX)
        os.close(descriptor)
        give_up = time.monotonic() + wait_seconds
        while is_last and time.monotonic() < give_up and is_running(self.state_dir):
            time.sleep(0.02)

    def ensure(self) -> None:
        """Start the server again if it is gone. Blocks until it answers; call it when a connection is refused.

        Raises as ``acquire`` does.
        """
        give_up = time.monotonic() + self._timeout
        with self._held("start.lock", fcntl.LOCK_EX, give_up):
            if self._users is None:
                self._users = self._open_lock("users.lock")
                # Not granted while a supervisor stops the server: it keeps the lock until it has ended.
                self._wait_for_lock(self._users, fcntl.LOCK_SH, give_up)
            if not is_running(self.state_dir):
                try:
                    self._start()
                except OSError as error:
                    raise ConfigurationError(f"the embedded PostgreSQL cannot be set up in {self.state_dir}: {error}") from error
            self._wait_until_ready(give_up)

    def _prepare(self) -> Account:
        """Make the directories. Only ``server/`` and below is handed to the server's account."""
        try:
            account = cluster.account_for(self._server_dir)
            for path in (*reversed(self.state_dir.parents), self.state_dir):
                if not path.exists():
                    with suppress(FileExistsError):  # another process was first, and sets the mode
                        path.mkdir()
                        path.chmod(0o700 if account.uid is None else 0o711)
            for path in (self._server_dir, self.log_dir, self._server_dir / "run"):
                path.mkdir(mode=0o700, exist_ok=True)
                account.own(path)
            os.close(self._open_lock("start.lock"))
        except OSError as error:
            raise ConfigurationError(f"the state directory {self.state_dir} cannot be used: {error}") from error
        if closed := _closed_parent(self._server_dir, account):
            raise ConfigurationError(
                f"the account {account.name}, which runs the embedded PostgreSQL, cannot pass through {closed}: "
                "set FOURFOLD_STATE_DIR to a directory whose parents everyone may pass"
            )
        return account

    def _start(self) -> None:
        bin_dir = cluster.find_binaries(self.state_dir, self.account)
        data_dir = self._server_dir / "data"
        cluster.password_of(self._server_dir, self.account)
        if not data_dir.exists():
            self._report(f"creating the embedded database in {self.state_dir}")
            cluster.create_cluster(self._server_dir, bin_dir, self.account)
        cluster.check_version(data_dir, cluster.server_version(bin_dir, self.account))
        lock = self._open_lock("supervisor.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._spawn_supervisor(lock, bin_dir, data_dir)
        finally:
            os.close(lock)

    def _spawn_supervisor(self, lock: int, bin_dir: Path, data_dir: Path) -> None:
        settings = server_settings(self.socket_dir, self.log_dir)
        plan = supervisor.Plan(
            command=[str(bin_dir / "postgres"), "-D", str(data_dir), *(f"--{name}={value}" for name, value in settings.items())],
            environment=cluster.environment(),
            data_dir=str(data_dir.resolve()),
            users_lock=str(self.state_dir / "users.lock"),
            postgres_lock=str(self.state_dir / "postgres.lock"),
            supervisor_lock_fd=lock,
            uid=self.account.uid,
            gid=self.account.gid,
        )
        with self._startup_log.open("wb") as output:
            done = subprocess.run(  # noqa: S603
                [sys.executable, "-I", "-S", supervisor.__file__, plan.as_json()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                pass_fds=(lock,),
                check=False,
            )
        if done.returncode:
            raise StoreUnavailable(f"the embedded PostgreSQL's supervisor did not start:{self._log_tail()}")

    def _wait_until_ready(self, give_up: float) -> None:
        report_at = time.monotonic() + _REPORT_SECONDS
        while not _accepts_connections(self.socket_dir):
            now = time.monotonic()
            if not is_running(self.state_dir):
                raise StoreUnavailable(f"the embedded PostgreSQL did not start:{self._log_tail()}")
            if now > give_up:
                raise StoreUnavailable(f"the embedded PostgreSQL does not answer after {self._timeout:.0f} s:{self._log_tail()}")
            if now > report_at:
                self._report("the embedded PostgreSQL is still starting; after a crash this can take minutes")
                report_at = now + _REPORT_SECONDS
            time.sleep(0.02)

    def _log_tail(self) -> str:
        newest = max(self.log_dir.glob("postgresql-*.log"), key=lambda file: file.stat().st_mtime, default=None)
        texts = [file.read_text(errors="replace") for file in (self._startup_log, newest) if file and file.exists()]
        return "".join(cluster.last_lines(text) for text in texts)

    def _open_lock(self, name: str) -> int:
        return os.open(self.state_dir / name, os.O_RDWR | os.O_CREAT, 0o600)

    @contextmanager
    def _held(self, name: str, kind: int, give_up: float) -> Iterator[None]:
        descriptor = self._open_lock(name)
        try:
            self._wait_for_lock(descriptor, kind, give_up)
            yield
        finally:
            os.close(descriptor)

    def _wait_for_lock(self, descriptor: int, kind: int, give_up: float) -> None:
        while not _try_lock(descriptor, kind):
            if time.monotonic() > give_up:
                raise StoreUnavailable(f"another process has been starting or stopping the embedded PostgreSQL for {self._timeout:.0f} s")
            time.sleep(0.02)

    def _forget_users_lock(self) -> None:
        # A forked child would keep the share alive; closing its copy leaves the parent's in place.
        descriptor, self._users = self._users, None
        if descriptor is not None:
            os.close(descriptor)


def _try_lock(descriptor: int, kind: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        return True
    return False


def _closed_parent(path: Path, account: Account) -> Path | None:
    """The outermost directory above ``path`` that ``account`` may not pass."""
    if account.uid is None:
        return None
    for parent in reversed(path.resolve().parents):
        found = parent.stat()
        bit = stat.S_IXUSR if found.st_uid == account.uid else stat.S_IXGRP if found.st_gid == account.gid else stat.S_IXOTH
        if not found.st_mode & bit:
            return parent
    return None


def _accepts_connections(socket_dir: Path) -> bool:
    """Whether the server asks for a password, as opposed to saying that it starts or stops."""
    parameters = f"user\0{cluster.ROLE}\0database\0{cluster.DATABASE}\0\0".encode()
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5.0)
        try:
            client.connect(str(socket_dir / ".s.PGSQL.5432"))
            client.sendall(struct.pack("!II", 8 + len(parameters), 3 << 16) + parameters)
            return client.recv(4096).startswith(b"R")
        except OSError:
            return False
