"""What another tool can be measured at: ranking files for a question, finding the lines of a pattern, building an index."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Protocol

from benchmarks.scoring import Hit


@dataclass(frozen=True, slots=True)
class Ranked:
    """Files best first, named from the tree's root, and the milliseconds it took."""

    hits: Sequence[Hit]
    ms: float


@dataclass(frozen=True, slots=True)
class Indexed:
    """The cost of an index; ``size`` in bytes, None when it lives in memory."""

    seconds: float
    size: int | None


class Peer(Protocol):
    @property
    def name(self) -> str: ...

    def version(self) -> str | None:
        """None: not installed."""
        ...


class Ranker(Peer, Protocol):
    def opened(self, tree: Path) -> AbstractContextManager[Callable[[str], Ranked]]:
        """Whatever has to be built is built on entry; the function takes a question and gives ten files at most."""
        ...


class ExactSearcher(Peer, Protocol):
    def prepared(self, tree: Path) -> AbstractContextManager[Callable[[str, bool], Sequence[str]]]:
        """The function takes a pattern and whether it is a regex, and gives the command that prints every matching line below ``tree``."""
        ...


class Indexer(Peer, Protocol):
    def index(self, tree: Path) -> Indexed: ...


def version_of(command: str, *arguments: str) -> str | None:
    """The first line of what a program says about its version; None when there is no such program."""
    if shutil.which(command) is None:
        return None
    said = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
    return (said.stdout or said.stderr).partition("\n")[0].strip()


def timed(command: Sequence[str], **options: object) -> tuple[str, float]:
    """What a program prints, and the milliseconds it took; exit status 1 means that nothing was found."""
    began = perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, **options)  # type: ignore[call-overload]
    ms = (perf_counter() - began) * 1_000
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()}")
    return done.stdout, ms


def matching_lines(command: Sequence[str]) -> tuple[int, float]:
    """How many lines a searching program prints, and the milliseconds it took."""
    printed, ms = timed(command)
    return printed.count("\n"), ms
