"""Freed memory goes back to the system.

The C library keeps what was freed for its next need. A few files of megabytes among tens of thousands of small ones would otherwise leave
every process of a run as large as at its largest moment.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


def give_back() -> None:
    """Return what the allocator holds without need: milliseconds. Does nothing where the C library cannot (all but glibc)."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
