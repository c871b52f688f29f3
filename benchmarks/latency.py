"""How long answers take over HTTP: by route, with one and with many clients; and exact search beside the tools made for it."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final

import numpy as np

from app.config import Settings
from app.domain.index import RepositorySource
from app.domain.vectors import BITS
from app.storage import vector_sets, vectors
from benchmarks import machine, peers
from benchmarks.corpora import CORPORA, Missing, judged_set
from benchmarks.queries import Route, draw
from benchmarks.server import Client, Reply, client, serving
from benchmarks.store import Store, open_store, say

CLIENTS: Final = (1, 4, 16)
WARM_UP: Final = 20
ROUNDS: Final = 15

PROBES: Final = (
    ("get_or_create", False),
    ("def get_queryset", False),
    (r"class \w+Admin\(", True),
    (r"raise \w+Error\(", True),
    ("ECONNREFUSED", False),
)
"""Patterns from frequent to absent in Django, and whether they are regexes."""


async def run(settings: Settings, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure on one tree among the judged repositories; returns the figures as plain data. Raises Missing."""
    tree = tree_of(arguments)
    name = tree.name.lower()
    neighbours = judged_set(arguments.data)
    async with open_store(settings, "counted") as store:
        sources = {corpus.name: RepositorySource(str(corpus.path), corpus.include(whole=False)) for corpus in neighbours}
        await store.prepare(sources | {name: RepositorySource(str(tree))}, embed=False)
        facts = await _facts(store, name)
        routes = await _draw(store, name, arguments.requests * len(CLIENTS))
        async with serving(store.settings, store.url) as port:
            rows = [row for route in routes for row in await _measure(port, route, arguments.requests)]
            exact = await _exact(port, name, tree, with_peers=arguments.peers)
        embedder = store.backend.embedder.name if store.backend.embedder else "none"
    return {
        "kind": "latency",
        "tree": name,
        "embedder": embedder,
        "machine": machine.facts(),
        "store": facts,
        "rows": rows,
        "exact": exact,
    }


def tree_of(arguments: argparse.Namespace) -> Path:
    """The tree to measure on; raises Missing."""
    tree: Path = (arguments.tree or CORPORA / "django").resolve()
    if not tree.is_dir():
        raise Missing(f"there is no tree to measure on at {tree}; benchmarks/README.md says how to get Django, --tree names another one")
    return tree


async def _draw(store: Store, name: str, count: int) -> list[Route]:
    async with store.backend.connect() as connection:
        routes = await draw(connection, name, count)
    return [route for route in routes if route.bodies]


async def _facts(store: Store, name: str) -> dict[str, Any]:
    """What is in the store; chunks without a vector get one, so that searches by meaning have as much to read as they would have."""
    repositories = await store.backend.repositories.list()
    facts: dict[str, Any] = {"repositories": len(repositories)}
    async with store.backend.connect() as connection:
        known = next(repository.id for repository in repositories if repository.name == name)
        facts["chunks"] = await connection.fetchval("SELECT count(*) FROM chunk WHERE repository_id = $1", known)
        if store.backend.embedder is not None:
            serving = await vector_sets.serving(connection)
            assert serving is not None
            facts["vectors_made_up"] = await _fill_vectors(connection, known, serving.id)
    return facts


async def _fill_vectors(connection: Any, repository_id: int, vector_set: int) -> int:
    """Random bits for chunks without a vector: embedding a large tree takes hours, and reading it takes the same time either way."""
    dice = np.random.default_rng(repository_id)
    filled = 0
    while chunks := await vectors.pending(connection, repository_id, vector_set, 2_000):
        bits = dice.integers(0, 256, size=(len(chunks), BITS // 8), dtype=np.uint8)
        await vectors.store(connection, repository_id, vector_set, [chunk.chunk_id for chunk in chunks], bits)
        filled += len(chunks)
    await vectors.refresh_counts(connection, repository_id, vector_set)
    return filled


async def _measure(port: int, route: Route, requests: int) -> list[dict[str, Any]]:
    rows = []
    await _load(port, route.take(len(route.bodies) - WARM_UP, WARM_UP), clients=1)
    for turn, clients in enumerate(CLIENTS):
        replies, seconds = await _load(port, route.take(turn * requests, requests), clients)
        row = {"route": route.name, "clients": clients, **_summary(replies, route.strategy), "per_second": round(len(replies) / seconds, 1)}
        say(f"{route.name:20} {clients:3} clients  p50 {row['p50_ms']:6.1f}  p95 {row['p95_ms']:6.1f} ms  {row['per_second']:6.1f}/s")
        rows.append(row)
    return rows


async def _load(port: int, bodies: Sequence[Mapping[str, Any]], clients: int) -> tuple[list[Reply], float]:
    """All bodies, asked by so many clients at once; the replies, and the seconds it took."""
    waiting = iter(bodies)
    began = perf_counter()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_ask(port, waiting)) for _ in range(clients)]
    return [reply for task in tasks for reply in task.result()], perf_counter() - began


async def _ask(port: int, waiting: Iterator[Mapping[str, Any]]) -> list[Reply]:
    async with client(port) as opened:
        return [await opened.search(body) for body in waiting]


def _summary(replies: Sequence[Reply], strategy: str) -> dict[str, Any]:
    """Percentiles of the answers alone; everything else is an error."""
    answers = [reply for reply in replies if reply.status == 200]
    figures: dict[str, Any] = {"requests": len(replies), "errors": dict(Counter(str(r.status) for r in replies if r.status != 200))}
    figures["partial"] = sum(reply.body["partial"] for reply in answers)
    figures["as_routed"] = sum(reply.body["routing"]["fusion_strategy"] == strategy for reply in answers)
    figures["by_modality"] = _by_modality(answers)
    figures |= _percentiles([reply.ms for reply in answers], "")
    return figures | _percentiles([float(reply.body["took_ms"]) for reply in answers], "server_")


def _by_modality(answers: Sequence[Reply]) -> dict[str, float]:
    """Median milliseconds of each retriever."""
    took: dict[str, list[float]] = defaultdict(list)
    for reply in answers:
        for ran in reply.body["routing"]["modalities"]:
            took[ran["name"]].append(ran["took_ms"])
    return {name: round(median(times), 2) for name, times in sorted(took.items())}


def _percentiles(values: Sequence[float], prefix: str) -> dict[str, float]:
    """In milliseconds; NaN where there is nothing to measure."""
    if len(values) < 2:
        return {f"{prefix}p{rank}_ms": float("nan") for rank in (50, 95, 99)}
    cuts = quantiles(values, n=100, method="inclusive")
    return {f"{prefix}p{rank}_ms": round(cuts[rank - 1], 2) for rank in (50, 95, 99)}


async def _exact(port: int, name: str, tree: Path, *, with_peers: bool) -> list[dict[str, Any]]:
    """Medians of the same patterns, asked in turns, so that a busy moment meets everyone."""
    rows: list[dict[str, Any]] = []
    installed = [peer for peer in peers.EXACT_SEARCHERS if with_peers and peer.version() is not None]
    missing = {peer.name: "not installed" for peer in peers.EXACT_SEARCHERS if peer not in installed}
    with ExitStack() as stack:
        commands = {peer.name: stack.enter_context(peer.prepared(tree)) for peer in installed}
        async with client(port) as opened:
            for pattern, regex in PROBES:
                figures = [await _probe(opened, name, pattern, regex, commands) for _ in range(ROUNDS)]
                rows.append({"pattern": pattern, "regex": regex, **_medians(figures[1:]), **missing})
    return rows


async def _probe(opened: Client, name: str, pattern: str, regex: bool, commands: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    request = {"query": pattern, "repositories": [name]} | ({"filters": {"regex": True}} if regex else {"literal": True})
    reply = await opened.search(request)
    if reply.status != 200:
        raise RuntimeError(f"{pattern!r} was answered with {reply.status}: {reply.body}")
    ours = {"ms": reply.body["took_ms"], "http_ms": reply.ms, "lines": reply.body["total"]["lines"]}
    theirs = {}
    for peer, command in commands.items():
        lines, ms = await asyncio.to_thread(peers.matching_lines, command(pattern, regex))
        theirs[peer] = {"ms": ms, "lines": lines}
    return {"fourfold": ours, **theirs}


def _medians(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    return {tool: {key: round(median(one[tool][key] for one in rounds), 2) for key in rounds[0][tool]} for tool in rounds[0]}
