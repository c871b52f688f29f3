"""How good a ranking is: NDCG, recall, reciprocal rank, empty answers.

NDCG is binary (Järvelin and Kekäläinen, 2002): every target is worth the same, one that is found at rank r counts 1 / log2(r + 1), and
the sum is divided by that of an ideal ranking. A target is found by the first result that shows it; two targets shown by one result
count once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Final

from benchmarks.corpora import Target

DEPTH: Final = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """One result: a file and the lines that are shown of it."""

    path: str
    start_line: int = 1
    end_line: int = 10**9


@dataclass(frozen=True, slots=True)
class Score:
    """Of one query; everything but ``ms`` in [0, 1]. ``rank`` is that of the first target found, 0 when none is."""

    ndcg: float
    recall: float
    rank: int
    empty: bool
    ms: float

    @property
    def reciprocal_rank(self) -> float:
        return 1 / self.rank if self.rank else 0.0


@dataclass(frozen=True, slots=True)
class Summary:
    """Means over queries; ``empty`` is the share of queries without any result, ``p50_ms`` the median time of a query."""

    queries: int
    ndcg: float
    recall: float
    mrr: float
    empty: float
    p50_ms: float

    def row(self) -> dict[str, float]:
        return {name: round(value, 4) for name, value in asdict(self).items()}


def score(hits: Sequence[Hit], targets: Sequence[Target], ms: float) -> Score:
    """Judge the first ten hits, best first; ``targets`` are not empty."""
    top = hits[:DEPTH]
    ranks = [rank for target in targets if (rank := _rank(top, target))]
    return Score(ndcg(ranks, len(targets)), len(ranks) / len(targets), min(ranks, default=0), not hits, ms)


def ndcg(ranks: Iterable[int], targets: int, depth: int = DEPTH) -> float:
    """From the 1-based ranks at which targets were found, and how many targets there are."""
    gain = sum(1 / math.log2(rank + 1) for rank in set(ranks) if rank <= depth)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(targets, depth) + 1))
    return gain / ideal


def summarise(scores: Sequence[Score]) -> Summary:
    """Over at least one query."""
    return Summary(
        queries=len(scores),
        ndcg=fmean(item.ndcg for item in scores),
        recall=fmean(item.recall for item in scores),
        mrr=fmean(item.reciprocal_rank for item in scores),
        empty=fmean(item.empty for item in scores),
        p50_ms=median(item.ms for item in scores),
    )


def _rank(hits: Sequence[Hit], target: Target) -> int:
    """1-based; 0 when no hit shows the target."""
    return next((rank for rank, hit in enumerate(hits, 1) if target.is_hit_by(hit.path, hit.start_line, hit.end_line)), 0)
