"""What the C library keeps of freed memory goes back to the system.

By default glibc keeps it for the next need, in a heap where small blocks that live longer leave holes: a busy service doubles, and a few
files of megabytes among tens of thousands of small ones leave a process as large as at its largest moment. Another C library is left as
it is.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any, Final

LARGE_BLOCK_BYTES: Final = 65_536
"""From there on blocks of memory are the system's own mappings, after ``keep_small``."""

_M_TRIM_THRESHOLD: Final = -1  # malloc.h
_M_MMAP_THRESHOLD: Final = -3


def keep_small() -> None:
    """From now on large blocks are given back when they are freed."""
    if mallopt := _function("mallopt"):
        mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)
        mallopt(_M_TRIM_THRESHOLD, 2 * LARGE_BLOCK_BYTES)


def give_back() -> None:
    """Return what the heap holds without need: milliseconds."""
    if trim := _function("malloc_trim"):
        trim(0)


@cache
def _function(name: str) -> Any:
    """None where there is none of that name."""
    try:
        return getattr(ctypes.CDLL(None), name, None)
    except OSError:
        return None
