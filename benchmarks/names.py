"""``python -m benchmarks.names``: asks for names that one file alone defines, and counts how often that file comes first.

The names are drawn by chance from the ten repositories of the judged set, tests and examples too, and asked for alone and in questions.
The store is the one of ``python -m benchmarks relevance``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from app.bootstrap import Service
from app.config import load_settings
from app.domain.index import RepositorySource
from app.domain.query import SearchRequest
from app.observability import logging
from benchmarks.corpora import Missing, judged_set
from benchmarks.relevance import PATIENCE_MS
from benchmarks.scoring import DEPTH
from benchmarks.store import Store, open_store

FORMS: Final = ("{}", "where is {} defined", "how does {} work")
SHORTEST: Final = 4
"""Characters: shorter names are words of every text."""

DEFINED_ONCE: Final = """
    SELECT s.name, min(f.path) AS path FROM symbol s
    JOIN file f ON f.repository_id = s.repository_id AND f.file_id = s.file_id AND f.to_gen = 2147483647
    WHERE s.repository_id = $1 AND length(s.name) >= $2
    GROUP BY s.name
    HAVING count(DISTINCT f.path) = 1 AND bool_or(s.kind IN ('function', 'method', 'class', 'interface', 'struct', 'enum', 'trait', 'type'))
    ORDER BY s.name
"""


async def main() -> None:
    arguments = _parser().parse_args()
    settings = load_settings()
    logging.configure("warning", settings.log_format)
    try:
        corpora = judged_set(arguments.data)
    except Missing as error:
        sys.exit(str(error))
    async with open_store(settings, "counted") as store:
        await store.prepare({corpus.name: RepositorySource(str(corpus.path), corpus.include(whole=False)) for corpus in corpora})
        service = store.service()
        print(f"{'':12}" + "".join(f"{form.format('X'):>32}" for form in FORMS))
        totals: dict[str, list[int]] = defaultdict(list)
        for corpus in corpora:
            drawn = await _drawn(store, corpus.name, arguments.samples)
            ranks = {form: [await _rank(service, corpus.name, form.format(name), path) for name, path in drawn] for form in FORMS}
            _tell(corpus.name, ranks)
            for form in FORMS:
                totals[form] += ranks[form]
        _tell("all", totals)


async def _drawn(store: Store, repository: str, samples: int) -> list[tuple[str, str]]:
    """Names, each with the path of the file that defines it."""
    known = await store.backend.repositories.get(repository)
    async with store.backend.connect() as connection:
        rows = await connection.fetch(DEFINED_ONCE, known.id, SHORTEST)
    dice = random.Random(5)  # noqa: S311
    return dice.sample([(row["name"], row["path"]) for row in rows], min(len(rows), samples))


async def _rank(service: Service, repository: str, query: str, path: str) -> int:
    """From 1; 0 where the file is not in the first ten."""
    request = SearchRequest(query, repositories=(repository,), limit=DEPTH, timeout_ms=PATIENCE_MS)
    paths = [result.path for result in (await service.search.search(request)).results]
    return paths.index(path) + 1 if path in paths else 0


def _tell(label: str, ranks: dict[str, list[int]]) -> None:
    print(f"{label:12}" + "".join(f"{_counts(ranks[form]):>32}" for form in FORMS), flush=True)


def _counts(ranks: Sequence[int]) -> str:
    return f"first {ranks.count(1)}, found {len(ranks) - ranks.count(0)} of {len(ranks)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.names", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the judged queries (default: as for relevance)")
    parser.add_argument("--samples", type=int, default=50, help="names of each repository (default: %(default)s)")
    return parser


if __name__ == "__main__":
    asyncio.run(main())
