"""``python -m benchmarks.replay REPOSITORY``: the history of a repository, commit by commit, against a fresh index of each commit.

The index that grew and the fresh one must show the same files, chunks, symbols and edges, and answer ten questions alike: of every
retriever, and from commit to commit about other names. Whatever differs is printed, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Final

from app.bootstrap import Backend, Service
from app.config import load_settings
from app.domain.index import RepositorySource, SourceKind
from app.domain.query import Dedupe, Filters, Modality, SearchRequest
from app.indexing.parse import ParsePool
from app.observability import logging
from app.worker import Worker
from benchmarks.store import open_store, say
from tests.integration.index_content import index_content

BRANCH: Final = "refs/heads/replay"
LIMIT: Final = 100
STRIDE: Final = 7
"""From one commit to the next the questions move on by so many names."""

Place = tuple[str, int, int, float]
"""Path, first and last line, and for what was found by meaning how near it is."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__)
    parser.add_argument("repository", type=Path, help="a git repository with its history, bare or not")
    parser.add_argument("--commits", type=int, default=30, help="the last commits of its first parents (default: 30)")
    parser.add_argument("--embedder", choices=("static", "none"), default="static", help="none: no questions of meaning (default: static)")
    arguments = parser.parse_args()
    logging.configure("error", "console")
    sys.exit(1 if asyncio.run(_replay(arguments.repository.resolve(), arguments.commits, arguments.embedder)) else 0)


async def _replay(repository: Path, count: int, embedder: str) -> int:
    settings = load_settings().model_copy(update={"embedder": embedder})
    differing, places = 0, Counter[str]()
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
                await store.embed(("grown", "fresh"))
                differences = await _differences(service, store.backend, number, places)
                differing += bool(differences)
                outcome = "; ".join(differences) or "equal"
                say(f"{number}/{len(commits)} {commit[:10]} grown {seconds[0]:.1f} s, fresh {seconds[1]:.1f} s: {outcome}")
    told = ", ".join(f"{modality} {count:,}" for modality, count in places.items())
    say(f"{len(commits) - differing} of {len(commits)} commits agree; places compared: {told}")
    return differing


async def _differences(service: Service, backend: Backend, number: int, places: Counter[str]) -> list[str]:
    """What differs; ``places`` counts what the questions found."""
    (grown, grown_central), (fresh, fresh_central) = [await index_content(backend, name) for name in ("grown", "fresh")]
    found = [part for part in fresh if grown[part] != fresh[part]]
    moved = [symbol for symbol, value in fresh_central.items() if abs(grown_central.get(symbol, 0) - value) > 0.06 * value]
    found += [f"centrality of {len(moved)} symbols"] if moved or grown_central.keys() != fresh_central.keys() else []
    for question, modality in _questions(sorted({row[3] for row in fresh["symbols"]}), number):
        if modality is not Modality.SEMANTIC or backend.embedder is not None:
            answers = [await _places(service, question, modality, repository) for repository in ("grown", "fresh")]
            found += [f"{question.query!r} by {modality}"] if answers[0] != answers[1] else []
            places[modality] += len(answers[1])
    return found


def _questions(names: Sequence[str], number: int) -> list[tuple[SearchRequest, Modality]]:
    """Ten questions, each with the retriever whose findings are compared."""
    if not names:
        return []
    qualified = [names[(number * STRIDE + place * len(names) // 10) % len(names)] for place in range(10)]
    name = [text.rpartition(".")[2] for text in qualified]
    asked = [
        (SearchRequest(name[0], literal=True), Modality.TEXT),
        (SearchRequest(name[1], literal=True, filters=Filters(case=False, word=True)), Modality.TEXT),
        (SearchRequest(rf"{name[2]}\w*\s*\(", literal=True, filters=Filters(regex=True)), Modality.TEXT),
        (SearchRequest(f"where is {name[3]} defined"), Modality.STRUCTURAL),
        (SearchRequest(f"where is {qualified[4]} defined"), Modality.STRUCTURAL),
        (SearchRequest(f"who calls {name[5]}"), Modality.GRAPH),
        (SearchRequest(f"what does {qualified[6]} call"), Modality.GRAPH),
        (SearchRequest(f"what breaks if I change {name[7]}"), Modality.GRAPH),
        (SearchRequest(f"code that does {' '.join(qualified[8].replace('_', '.').split('.'))}"), Modality.SEMANTIC),
        (SearchRequest(f"similar to {name[9]}"), Modality.SEMANTIC),
    ]
    return [
        (replace(question, modalities=(modality,), dedupe=Dedupe.NONE, rescore=False, limit=LIMIT, timeout_ms=10_000), modality)
        for question, modality in asked
    ]


async def _places(service: Service, question: SearchRequest, modality: Modality, repository: str) -> set[Place]:
    """Where the answer is, over all its pages. In no order: the weights of words and the centralities know of a repository's past.

    Of what is found by meaning only the first page, without the last nearness on it: of those that are equally near, some are cut off.
    """
    found: set[Place] = set()
    page = replace(question, repositories=(repository,))
    while True:
        answer = await service.search.search(page)
        for result in answer.results:
            found |= {
                (result.path, result.start_line, result.end_line, round(entry.score, 5) if modality is Modality.SEMANTIC else 0.0)
                for entry in result.evidence
                if entry.modality is modality
            }
        if modality is Modality.SEMANTIC:
            farthest = min((nearness for *_, nearness in found), default=0.0)
            return {place for place in found if place[3] > farthest} if answer.next_cursor else found
        if answer.next_cursor is None:
            return found
        page = replace(page, cursor=answer.next_cursor)


def _git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
