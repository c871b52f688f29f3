"""Measures how long answers about symbols and changes take, over HTTP and inside of the service: on symbols drawn by chance and on hubs.

    python -m benchmarks.symbols [--tree PATH] [--samples 200]

The symbols are those that something uses. Prints p50, p95, p99 and the slowest in milliseconds, ``server`` being what the service says it
took itself. The store is the one of ``python -m benchmarks``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from app.config import load_settings
from app.domain.index import RepositorySource
from app.domain.symbol_id import format_id
from app.observability import logging
from benchmarks.latency import tree_of
from benchmarks.server import Client, Reply, client, serving
from benchmarks.store import Store, open_store

HUBS: Final = 20
CHANGES: Final = 50
ROUTES: Final[Mapping[str, str]] = {
    "symbol": "",
    "references": "/references",
    "callers": "/callers",
    "callees": "/callees",
    "impact, depth 5": "/impact?depth=5",
}

USED: Final = """
    SELECT e.target, count(*) AS uses FROM edge e
    JOIN symbol s ON s.repository_id = e.repository_id AND s.symbol_id = e.target
    WHERE e.repository_id = $1 AND e.to_gen = 2147483647 GROUP BY e.target ORDER BY count(*) DESC, e.target
"""
NAMES: Final = "SELECT DISTINCT name FROM symbol WHERE repository_id = $1 ORDER BY name"
LINES: Final = """
    SELECT f.path, s.end_line, split_part(c.text, E'\\n', s.end_line - c.start_line + 1) AS text
    FROM symbol s
    JOIN file f ON f.repository_id = s.repository_id AND f.file_id = s.file_id AND f.to_gen = 2147483647 AND f.path_class = 'source'
    JOIN chunk c ON c.repository_id = s.repository_id AND c.file_id = s.file_id AND s.end_line BETWEEN c.start_line AND c.end_line
    WHERE s.repository_id = $1 AND s.kind IN ('function', 'method') ORDER BY f.path, s.ordinal
"""


async def main() -> None:
    arguments = _parser().parse_args()
    settings = load_settings().model_copy(update={"embedder": "none"})
    logging.configure("warning", settings.log_format)
    tree = tree_of(arguments)
    name = tree.name.lower()
    async with open_store(settings, "symbols") as store:
        await store.prepare({name: RepositorySource(str(tree))}, embed=False)
        dice = random.Random(7)  # noqa: S311
        used, names, lines = await _drawn(store, name)
        sample = dice.sample(used, min(len(used), arguments.samples))
        async with serving(store.settings, store.url) as port, client(port) as asked:
            print(f"{name}: {len(used):,} symbols are used\n")
            print(f"{'':28}{'HTTP p50':>10}{'p95':>8}{'p99':>8}{'max':>8}{'server p50':>12}{'p95':>8}{'max':>8}")
            for label, path in ROUTES.items():
                await _measure(asked, label, [f"/v1/symbols/{identifier}{path}" for identifier in sample])
            for label, path in ROUTES.items():
                await _measure(asked, f"{label}, hubs", [f"/v1/symbols/{identifier}{path}" for identifier in used[:HUBS]])
            found = [f"/v1/symbols?name={word}" for word in dice.sample(names, min(len(names), arguments.samples))]
            await _measure(asked, "by name", found)
            diffs = [_diff(dice.sample(lines, min(len(lines), 10))) for _ in range(CHANGES)]
            await _measure(asked, "diff of ten functions", ["/v1/impact"] * CHANGES, diffs)


async def _drawn(store: Store, name: str) -> tuple[list[str], list[str], list[tuple[str, int, str]]]:
    """The ids of used symbols, most used first; names that fit an address; the last lines of functions."""
    repository = await store.backend.repositories.get(name)
    async with store.backend.connect() as connection:
        used = [format_id(row["target"]) for row in await connection.fetch(USED, repository.id)]
        names = [
            row["name"] for row in await connection.fetch(NAMES, repository.id) if row["name"].isidentifier() and row["name"].isascii()
        ]
        lines = [(row["path"], row["end_line"], row["text"]) for row in await connection.fetch(LINES, repository.id)]
    return used, names, lines


def _diff(changed: Sequence[tuple[str, int, str]]) -> bytes:
    files: dict[str, list[str]] = {}
    for path, line, text in sorted(changed):
        files.setdefault(path, []).append(f"@@ -{line} +{line} @@\n-{text}\n+changed\n")
    diff = "".join(f"--- a/{path}\n+++ b/{path}\n{''.join(hunks)}" for path, hunks in files.items())
    return json.dumps({"diff": diff, "limit": 100}).encode()


async def _measure(asked: Client, label: str, paths: Sequence[str], bodies: Sequence[bytes] = ()) -> None:
    """Every address is asked twice; the second time counts."""
    replies: list[Reply] = []
    for number, path in enumerate(paths):
        method, body = ("POST", bodies[number]) if bodies else ("GET", b"")
        await asked.request(method, path, body)
        replies.append(await asked.request(method, path, body))
    failed = [reply for reply in replies if reply.status != 200]
    if failed:
        raise RuntimeError(f"{label}: {failed[0].status} {failed[0].body}")
    wire = _quantiles([reply.ms for reply in replies], 0.5, 0.95, 0.99, 1.0)
    server = _quantiles([_took(reply.body) for reply in replies], 0.5, 0.95, 1.0)
    print(
        f"{label:28}{wire[0]:10.1f}{wire[1]:8.1f}{wire[2]:8.1f}{wire[3]:8.1f}{server[0]:12.1f}{server[1]:8.1f}{server[2]:8.1f}", flush=True
    )


def _took(body: Mapping[str, Any]) -> float:
    return float(body["took_ms"])


def _quantiles(values: Sequence[float], *shares: float) -> list[float]:
    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in shares]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Measure answers about symbols and changes.")
    parser.add_argument("--tree", type=Path, help="the tree to measure on (default: benchmarks/corpora/django)")
    parser.add_argument("--samples", type=int, default=200, help="symbols asked for per route (default: %(default)s)")
    return parser


if __name__ == "__main__":
    asyncio.run(main())
