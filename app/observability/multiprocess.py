"""Where API and worker leave their numbers for each other. Imports no metrics: the place must be known before they exist."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"
_PREFIX: Final = "fourfold-metrics-"


@contextmanager
def shared_metrics() -> Iterator[None]:
    """Metrics of this process and its children are one set, kept in a fresh directory until the end."""
    if "prometheus_client" in sys.modules:
        raise RuntimeError("prometheus_client was imported before its directory was set")
    _remove_left_behind()
    directory = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
    os.environ[_VARIABLE] = directory
    try:
        yield
    finally:
        os.environ.pop(_VARIABLE)
        shutil.rmtree(directory, ignore_errors=True)


def _remove_left_behind() -> None:
    """Of services that were killed and could not clean up."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        owner = path.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdecimal() and not _is_alive(int(owner)):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
