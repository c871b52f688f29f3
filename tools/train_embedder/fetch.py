"""Downloads the packages with the registries' own clients, each into a folder of its registry; what is there is not fetched again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from tools.train_embedder.packages import Package, excluded, listed

_AT_A_TIME: Final = 4


def fetch(target: Path) -> list[Package]:
    """Download every listed package below ``target``; returns those that could not be got, with the reason printed."""
    packages = [package for package in listed() if not package.file(target) and not excluded(package.name)]
    for registry in _COMMANDS:
        (target / registry).mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        outcomes = pool.map(lambda package: _download(package, target), packages)
        return [package for package, got in zip(packages, outcomes, strict=True) if not got]


def _download(package: Package, target: Path) -> bool:
    command = _COMMANDS[package.registry](package.name)
    done = subprocess.run(command, cwd=target / package.registry, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = re.sub(r"\s+", " ", done.stderr.strip())[-200:]
        print(f"{package.registry} {package.name}: {reason}", file=sys.stderr)
    return done.returncode == 0


_COMMANDS: Final[Mapping[str, Callable[[str], Sequence[str]]]] = {
    "pypi": lambda name: (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", name),
    "npm": lambda name: ("npm", "pack", "--silent", name),
    "debian": lambda name: ("apt-get", "download", name),
    # Needs a deb-src line in the sources of apt.
    "debian-source": lambda name: ("apt-get", "source", "--download-only", name),
}
