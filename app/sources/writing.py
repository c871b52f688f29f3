"""One writer at a time for a bare repository of this service, which begins by removing what a killed one left in its way.

A git that is killed leaves its lock files, and no later git would write where one lies. Whether it was killed is not asked of process
ids but of a lock that the kernel drops with the last process that has it: this one, or a git that it started and that outlived it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from app.domain.errors import SourceUnavailable
from app.sources.git import Git, lent

RETRY_SECONDS: Final = 5
_LOOK_SECONDS: Final = 0.05

_log = structlog.get_logger(__name__)


@contextmanager
def writing(git: Git, *, wait_seconds: float = 0.0) -> Iterator[None]:
    """Nobody else writes to the repository meanwhile, if all ask here first. Raises SourceUnavailable when somebody does.

    Blocks for ``wait_seconds`` at most.
    """
    folder = git.directory.parent
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        give_up = time.monotonic() + wait_seconds
        while not _locked(handle):
            if time.monotonic() >= give_up:
                raise SourceUnavailable("another process is still writing to the copy of the source", retry_after=RETRY_SECONDS)
            time.sleep(_LOOK_SECONDS)
        for path in left_behind(git.directory):
            _log.warning("left_behind_removed", path=str(path))
            path.unlink(missing_ok=True)
        with lent(git.directory, handle):
            yield
    finally:
        os.close(handle)


def left_behind(directory: Path) -> Iterator[Path]:
    """The lock files and half written objects of a bare repository. Some have the names that a branch may have, elsewhere."""
    for place, _, names in os.walk(directory):
        in_objects = Path(place).is_relative_to(directory / "objects")
        for name in names:
            half_written = name.startswith("tmp_") if in_objects else place == str(directory) and name.startswith("fast_import_crash_")
            if name.endswith(".lock") or half_written:
                yield Path(place) / name


def _locked(handle: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
