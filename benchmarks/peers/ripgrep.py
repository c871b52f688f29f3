"""ripgrep: finds lines without an index. As a ranker: the files with the most lines that hold the whole question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.peers.peer import Ranked, timed, version_of
from benchmarks.scoring import DEPTH, Hit

EVERYTHING = ("--hidden", "--no-ignore", "--glob", "!.git", "--no-messages", "--color", "never")


class Ripgrep:
    name = "ripgrep"

    def version(self) -> str | None:
        return version_of("rg", "--version")

    @contextmanager
    def opened(self, tree: Path) -> Iterator[Callable[[str], Ranked]]:
        def rank(question: str) -> Ranked:
            arguments = ["--count", "--ignore-case", "--fixed-strings", "--null", "--regexp", question, str(tree)]
            printed, ms = timed(["rg", *EVERYTHING, *arguments])
            counts = [line.split("\0") for line in printed.splitlines()]
            best = sorted(counts, key=lambda pair: (-int(pair[1]), pair[0]))[:DEPTH]
            return Ranked([Hit(Path(path).relative_to(tree).as_posix()) for path, _ in best], ms)

        yield rank

    @contextmanager
    def prepared(self, tree: Path) -> Iterator[Callable[[str, bool], Sequence[str]]]:
        def command(pattern: str, regex: bool) -> Sequence[str]:
            kind = [] if regex else ["--fixed-strings"]
            return ["rg", *EVERYTHING, "--line-number", "--no-heading", *kind, "--regexp", pattern, str(tree)]

        yield command
