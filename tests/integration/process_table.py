"""What the kernel shows of running processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

import psutil


class Shown(NamedTuple):
    """A process as everybody of its user sees it."""

    name: str
    command: str
    environment: Mapping[str, str]


def shown(processes: Iterable[psutil.Process]) -> list[Shown]:
    """Those that still run: one that ends while it is looked at, or waits for its parent to notice, shows nothing."""
    found = []
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            found.append(Shown(process.name(), " ".join(process.cmdline()), process.environ()))
    return found
