"""``python -m benchmarks.fuzz``: random and mutated queries against the store that the settings name, over the HTTP application.

Every answer must be one that the interface documents (never 5xx) and be there within its deadline and 100 ms. Prints what happened, and
each failure with its seed; the exit status is 1 when there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import httpx2

from app import bootstrap
from app.config import load_settings
from app.http.app import create_app
from app.observability import logging

QUESTIONS: Final = Path(__file__).parents[1] / "tests" / "relevance" / "queries.toml"
SLACK_MS: Final = 100
FILTERS: Final = ("repo:", "lang:", "file:", "-file:", "symbol:", "kind:", "rev:", "case:yes", "word:no", "regex:/", " or ", " OR ", " -")
SIGNS: Final = ("/", '"', "'", "`", "(", ")", "\\", "\n", "\t", "!", "*", "**", "[", "]", "{", "}", "%", "_", "^", "$", "|", "?", "+", ".")
SYNTAX: Final = (*FILTERS, *SIGNS, ":", "::", "#", "<", ">", "&", "\u0000")
ALPHABETS: Final = (
    *("abc _.-", "ABCdef123", "购物车函数定义", "æøåÆØÅß", "🛒👩‍💻🇩🇰", "ſςµİı"),
    *("\u202e\u200b\ufeff\u0301", "\ud7ff\ue000\uffff\U0010ffff"),
)


def queries(seed: int) -> Iterator[str]:
    """Endless: questions as they are asked, cut, spliced with each other and with syntax; and text of any script."""
    source = random.Random(seed)  # noqa: S311
    asked = [row["query"] for row in tomllib.loads(QUESTIONS.read_text("utf-8")).values()]
    while True:
        kind = source.random()
        if kind < 0.35:
            text = _mutated(source, source.choice(asked), asked)
        elif kind < 0.6:
            text = "".join(source.choice((*SYNTAX, *source.choice(asked).split())) for _ in range(source.randint(1, 20)))
        elif kind < 0.9:
            text = "".join(source.choice(source.choice(ALPHABETS)) for _ in range(source.randint(1, 80)))
        else:
            text = "".join(chr(source.choice((source.randrange(0x20, 0xD800), source.randrange(0xE000, 0x110000)))) for _ in range(30))
        if source.random() < 0.01:
            text = (text or "x") * source.randint(10, 2_000)
        yield text[:10_100]


def _mutated(source: random.Random, text: str, others: list[str]) -> str:
    for _ in range(source.randint(1, 4)):
        at = source.randint(0, len(text))
        match source.randrange(4):
            case 0:
                text = text[:at] + source.choice(SYNTAX) + text[at:]
            case 1:
                text = text[:at] + text[at + source.randint(0, 5) :]
            case 2:
                text = text[:at] + source.choice(others)[source.randint(0, 10) :]
            case _:
                text = text[:at] + text[at : at + 1].swapcase() + text[at + 1 :]
    return text


@dataclass
class Outcome:
    """What the answers were."""

    statuses: Counter[int] = field(default_factory=Counter)
    relevance: Counter[str] = field(default_factory=Counter)
    latest_ms: float = 0.0
    partial: int = 0
    late: list[tuple[float, str]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def _body(source: random.Random, query: str, deadline_ms: int) -> dict[str, Any]:
    body: dict[str, Any] = {"query": query, "timeout_ms": deadline_ms, "limit": source.choice((1, 10, 100))}
    if source.random() < 0.2:
        body["literal"] = True
    if source.random() < 0.15:
        body["filters"] = {"regex": True}
    if source.random() < 0.3:
        body["modalities"] = source.sample(("text", "structural", "graph"), source.randint(1, 3))
    if source.random() < 0.2:
        body["dedupe"] = source.choice(("none", "content"))
    return body


async def fuzz(service: bootstrap.Service, count: int, seed: int, deadline_ms: int, at_once: int = 1) -> Outcome:
    """Ask so many queries, ``at_once`` at the same time."""
    outcome = Outcome()
    source = random.Random(seed)  # noqa: S311
    stream = queries(seed)

    def opened() -> Any:
        raise NotImplementedError("the service is open already")

    app = create_app(opened, service.settings)
    app.state.service = service
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with httpx2.AsyncClient(transport=transport, base_url="http://fuzz", timeout=60) as client:

        async def ask() -> None:
            for _ in range(count // at_once):
                body = _body(source, next(stream), deadline_ms)
                began = perf_counter()
                answer = await client.post("/v1/search", json=body)
                _note(outcome, body, answer, (perf_counter() - began) * 1_000)

        await asyncio.gather(*(ask() for _ in range(at_once)))
    return outcome


def _note(outcome: Outcome, body: dict[str, Any], answer: httpx2.Response, took_ms: float) -> None:
    outcome.statuses[answer.status_code] += 1
    outcome.latest_ms = max(outcome.latest_ms, took_ms)
    if answer.status_code == 200:
        found = answer.json()
        outcome.relevance[found["relevance"]] += 1
        outcome.partial += found["partial"]
        broken = [entry for entry in found["routing"]["degraded"] if entry["reason"] == "internal"]
    else:
        broken = []
    late_ms = took_ms - body["timeout_ms"] - SLACK_MS
    if late_ms > 0:
        outcome.late.append((took_ms, f"{body!r:.600}"))
    if answer.status_code >= 500 or broken or late_ms > 0:
        outcome.failures.append(f"{answer.status_code} {took_ms:.0f} ms {broken} {body!r:.600}")


async def _run(arguments: argparse.Namespace) -> Outcome:
    async with bootstrap.service(load_settings(), warm=True) as service:
        return await fuzz(service, arguments.queries, arguments.seed, arguments.deadline_ms, arguments.at_once)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--deadline-ms", type=int, default=2_000)
    parser.add_argument("--at-once", type=int, default=2)
    arguments = parser.parse_args()
    logging.configure("error", "json")
    outcome = asyncio.run(_run(arguments))
    print(f"statuses {dict(outcome.statuses)}, relevance {dict(outcome.relevance)}, partial {outcome.partial}")
    print(f"latest after {outcome.latest_ms:.0f} ms, {len(outcome.late)} late, {len(outcome.failures)} failures")
    for took_ms, body in sorted(outcome.late, reverse=True)[:20]:
        print(f"late: {took_ms:.0f} ms {body}")
    for failure in outcome.failures[:20]:
        print(failure)
    sys.exit(bool(outcome.failures))


if __name__ == "__main__":
    main()
