"""universal-ctags: where names are defined. As a ranker: the files that define a word of the question, most words first."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from benchmarks.peers.peer import Indexed, Ranked, version_of
from benchmarks.scoring import DEPTH, Hit

WORD = re.compile(r"[A-Za-z_]\w+")


class Ctags:
    name = "universal-ctags"

    def version(self) -> str | None:
        return version_of("ctags", "--version")

    def index(self, tree: Path) -> Indexed:
        with tempfile.TemporaryDirectory() as folder:
            tags = Path(folder) / "tags"
            began = perf_counter()
            _write(tree, tags)
            return Indexed(perf_counter() - began, tags.stat().st_size)

    @contextmanager
    def opened(self, tree: Path) -> Iterator[Callable[[str], Ranked]]:
        with tempfile.TemporaryDirectory() as folder:
            tags = Path(folder) / "tags"
            _write(tree, tags)
            lines = tags.read_text("utf-8", errors="replace").splitlines()
        defined: dict[str, set[str]] = defaultdict(set)
        for line in lines:
            if not line.startswith("!"):
                name, path, _ = line.split("\t", 2)
                defined[name].add(path)

        def rank(question: str) -> Ranked:
            began = perf_counter()
            words = dict.fromkeys(WORD.findall(question))
            files = Counter(path for word in words for path in defined.get(word, ()))
            best = sorted(files, key=lambda path: (-files[path], path))[:DEPTH]
            return Ranked([Hit(Path(path).as_posix()) for path in best], (perf_counter() - began) * 1_000)

        yield rank


def _write(tree: Path, tags: Path) -> None:
    subprocess.run(["ctags", "--recurse", "--quiet", "-f", str(tags), "."], cwd=tree, capture_output=True, check=True)
