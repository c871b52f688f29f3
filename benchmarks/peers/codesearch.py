"""codesearch (cindex, csearch): regular expressions over a trigram index, the design that most code search engines follow."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from benchmarks.peers.peer import Indexed


class Codesearch:
    name = "codesearch"

    def version(self) -> str | None:
        """It does not tell its version."""
        return "installed" if shutil.which("cindex") and shutil.which("csearch") else None

    def index(self, tree: Path) -> Indexed:
        with tempfile.TemporaryDirectory() as folder:
            return _index(tree, Path(folder) / "index")

    @contextmanager
    def prepared(self, tree: Path) -> Iterator[Callable[[str, bool], Sequence[str]]]:
        def command(pattern: str, regex: bool) -> Sequence[str]:
            return ["env", f"CSEARCHINDEX={index}", "csearch", "-n", pattern if regex else re.escape(pattern)]

        with tempfile.TemporaryDirectory() as folder:
            index = Path(folder) / "index"
            _index(tree, index)
            yield command


def _index(tree: Path, index: Path) -> Indexed:
    began = perf_counter()
    subprocess.run(["cindex", str(tree)], env=os.environ | {"CSEARCHINDEX": str(index)}, capture_output=True, check=True)
    return Indexed(perf_counter() - began, index.stat().st_size)
