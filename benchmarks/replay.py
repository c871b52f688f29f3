"""``python -m benchmarks.replay REPOSITORY``: the history of a repository, commit by commit, against a fresh index of each commit.

The index that grew and the fresh one must show the same files, chunks, symbols and edges, and answer the same questions. Whatever differs
is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

from app.bootstrap import Backend, Service
from app.config import load_settings
from app.domain.index import RepositorySource, SourceKind
from app.domain.query import Dedupe, Modality, SearchRequest
from app.indexing.parse import ParsePool
from app.observability import logging
from app.worker import Worker
from benchmarks.store import open_store, say
from tests.integration.index_content import index_content

QUESTIONS: Final = 10
BRANCH: Final = "refs/heads/replay"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    parser.add_argument("repository", type=Path, help="a git repository with its history, bare or not")
    parser.add_argument("--commits", type=int, default=30, help="the last commits of its first parents (default: 30)")
    arguments = parser.parse_args()
    logging.configure("error", "console")
    sys.exit(1 if asyncio.run(_replay(arguments.repository.resolve(), arguments.commits)) else 0)


async def _replay(repository: Path, count: int) -> int:
    settings = load_settings().model_copy(update={"embedder": "none"})
    differing = 0
    with tempfile.TemporaryDirectory() as folder, ParsePool(settings.index) as pool:
        remote = Path(folder) / "remote.git"
        _git(Path.cwd(), "clone", "--quiet", "--bare", "--no-local", str(repository), str(remote))
        commits = _git(remote, "rev-list", "--first-parent", f"--max-count={count}", "--reverse", "HEAD").split()
        source = RepositorySource(url=f"file://{remote}", kind=SourceKind.GIT, refs=("replay",))
        async with open_store(settings, "replay", anew=True) as store:
            service, worker = store.service(), Worker(store.backend)
            for number, commit in enumerate(commits, 1):
                _git(remote, "update-ref", BRANCH, commit)
                seconds = []
                for name in ("grown", "fresh"):
                    if name == "fresh" and number > 1:
                        await service.repositories.delete(name)
                    await service.repositories.put(name, source)
                    began = perf_counter()
                    await service.jobs.enqueue(name)
                    while await worker.step(pool):
                        pass
                    seconds.append(perf_counter() - began)
                differences = await _differences(service, store.backend)
                differing += bool(differences)
                outcome = "; ".join(differences) or "equal"
                say(f"{number}/{len(commits)} {commit[:10]} grown {seconds[0]:.1f} s, fresh {seconds[1]:.1f} s: {outcome}")
    say(f"{len(commits) - differing} of {len(commits)} commits agree")
    return differing


async def _differences(service: Service, backend: Backend) -> list[str]:
    (grown, grown_central), (fresh, fresh_central) = [await index_content(backend, name) for name in ("grown", "fresh")]
    found = [part for part in fresh if grown[part] != fresh[part]]
    moved = [symbol for symbol, value in fresh_central.items() if abs(grown_central.get(symbol, 0) - value) > 0.06 * value]
    found += [f"centrality of {len(moved)} symbols"] if moved or grown_central.keys() != fresh_central.keys() else []
    names = [row[3].rpartition(".")[2] for row in fresh["symbols"]]
    for name in names[:: max(1, len(names) // QUESTIONS)][:QUESTIONS]:
        for question in (
            SearchRequest(name, literal=True, dedupe=Dedupe.NONE, limit=100, timeout_ms=10_000),
            SearchRequest(f"who calls {name}", limit=100, timeout_ms=10_000),
        ):
            answers = [await _places(service, question, repository) for repository in ("grown", "fresh")]
            found += [f"{question.query!r}"] if answers[0] != answers[1] else []
    return found


async def _places(service: Service, question: SearchRequest, repository: str) -> set[tuple[str, int, int]]:
    """Where the answer is, over all its pages: their order may differ, since the weights of words know of a repository's past."""
    places: set[tuple[str, int, int]] = set()
    page = replace(question, repositories=(repository,))
    while True:
        answer = await service.search.search(page)
        for result in answer.results:
            # Without callers a question falls back on words.
            if question.literal or any(entry.modality is Modality.GRAPH for entry in result.evidence):
                places.add((result.path, result.start_line, result.end_line))
        if answer.next_cursor is None or not question.literal:
            return places
        page = replace(page, cursor=answer.next_cursor)


def _git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
