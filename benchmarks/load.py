"""``python -m benchmarks.load``: many clients against a limit of few searches, on the store that the settings name.

Says whether the surplus is told to come again (503 or 429 with Retry-After), what the admitted wait beside one client alone and beside as
many as there are places, what the service's memory does meanwhile, and what is left in the database when the clients have gone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final

import asyncpg
import psutil

from app import bootstrap
from app.config import Settings, load_settings
from app.observability import logging
from app.storage.dsn import parse_dsn
from benchmarks import machine
from benchmarks.server import Client, client, serving

QUESTIONS: Final = (
    "where is {name} defined",
    "who calls {name}",
    "how does {name} work",
    "what breaks if I change {name}",
    '"{name}("',
    "regex:/{name}\\w*\\(/",
    "{name} lang:python -file:tests",
    "code that handles {name} errors",
)
SAMPLE_SECONDS: Final = 5.0
SURPLUS: Final = frozenset({429, 503})


@dataclass(slots=True)
class Measured:
    """What clients saw: the milliseconds of the answers, and every status."""

    ms: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    without_retry_after: int = 0

    def row(self, title: str, seconds: float) -> str:
        p50, p95 = (median(self.ms), quantiles(self.ms, n=20)[-1]) if len(self.ms) > 1 else (0.0, 0.0)
        statuses = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        return f"| {title} | {len(self.ms)} | {len(self.ms) / seconds:.0f} | {p50:.0f} | {p95:.0f} | {statuses} |"


async def run(settings: Settings, arguments: argparse.Namespace) -> bool:
    """Measure and print; True when everything is as it should be."""
    async with bootstrap.store(settings) as (url, _):
        names = await _names(url, arguments.repository)
        async with serving(settings, url) as port:
            places = settings.search.concurrency
            alone = await _clients(port, 1, arguments.warm_seconds, names, arguments)
            filled = await _clients(port, places, arguments.warm_seconds, names, arguments)
            service = _service(port)
            memory: list[float] = []
            sampling = asyncio.create_task(_sample(service, memory))
            crowd = await _clients(port, arguments.clients, arguments.seconds, names, arguments)
            sampling.cancel()
            await asyncio.sleep(2)
            left = await _left(url), len([c for c in service.net_connections("tcp") if c.status == "ESTABLISHED" and c.laddr.port == port])
    print("| clients | answers | per second | p50 ms | p95 ms | statuses |\n| --- | --- | --- | --- | --- | --- |")
    print(alone.row("1", arguments.warm_seconds))
    print(filled.row(f"{places}, as many as places", arguments.warm_seconds))
    print(crowd.row(f"{arguments.clients}", arguments.seconds))
    tenth = max(1, len(memory) // 10)
    tenths = [median(memory[begin : begin + tenth]) for begin in range(0, len(memory), tenth)]
    print(f"\nMB resident, by tenths of the time: {', '.join(f'{mb:.0f}' for mb in tenths)}")
    print(f"statements left: {left[0]}; connections left: {left[1]}; surplus without Retry-After: {crowd.without_retry_after}")
    print(", ".join(f"{name} {value}" for name, value in machine.facts().items()), f"load after {os.getloadavg()[0]:.1f}")
    return not (left[0] or left[1] or crowd.without_retry_after or crowd.statuses.keys() - SURPLUS - {200})


async def _clients(port: int, count: int, seconds: float, names: Sequence[str], arguments: argparse.Namespace) -> Measured:
    measured = Measured()
    until = perf_counter() + seconds
    await asyncio.gather(*(_ask(port, number, until, names, arguments, measured) for number in range(count)))
    return measured


async def _ask(port: int, seed: int, until: float, names: Sequence[str], arguments: argparse.Namespace, measured: Measured) -> None:
    source = random.Random(seed)  # noqa: S311
    async with client(port) as opened:
        while perf_counter() < until:
            body: dict[str, Any] = {
                "query": source.choice(QUESTIONS).format(name=source.choice(names)),
                "repositories": [arguments.repository],
            }
            await _once(opened, body, measured, arguments.patient)


async def _once(opened: Client, body: dict[str, Any], measured: Measured, patient: bool) -> None:
    reply = await opened.search(body)
    measured.statuses[reply.status] += 1
    if reply.status == 200:
        measured.ms.append(reply.ms)
    elif reply.status in SURPLUS:
        seconds = reply.headers.get("retry-after")
        measured.without_retry_after += seconds is None
        if patient:
            await asyncio.sleep(float(seconds or 1))


async def _query(url: str, statement: str, *values: Any) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(**parse_dsn(url).connect_kwargs())
    try:
        found: list[asyncpg.Record] = await connection.fetch(statement, *values)
        return found
    finally:
        await connection.close()


async def _names(url: str, repository: str) -> list[str]:
    """Names of definitions to ask for."""
    statement = """
        SELECT DISTINCT s.name FROM symbol s JOIN repository r ON r.id = s.repository_id
        WHERE r.name = $1 AND length(s.name) > 3 AND s.name ~ '^\\w+$' ORDER BY s.name LIMIT 2000
    """
    names = [row["name"] for row in await _query(url, statement, repository)]
    if not names:
        raise SystemExit(f"there are no definitions in a repository {repository!r}; index one first: fourfold index PATH --name NAME")
    return names


async def _left(url: str) -> int:
    """Statements of the service that still run."""
    rows = await _query(
        url, "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid()"
    )
    return int(rows[0]["n"])


def _service(port: int) -> psutil.Process:
    """The process that listens on the port, among this one's children."""
    for child in psutil.Process().children(recursive=True):
        if any(c.status == "LISTEN" and c.laddr.port == port for c in child.net_connections("tcp")):
            return child
    raise RuntimeError("the service is gone")


async def _sample(service: psutil.Process, memory: list[float]) -> None:
    while True:
        memory.append(service.memory_info().rss / 1e6)
        await asyncio.sleep(SAMPLE_SECONDS)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("repository", help="name of an indexed repository")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long all clients ask")
    parser.add_argument("--warm-seconds", type=float, default=20.0, help="how long one client, and as many as places, ask before")
    parser.add_argument("--patient", action="store_true", help="clients wait as long as Retry-After says; else they ask again at once")
    settings = load_settings()
    logging.configure("warning", "console")
    return 0 if asyncio.run(run(settings, parser.parse_args())) else 1


if __name__ == "__main__":
    sys.exit(main())
