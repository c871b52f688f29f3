"""Golden rankings: a small corpus, questions about it, and the five files that answer each, written down.

A change of ranking shows as a change of these files: update them with ``make golden`` and read the difference before committing it.
Meaning is left out (no embedder), so that the files are the same on every machine.
"""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from app import bootstrap
from app.bootstrap import Backend
from app.config import Settings
from app.domain.index import JobState, RepositorySource
from app.domain.query import SearchRequest
from app.domain.ranking import SearchAnswer
from app.indexing.parse import ParsePool
from app.worker import Worker

HERE: Final = Path(__file__).parent
CORPUS: Final = HERE / "corpus"
GOLDEN: Final = HERE / "golden"
REPOSITORY: Final = "ferry"
SHOWN: Final = 5
ASKED: Final = 10
PATIENCE_MS: Final = 10_000
"""A retriever that is late because the machine is busy must not change the ranking."""


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    query: str
    target: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer to a question; ``rank`` is the target's, 1-based, 0 when it is not among the first ten."""

    question: Question
    answer: SearchAnswer

    @property
    def rank(self) -> int:
        paths = [result.path for result in self.answer.results]
        return paths.index(self.question.target) + 1 if self.question.target in paths else 0


def questions() -> list[Question]:
    """In the order of ``queries.toml``."""
    rows = tomllib.loads((HERE / "queries.toml").read_text("utf-8"))
    return [Question(name, row["query"], row["target"]) for name, row in rows.items()]


async def rankings(database_url: str, folder: Path) -> list[Ranking]:
    """Index the corpus, copied below ``folder`` so that git has no say in it, into an empty database and ask every question."""
    tree = shutil.copytree(CORPUS, folder / REPOSITORY, ignore=shutil.ignore_patterns("__pycache__"))
    settings = Settings(database_url=SecretStr(database_url), embedder="none")
    async with bootstrap.backend(settings) as backend:
        await _index(backend, tree)
        search = bootstrap.compose(backend).search
        return [Ranking(question, await search.search(_request(question))) for question in questions()]


def _request(question: Question) -> SearchRequest:
    return SearchRequest(question.query, repositories=(REPOSITORY,), limit=ASKED, timeout_ms=PATIENCE_MS)


async def _index(backend: Backend, tree: Path) -> None:
    await backend.repositories.put(REPOSITORY, RepositorySource(str(tree)))
    job, _ = await backend.jobs.enqueue(REPOSITORY)
    with ParsePool(backend.settings.index) as pool:
        await Worker(backend).step(pool)
    job = await backend.jobs.get(job.id)
    if job.state is not JobState.SUCCEEDED:
        raise RuntimeError(f"the corpus was not indexed: {job.state} {job.error}")


def files(ranked: Sequence[Ranking]) -> Mapping[str, str]:
    """The golden files by name: one for each question, and the summary."""
    return {f"{ranking.question.name}.txt": _page(ranking) for ranking in ranked} | {"summary.txt": _summary(ranked)}


def _page(ranking: Ranking) -> str:
    routing = ranking.answer.routing
    lines = [
        f"query:  {ranking.question.query}",
        f"route:  {routing.strategy}, {routing.classification.intent} by {routing.classification.rule}",
        f"target: {ranking.question.target}",
        f"rank:   {ranking.rank or 'not among the first ten'}",
        "",
    ]
    for position, result in enumerate(ranking.answer.results[:SHOWN], 1):
        mark = "*" if result.path == ranking.question.target else " "
        found_by = "+".join(sorted({evidence.modality.value for evidence in result.evidence}))
        symbol = f" {result.symbol.qualified}" if result.symbol else ""
        lines.append(f"{position}{mark} {result.path}:{result.start_line}-{result.end_line}{symbol} [{found_by}]")
    return "\n".join(lines) + "\n"


def _summary(ranked: Sequence[Ranking]) -> str:
    count = len(ranked)
    first = sum(ranking.rank == 1 for ranking in ranked)
    shown = sum(0 < ranking.rank <= SHOWN for ranking in ranked)
    mrr = sum(1 / ranking.rank for ranking in ranked if ranking.rank) / count
    lines = [f"queries   {count}", f"recall@1  {first / count:.3f}", f"recall@{SHOWN}  {shown / count:.3f}", f"MRR       {mrr:.3f}", ""]
    lines += [f"{ranking.rank or '-'}\t{ranking.question.name}" for ranking in ranked if ranking.rank != 1]
    return "\n".join(lines) + "\n"
