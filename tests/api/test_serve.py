"""The process model: uvicorn here, the worker as a child, both stopped by one signal."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from app.config import Settings
from app.domain.errors import ConfigurationError, FourfoldError
from app.heap import LARGE_BLOCK_BYTES
from app.http.serve import bind, serve, url_of
from app.worker_process import running_worker

from .twins import MemoryService, factory

pytestmark = pytest.mark.anyio


async def until(condition: object, seconds: float = 20) -> None:
    """Wait for a callable to become true."""
    assert callable(condition)
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "did not happen in time"
        await asyncio.sleep(0.02)


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError, FileNotFoundError):
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    return False


async def test_it_serves_until_the_signal(service: MemoryService) -> None:
    answers: list[int] = []

    async def on_ready(opened: MemoryService, url: str) -> None:
        assert opened is service
        async with httpx2.AsyncClient() as client:
            answers.append((await client.get(f"{url}/readyz")).status_code)
        os.kill(os.getpid(), signal.SIGTERM)

    await asyncio.wait_for(serve(factory(service), Settings(port=0), worker=False, on_ready=on_ready), 20)
    assert answers == [200]


async def test_the_signal_may_come_while_the_service_opens() -> None:
    class Slow:
        async def __aenter__(self) -> MemoryService:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
            raise AssertionError

        async def __aexit__(self, *_: object) -> None:
            raise AssertionError("was never open")

    await asyncio.wait_for(serve(Slow, Settings(port=0), worker=False), 10)


async def test_an_error_at_the_start_ends_the_service(service: MemoryService) -> None:
    async def on_ready(_service: MemoryService, _url: str) -> None:
        raise FourfoldError("the first index failed")

    with pytest.raises(FourfoldError, match="the first index failed"):
        await asyncio.wait_for(serve(factory(service), Settings(port=0), worker=False, on_ready=on_ready), 20)


async def test_answers_under_way_are_finished(service: MemoryService) -> None:
    service.search.block = asyncio.Event()
    statuses: list[int] = []

    async def ask(url: str) -> None:
        async with httpx2.AsyncClient() as client:
            statuses.append((await client.get(f"{url}/v1/search?q=x&repositories=api")).status_code)

    async def on_ready(_service: MemoryService, url: str) -> None:
        asked.append(asyncio.create_task(ask(url)))
        await service.search.entered.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        asyncio.get_running_loop().call_later(0.3, service.search.block.set)  # type: ignore[union-attr]

    asked: list[asyncio.Task[None]] = []
    await asyncio.wait_for(serve(factory(service), Settings(port=0), worker=False, on_ready=on_ready), 20)
    await asked[0]
    assert statuses == [200]


def test_a_port_in_use_is_one_clear_line() -> None:
    with (
        bind("127.0.0.1", 0) as taken,
        pytest.raises(ConfigurationError, match=r"port \d+ on 127.0.0.1 is in use; choose another with --port"),
    ):
        bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConfigurationError, match="cannot resolve the host"):
        bind("no-such-host.invalid", 0)
    with pytest.raises(ConfigurationError, match=r"cannot bind to 192\.0\.2\.1:0"):
        bind("192.0.2.1", 0)


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_urls() -> None:
    with bind("127.0.0.1", 0) as listener:
        assert url_of(listener) == f"http://127.0.0.1:{listener.getsockname()[1]}"
    with bind("::1", 0) as listener:
        assert url_of(listener) == f"http://[::1]:{listener.getsockname()[1]}"


def script(text: str) -> tuple[str, ...]:
    return (sys.executable, "-c", textwrap.dedent(text))


async def test_a_worker_that_dies_is_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    command = script(f"""
        import os, time
        with open({str(starts)!r}, "a") as file:
            file.write(f"{{os.getpid()}}\\n")
        time.sleep(60)
    """)

    def pids() -> list[int]:
        return [int(line) for line in starts.read_text().splitlines()] if starts.exists() else []

    async with running_worker(command):
        await until(lambda: len(pids()) == 1)
        os.kill(pids()[0], signal.SIGKILL)
        await until(lambda: len(pids()) == 2)
        assert is_alive(pids()[1])
    assert not is_alive(pids()[1])


async def test_a_worker_begins_when_its_parent_is_ready(tmp_path: Path) -> None:
    ready = asyncio.Event()
    told, begun = tmp_path / "told", tmp_path / "begun"
    command = script(
        f"""
        import sys, time
        from pathlib import Path
        Path({str(told)!r}).touch()
        sys.stdin.read()
        Path({str(begun)!r}).touch()
        time.sleep(60)
        """
    )
    async with running_worker(command, ready=ready):
        await until(told.exists)
        await asyncio.sleep(0.2)
        assert not begun.exists()
        ready.set()
        await until(begun.exists)


async def test_a_worker_that_never_starts_is_given_up() -> None:
    async with running_worker(script("raise SystemExit(3)"), attempts=2) as keeper:
        with pytest.raises(FourfoldError, match="does not stay alive"):
            await asyncio.wait_for(keeper, 30)


async def test_a_worker_that_does_not_listen_is_killed_with_its_children(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.worker_process.STOP_SECONDS", 0.3)
    told = tmp_path / "pids"
    command = script(f"""
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        with open({str(told)!r} + ".part", "w") as file:
            file.write(f"{{os.getpid()}} {{child.pid}}")
        os.rename({str(told)!r} + ".part", {str(told)!r})
        time.sleep(60)
    """)
    async with running_worker(command):
        await until(told.exists)
    for pid in map(int, told.read_text().split()):
        await until(lambda pid=pid: not is_alive(pid))


@pytest.mark.skipif(sys.platform != "linux", reason="uses prctl")
async def test_a_worker_dies_with_its_parent(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    child = textwrap.dedent(f"""
        import os, sys, time
        from app.worker_process import die_with_parent
        die_with_parent(int(sys.argv[1]))
        with open({str(told)!r} + ".part", "w") as file:
            file.write(str(os.getpid()))
        os.rename({str(told)!r} + ".part", {str(told)!r})
        time.sleep(60)
    """)
    parent = await asyncio.create_subprocess_exec(
        *script(f"""
            import os, subprocess, sys
            subprocess.run([sys.executable, "-c", {child!r}, str(os.getpid())])
        """)
    )
    await until(told.exists)
    pid = int(told.read_text())
    assert is_alive(pid)
    parent.kill()
    await parent.wait()
    await until(lambda: not is_alive(pid), 5)


def test_a_worker_whose_parent_is_gone_does_not_start() -> None:
    orphan = [sys.executable, "-m", "app", "worker", "--child", "1"]
    ran = subprocess.run(orphan, capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (1, "fourfold: the process that started this worker is gone\n")


HEAP = """
import ctypes
from app.heap import LARGE_BLOCK_BYTES, keep_small

class Facts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Facts
keep_small()
del_me = bytearray(16 << 20)
del del_me  # from now on glibc by itself would keep blocks of this size in its heap
before = libc.mallinfo2()
blocks = [bytearray(2 * LARGE_BLOCK_BYTES) for _ in range(100)]
after = libc.mallinfo2()
print(after.arena - before.arena, after.hblkhd - before.hblkhd)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has another heap")
def test_large_blocks_are_no_part_of_the_heap() -> None:
    ran = subprocess.run([sys.executable, "-c", HEAP], capture_output=True, text=True, check=True)
    heap, mapped = map(int, ran.stdout.split())
    assert heap < 1_000_000
    assert mapped > 90 * 2 * LARGE_BLOCK_BYTES
