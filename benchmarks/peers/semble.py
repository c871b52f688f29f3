"""semble's lexical mode: its BM25 and its ranking rules without its model, which cannot be had offline.

It lives in an environment of its own, named by FOURFOLD_BENCH_SEMBLE or ``benchmarks/work/semble`` (see benchmarks/README.md).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.corpora import WORK
from benchmarks.peers.peer import Indexed, Ranked, version_of
from benchmarks.scoring import Hit

PROCESS = Path(__file__).with_name("semble_process.py")


class Semble:
    name = "semble, lexical mode"

    def version(self) -> str | None:
        python = _python()
        if not python.is_file():
            return None
        return version_of(str(python), "-c", "from importlib.metadata import version; print(version('semble'))")

    def index(self, tree: Path) -> Indexed:
        with _conversation(tree) as (built, _):
            return Indexed(float(built["seconds"]), None)

    @contextmanager
    def opened(self, tree: Path) -> Iterator[Callable[[str], Ranked]]:
        with _conversation(tree) as (_, ask):

            def rank(question: str) -> Ranked:
                answer = ask(question)
                return Ranked([Hit(*hit) for hit in answer["hits"]], float(answer["ms"]))

            yield rank


def _python() -> Path:
    return Path(os.environ.get("FOURFOLD_BENCH_SEMBLE", WORK / "semble")) / "bin" / "python"


@contextmanager
def _conversation(tree: Path) -> Iterator[tuple[dict[str, Any], Callable[[str], dict[str, Any]]]]:
    """A process that indexes the tree, says so, and then answers one question a line."""
    command = [str(_python()), "-I", str(PROCESS), str(tree)]  # isolated: this folder has a module of the same name
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        questions, answers = process.stdin, process.stdout

        def ask(question: str) -> dict[str, Any]:
            questions.write(json.dumps(question) + "\n")
            questions.flush()
            answer: dict[str, Any] = json.loads(answers.readline())
            return answer

        try:
            yield json.loads(answers.readline()), ask
        finally:
            questions.close()
            process.wait()
