"""``python -m benchmarks.names``: asks for names that one file alone defines, and for paths, and counts how often that file comes first.

They are drawn by chance from the ten repositories of the judged set, tests and examples too, and asked for alone and in questions.
The store is the one of ``python -m benchmarks relevance``.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Callable, Mapping, Sequence
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
METHODS: Final = """
    SELECT substring(s.qualified FROM '[^.]+[.][^.]+$') AS name, min(f.path) AS path FROM symbol s
    JOIN file f ON f.repository_id = s.repository_id AND f.file_id = s.file_id AND f.to_gen = 2147483647
    WHERE s.repository_id = $1 AND length(s.name) >= $2 AND s.kind = 'method' AND s.qualified LIKE '%.%'
    GROUP BY 1 HAVING count(DISTINCT f.path) = 1 ORDER BY 1
"""
PATHS: Final = """
    SELECT path AS name, path FROM file WHERE repository_id = $1 AND to_gen = 2147483647 AND length(path) >= $2 ORDER BY path
"""
ASKED: Final[Mapping[str, tuple[str, Callable[[str], str]]]] = {
    "X": (DEFINED_ONCE, "{}".format),
    "where is X defined": (DEFINED_ONCE, "where is {} defined".format),
    "how does X work": (DEFINED_ONCE, "how does {} work".format),
    "X, a letter left out": (DEFINED_ONCE, lambda name: name[: len(name) // 2] + name[len(name) // 2 + 1 :]),
    "Class.method": (METHODS, "{}".format),
    "path": (PATHS, "{}".format),
}
"""How it is asked → what is drawn, and the question that is made of it."""


async def main() -> None:
    arguments = _parser().parse_args()
    settings, most = load_settings(), arguments.samples
    logging.configure("warning", settings.log_format)
    try:
        corpora = judged_set(arguments.data)
    except Missing as error:
        sys.exit(str(error))
    async with open_store(settings, "counted") as store:
        await store.prepare({corpus.name: RepositorySource(str(corpus.path), corpus.include(whole=False)) for corpus in corpora})
        service = store.service()
        print(f"{'first, of those asked':24}" + "".join(f"{asked:>22}" for asked in ASKED))
        totals: dict[str, list[int]] = {asked: [] for asked in ASKED}
        for corpus in corpora:
            ranks = {
                asked: [await _rank(service, corpus.name, form(name), path) for name, path in await _drawn(store, corpus.name, rows, most)]
                for asked, (rows, form) in ASKED.items()
            }
            _tell(corpus.name, ranks)
            for asked, found in ranks.items():
                totals[asked] += found
        _tell("all", totals)


async def _drawn(store: Store, repository: str, rows: str, most: int) -> list[tuple[str, str]]:
    """What is asked for, each with the path of the one file that is right."""
    known = await store.backend.repositories.get(repository)
    async with store.backend.connect() as connection:
        found = [(row["name"], row["path"]) for row in await connection.fetch(rows, known.id, SHORTEST)]
    dice = random.Random(5)  # noqa: S311
    return dice.sample(found, min(len(found), most))


async def _rank(service: Service, repository: str, query: str, path: str) -> int:
    """From 1; 0 where the file is not in the first ten."""
    request = SearchRequest(query, repositories=(repository,), limit=DEPTH, timeout_ms=PATIENCE_MS)
    paths = [result.path for result in (await service.search.search(request)).results]
    return paths.index(path) + 1 if path in paths else 0


def _tell(label: str, ranks: Mapping[str, Sequence[int]]) -> None:
    print(f"{label:24}" + "".join(f"{f'{found.count(1)} of {len(found)}':>22}" for found in ranks.values()), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.names", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the judged queries (default: as for relevance)")
    parser.add_argument("--samples", type=int, default=50, help="of each kind, from each repository (default: %(default)s)")
    return parser


if __name__ == "__main__":
    asyncio.run(main())
