"""Users of the embedded server in processes of their own, and a look at the server's processes."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import asyncpg
import psutil

from app.storage.dsn import parse_dsn

ROOT = Path(__file__).parents[2]

_USER = """
import sys
from pathlib import Path
from app.storage import embedded
server = embedded.acquire(Path(sys.argv[1]), timeout=60)
print(server.url, flush=True)
sys.stdin.read()
server.release(wait_seconds=30)
"""


def python_environment() -> dict[str, str]:
    """For interpreters other than this one, too: the embedded server's modules need the wheel and no other package."""
    paths = [str(ROOT), sysconfig.get_path("purelib")]
    return {"PATH": os.defpath, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


class UserProcess:
    """Holds a share of the server until ``leave`` or ``kill``."""

    def __init__(self, state_dir: Path, *, python: str = sys.executable, uid: int | None = None, groups: list[int] | None = None) -> None:
        self._process = subprocess.Popen(
            [python, "-c", _USER, str(state_dir)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            env=python_environment(),
            user=uid,
            group=uid,
            extra_groups=groups or (None if uid is None else []),
        )

    def url(self) -> str:
        """Blocks until the server answers."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        assert line, self._process.communicate()[1]
        return line

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def errors(self) -> str:
        """Blocks until the process ends."""
        return self._process.communicate(timeout=60)[1]

    def leave(self) -> None:
        _, errors = self._process.communicate(timeout=60)
        assert self._process.returncode == 0, errors

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate(timeout=60)


def supervisor_of(state_dir: Path) -> psutil.Process:
    """The supervisor; fails when there is not exactly one."""
    found = [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(part.endswith("supervisor.py") for part in process.info["cmdline"] or ())
        and str(state_dir / "users.lock") in process.cmdline()[-1]
    ]
    assert len(found) == 1
    return found[0]


def postmaster_of(state_dir: Path) -> psutil.Process:
    return psutil.Process(int((state_dir / "server/data/postmaster.pid").read_text().split()[0]))


def postgres_processes(state_dir: Path) -> list[psutil.Process]:
    data_dir = str((state_dir / "server/data").resolve())
    found = []
    for process in psutil.process_iter():
        try:
            if process.name() == "postgres" and process.cwd() == data_dir:
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue
    return found


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        time.sleep(0.02)


def fetch(url: str, query: str) -> object:
    """The query's first value."""

    async def run() -> object:
        connection = await asyncpg.connect(**parse_dsn(url).connect_kwargs())
        try:
            return await connection.fetchval(query)
        finally:
            await connection.close()

    return asyncio.run(run())
