"""A worker as a child process: parsing would hold the interpreter lock of the process that answers searches."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

import app
from app.domain.errors import ConfigurationError, FourfoldError

STOP_SECONDS: Final = 6.0
_STABLE_SECONDS: Final = 30.0
_LONGEST_BACKOFF_SECONDS: Final = 30.0
_PR_SET_PDEATHSIG: Final = 1

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def running_worker(
    command: Sequence[str] | None = None, *, attempts: int | None = None, ready: asyncio.Event | None = None
) -> AsyncIterator[asyncio.Task[None]]:
    """A worker runs beside the block; it is started again when it dies and stopped at the end.

    ``command`` is run instead of ``fourfold worker`` when given. It begins when its input ends, which is when ``ready`` is set: what it
    loads before takes a second. The task that is yielded ends only when the worker died soon after its
    start for ``attempts`` times in a row, and then with FourfoldError; None: it is tried for ever.
    """
    keeper = asyncio.create_task(_keep_running(command or _worker_command(), attempts, ready))
    try:
        yield keeper
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError, FourfoldError):
            await keeper


async def _keep_running(command: Sequence[str], attempts: int | None, ready: asyncio.Event | None) -> None:
    failures = 0
    while attempts is None or failures < attempts:
        if failures:
            await asyncio.sleep(min(2.0 ** (failures - 1), _LONGEST_BACKOFF_SECONDS))
        started = time.monotonic()
        # In a session of its own: Ctrl-C reaches this process alone, which then stops the worker in order.
        process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, env=_environment(), start_new_session=True)
        try:
            if ready is not None:
                await ready.wait()
            if process.stdin is not None:
                process.stdin.close()
            status = await process.wait()
        except asyncio.CancelledError:
            await _stop(process)
            raise
        failures = 1 if time.monotonic() - started > _STABLE_SECONDS else failures + 1
        _log.error("worker_died", status=status, failures=failures)
    raise FourfoldError("the worker does not stay alive; its own messages say why")


def _worker_command() -> Sequence[str]:
    """``-P``: a folder named ``app`` in the current directory is not this program."""
    return (sys.executable, "-P", "-m", "app", "--debug", "worker", "--child", str(os.getpid()))


def _environment() -> Mapping[str, str]:
    source_root = str(Path(app.__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [source_root, inherited]))}


async def _stop(process: Process) -> None:
    """Ask, then insist: the whole session, so that parser processes go too."""
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        _log.warning("the worker did not stop in time and is killed")
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def die_with_parent(parent: int) -> None:
    """Called by the worker first: it ends when the process that started it does, however that ends (Linux).

    Raises ConfigurationError when the parent is gone already.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        raise ConfigurationError("the process that started this worker is gone")
