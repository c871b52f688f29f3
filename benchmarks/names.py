"""``python -m benchmarks.names``: asks for names that one file alone defines, and for paths, and counts how often that file comes first,
and in how many of these cases the lines that are shown of it hold a definition of the name.

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
from typing import Final, NamedTuple

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
    SELECT s.name, min(f.path) AS path, array_agg(s.name_line) AS lines FROM symbol s
    JOIN file f ON f.repository_id = s.repository_id AND f.file_id = s.file_id AND f.to_gen = 2147483647
    WHERE s.repository_id = $1 AND length(s.name) >= $2
    GROUP BY s.name
    HAVING count(DISTINCT f.path) = 1 AND bool_or(s.kind IN ('function', 'method', 'class', 'interface', 'struct', 'enum', 'trait', 'type'))
    ORDER BY s.name
"""
METHODS: Final = """
    SELECT substring(s.qualified FROM '[^.]+[.][^.]+$') AS name, min(f.path) AS path, array_agg(s.name_line) AS lines FROM symbol s
    JOIN file f ON f.repository_id = s.repository_id AND f.file_id = s.file_id AND f.to_gen = 2147483647
    WHERE s.repository_id = $1 AND length(s.name) >= $2 AND s.kind = 'method' AND s.qualified LIKE '%.%'
    GROUP BY 1 HAVING count(DISTINCT f.path) = 1 ORDER BY 1
"""
PATHS: Final = """
    SELECT path AS name, path, '{}'::int[] AS lines FROM file
    WHERE repository_id = $1 AND to_gen = 2147483647 AND length(path) >= $2 ORDER BY path
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


class Place(NamedTuple):
    """A file, and the 1-based lines on which it defines what is asked for."""

    path: str
    lines: Sequence[int]


class Found(NamedTuple):
    """The file's rank, from 1, 0 where it is not in the first ten; and whether a definition is in the lines that are shown."""

    rank: int
    shown: bool


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
        print(f"{'first, of those asked':24}" + "".join(f"{asked:>24}" for asked in ASKED))
        totals: dict[str, list[Found]] = {asked: [] for asked in ASKED}
        for corpus in corpora:
            found = {
                asked: [await _found(service, corpus.name, form(name), at) for name, at in await _drawn(store, corpus.name, rows, most)]
                for asked, (rows, form) in ASKED.items()
            }
            _tell(corpus.name, found)
            for asked, ranks in found.items():
                totals[asked] += ranks
        _tell("all", totals)


async def _drawn(store: Store, repository: str, rows: str, most: int) -> list[tuple[str, Place]]:
    """What is asked for, each with the one file that is right."""
    known = await store.backend.repositories.get(repository)
    async with store.backend.connect() as connection:
        found = [(row["name"], Place(row["path"], row["lines"])) for row in await connection.fetch(rows, known.id, SHORTEST)]
    dice = random.Random(5)  # noqa: S311
    return dice.sample(found, min(len(found), most))


async def _found(service: Service, repository: str, query: str, at: Place) -> Found:
    request = SearchRequest(query, repositories=(repository,), limit=DEPTH, timeout_ms=PATIENCE_MS)
    results = (await service.search.search(request)).results
    rank = next((rank for rank, result in enumerate(results, 1) if result.path == at.path), 0)
    shown = rank > 0 and any(results[rank - 1].start_line <= line <= results[rank - 1].end_line for line in at.lines)
    return Found(rank, shown)


def _tell(label: str, found: Mapping[str, Sequence[Found]]) -> None:
    print(f"{label:24}" + "".join(f"{_summary(ranks):>24}" for ranks in found.values()), flush=True)


def _summary(found: Sequence[Found]) -> str:
    first = [one for one in found if one.rank == 1]
    return f"{len(first)} of {len(found)}, {sum(one.shown for one in first)} shown"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.names", description=__doc__)
    parser.add_argument("--data", type=Path, help="the folder of the judged queries (default: as for relevance)")
    parser.add_argument("--samples", type=int, default=50, help="of each kind, from each repository (default: %(default)s)")
    return parser


if __name__ == "__main__":
    asyncio.run(main())
