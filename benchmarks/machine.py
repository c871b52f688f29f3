"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from app import __version__
from benchmarks.corpora import CHECKOUT

LOAD_BEFORE: Final = round(os.getloadavg()[0], 2)
"""Processes that wanted to run in the minute before this program began."""


def facts() -> dict[str, str | int | float]:
    """Names and values for the head of a report."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "fourfold": f"{__version__} ({_commit()})",
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_before": LOAD_BEFORE,
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "asyncpg": version("asyncpg"),
        "numpy": version("numpy"),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _commit() -> str:
    git = ["git", "-C", str(CHECKOUT)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "no git"
    return f"{commit}, with changes" if changed.strip() else commit
