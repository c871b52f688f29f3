"""Owns the embedded PostgreSQL: starts it, restarts it after a crash, stops it when its last user is gone.

A process of its own, so that no user's death takes the server from the others. It imports the standard library only and is
run by path with ``python -I -S``: light, and independent of the packages around it. ``app.storage.embedded`` starts it.

Three locks (flock, dropped by the kernel when their holder dies) say who is alive:

- ``users.lock``       shared by every user; whoever gets it exclusively knows that nobody is left
- ``supervisor.lock``  held by the supervisor as long as it lives
- ``postgres.lock``    inherited by every PostgreSQL process; free means that none runs on the data directory
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

FAST_SHUTDOWN_SECONDS = 60.0
"""A fast shutdown writes a checkpoint; an immediate one costs a crash recovery at the next start."""

ORPHAN_SECONDS = 120.0
"""How long processes of an earlier server may take to end before a new start is given up."""

LONGEST_PAUSE_SECONDS = 30.0

_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run. Paths are absolute; ``uid`` and ``gid`` are the account to run as, or None to stay."""

    command: list[str]
    environment: dict[str, str]
    data_dir: str
    users_lock: str
    postgres_lock: str
    supervisor_lock_fd: int
    uid: int | None
    gid: int | None

    def as_json(self) -> str:
        return json.dumps(asdict(self))


def processes_on(data_dir: Path) -> list[int]:
    """Pids of the PostgreSQL processes whose working directory is ``data_dir``; empty where there is no /proc."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (entry / "cwd").readlink() == data_dir and (entry / "exe").readlink().name.startswith("postgres"):
                pids.append(int(entry.name))
    return pids


class Supervisor:
    """Runs the plan's command until the last user is gone or a signal says so."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._data_dir = Path(plan.data_dir)
        self._stop = threading.Event()
        self._wakeup_reader, self._wakeup_writer = os.pipe()
        os.set_blocking(self._wakeup_reader, False)
        os.set_blocking(self._wakeup_writer, False)

    def run(self) -> int:
        """Returns the exit status: 0 after a stop, 1 when the server never came up."""
        self._listen()
        was_ready = False
        failures = 0
        while not self._stop.is_set():
            process = self._launch()
            if process is None:
                return 1
            ready = self._watch(process)
            if self._stop.is_set():
                self._shut_down(process)
                break
            was_ready = was_ready or ready
            failures = 0 if ready else failures + 1
            _say(f"postgres ended with status {process.returncode}")
            if not was_ready:
                return 1
            self._signal_orphans(signal.SIGQUIT)
            self._pause(min(0.1 * 2**failures, LONGEST_PAUSE_SECONDS))
        return 0

    def _listen(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        signal.set_wakeup_fd(self._wakeup_writer, warn_on_full_buffer=False)
        threading.Thread(target=self._wait_for_last_user, daemon=True).start()

    def _wait_for_last_user(self) -> None:
        # The descriptor stays open: users that arrive while the server stops wait for this process to end.
        descriptor = os.open(self._plan.users_lock, os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        self._stop.set()
        with suppress(BlockingIOError):
            os.write(self._wakeup_writer, b"\0")

    def _pause(self, seconds: float | None) -> None:
        """Wait for a child's end, a signal or the last user's leave, at most ``seconds`` (None: for ever)."""
        if not self._stop.is_set():
            self._wait_for_event(seconds)

    def _wait_for_event(self, seconds: float | None) -> None:
        if select.select([self._wakeup_reader], [], [], seconds)[0]:
            with suppress(BlockingIOError):
                os.read(self._wakeup_reader, 4096)

    def _launch(self) -> subprocess.Popen[bytes] | None:
        lock = self._lock_data_dir()
        if lock is None:
            return None
        try:
            return subprocess.Popen(  # noqa: S603
                self._plan.command,
                cwd=self._data_dir,
                env=self._plan.environment,
                stdin=subprocess.DEVNULL,
                user=self._plan.uid,
                group=self._plan.gid,
                extra_groups=None if self._plan.uid is None else [],
                umask=0o077,
                pass_fds=(lock,),
                preexec_fn=_die_with_parent(),  # runs after the change of user, which clears the setting
            )
        except OSError as error:
            _say(f"cannot run {self._plan.command[0]}: {error}")
            return None
        finally:
            os.close(lock)

    def _lock_data_dir(self) -> int | None:
        """Wait until no PostgreSQL process is left on the data directory, then drop the pid file of the last one."""
        descriptor = os.open(self._plan.postgres_lock, os.O_RDWR | os.O_CREAT, 0o600)
        give_up = time.monotonic() + ORPHAN_SECONDS
        kill = time.monotonic() + FAST_SHUTDOWN_SECONDS
        while True:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            now = time.monotonic()
            if self._stop.is_set() or now > give_up:
                _say(f"processes of an earlier server are still alive: {processes_on(self._data_dir)}")
                os.close(descriptor)
                return None
            if now > kill:
                self._signal_orphans(signal.SIGKILL)
            time.sleep(0.05)
        if strangers := processes_on(self._data_dir):
            _say(f"another PostgreSQL runs on this data directory: {strangers}")
            os.close(descriptor)
            return None
        if Path("/proc/self").exists():
            # Its pid may belong to another program by now, and PostgreSQL would refuse to start.
            (self._data_dir / "postmaster.pid").unlink(missing_ok=True)
        return descriptor

    def _watch(self, process: subprocess.Popen[bytes]) -> bool:
        """Until the process ends or a stop is asked for; returns whether it ever accepted connections."""
        ready = False
        while process.poll() is None and not self._stop.is_set():
            ready = ready or self._is_ready(process.pid)
            self._pause(None if ready else 0.1)
        return ready

    def _is_ready(self, pid: int) -> bool:
        try:
            lines = (self._data_dir / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def _shut_down(self, process: subprocess.Popen[bytes]) -> None:
        for number, seconds in ((signal.SIGINT, FAST_SHUTDOWN_SECONDS), (signal.SIGQUIT, 10.0), (signal.SIGKILL, 10.0)):
            if process.poll() is None:
                process.send_signal(number)
            give_up = time.monotonic() + seconds
            while process.poll() is None and time.monotonic() < give_up:
                self._wait_for_event(give_up - time.monotonic())
            if process.poll() is not None:
                break
        self._signal_orphans(signal.SIGKILL)

    def _signal_orphans(self, number: signal.Signals) -> None:
        """Backends in the middle of a query do not notice that their postmaster is gone."""
        for pid in processes_on(self._data_dir):
            with suppress(ProcessLookupError):
                os.kill(pid, number)


def _die_with_parent() -> Callable[[], None] | None:
    """For the child, before exec: a fast shutdown when the supervisor is killed. Linux only."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask_for_signal() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT))
        if os.getppid() != parent:
            os._exit(1)

    return ask_for_signal


def _say(message: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC supervisor: {message}", file=sys.stderr, flush=True)


def main() -> None:
    """Leave the starter's process tree and run the plan given as JSON in the first argument."""
    plan = Plan(**json.loads(sys.argv[1]))
    if os.fork():
        os._exit(0)
    os.setsid()
    status = Supervisor(plan).run()
    os._exit(status)  # the thread may still wait for its lock


if __name__ == "__main__":
    main()
