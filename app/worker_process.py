"""A worker as a child process: parsing would hold the interpreter lock of the process that answers searches."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

import app
from app.domain.errors import ConfigurationError

STOP_SECONDS: Final = 6.0
_STABLE_SECONDS: Final = 30.0
_LONGEST_BACKOFF_SECONDS: Final = 30.0
_PR_SET_PDEATHSIG: Final = 1

_log = structlog.get_logger(__name__)


@asynccontextmanager
async def running_worker() -> AsyncIterator[None]:
    """A worker runs beside the block; it is started again when it dies and stopped at the end."""
    keeper = asyncio.create_task(_keep_running())
    try:
        yield
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper


async def _keep_running() -> None:
    failures = 0
    while True:
        process = await _start()
        started = time.monotonic()
        try:
            status = await process.wait()
        except asyncio.CancelledError:
            await _stop(process)
            raise
        failures = 1 if time.monotonic() - started > _STABLE_SECONDS else failures + 1
        pause = min(2.0 ** (failures - 1), _LONGEST_BACKOFF_SECONDS)
        _log.error("the worker died and is started again", status=status, pause_seconds=pause)
        await asyncio.sleep(pause)


async def _start() -> Process:
    """In a session of its own: Ctrl-C reaches this process alone, which then stops the worker in order."""
    source_root = str(Path(app.__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [source_root, inherited]))}
    # -P: a folder named app in the current directory is not this program.
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "app", "worker", "--child", str(os.getpid())), env=environment, start_new_session=True
    )


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
