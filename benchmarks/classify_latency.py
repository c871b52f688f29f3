"""Measures how long one classification takes: the committed queries, and 10,000 hostile characters of several kinds.

    python -m benchmarks.classify_latency [--rounds 50]

Prints p50, p99 and the slowest in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from app.search.classify import Classifier, load_classifier

QUERIES = Path(__file__).parents[1] / "tests" / "unit" / "data" / "intents.jsonl"
SIZE = 10_000


def hostile_texts() -> list[str]:
    """Long texts that make careless patterns slow, lone surrogates and NUL among them."""
    pieces = [
        "a", " ", "\n", "\x00", "\ud800", "🙂", "«", "'", '"', "`", "„", "(", "a(", "aA", "_", "a.", "a::", "a/", "的", "谁调用了 ",
        "who calls ", "where is x ", "find the ", "a b\n", "if (", "x = y\n", "{;", "ERROR ", "12:00:00 ", "Error: ", "\n at x",
        "Traceback (most recent call last):\n",
    ]  # fmt: skip
    texts = [(piece * SIZE)[:SIZE] for piece in pieces]
    texts += [(piece * SIZE)[:499] for piece in pieces]
    rng = random.Random(7)  # noqa: S311
    texts += ["".join(rng.choices(pieces, k=SIZE))[:SIZE] for _ in range(8)]
    return texts


def measure(classifier: Classifier, texts: Sequence[str], rounds: int) -> list[float]:
    """Milliseconds per text, sorted: the median of the rounds, so that a busy machine does not speak for the classifier."""
    taken = []
    for text in texts:
        calls = []
        for _ in range(rounds):
            start = time.perf_counter()
            classifier.classify(text)
            calls.append((time.perf_counter() - start) * 1000)
        taken.append(median(calls))
    return sorted(taken)


def report(name: str, taken: Sequence[float]) -> None:
    p50, p99 = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    print(f"{name:<28} n={len(taken):<7} p50={p50:.3f} ms  p99={p99:.3f} ms  max={taken[-1]:.3f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the latency of the intent classifier.")
    parser.add_argument("--rounds", type=int, default=50, help="how often every query is classified (default: %(default)s)")
    rounds = parser.parse_args().rounds
    start = time.perf_counter()
    classifier = load_classifier()
    print(f"loaded in {(time.perf_counter() - start) * 1000:.0f} ms")
    queries = [json.loads(line)["query"] for line in QUERIES.read_text(encoding="utf-8").splitlines()]
    report("queries, first time", measure(classifier, queries, 1))
    report("queries", measure(classifier, queries, rounds))
    report("10,000 hostile characters", measure(classifier, hostile_texts(), max(1, rounds // 10)))


if __name__ == "__main__":
    main()
