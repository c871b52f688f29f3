"""PageRank of symbols over exact and likely edges; computed when an index is built, never for a query.

A call site passes weight on from caller to callee. Several edges between the same two symbols weigh √count, as in aider: the tenth
call says less than the first. Containment adds nothing: a class gains through instantiations, annotations and base lists that name
it, a method through its calls, and a chunk's centrality is the highest among its symbols anyway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

DAMPING = 0.85
TOLERANCE = 1e-10
MAX_ITERATIONS = 200  # 0.85 ** 200 is 8e-15: ordinary graphs stop at about 140


def pagerank(
    sources: NDArray[np.int64], targets: NDArray[np.int64], *, max_iterations: int = MAX_ITERATIONS, tolerance: float = TOLERANCE
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The ids that occur, ascending, and their ranks, which sum to 1. ``sources[i]`` → ``targets[i]`` is one edge.

    The order of the edges plays no part. Falls back to degree centrality when the iteration does not settle within
    ``max_iterations``. Empty for no edges. Raises ValueError when the arrays differ in length.
    """
    if len(sources) != len(targets):
        raise ValueError("sources and targets differ in length")
    if not len(sources):
        return np.empty(0, np.int64), np.empty(0)
    nodes, ends = np.unique(np.concatenate([sources, targets]), return_inverse=True)
    tails, heads = ends[: len(sources)], ends[len(sources) :]
    codes, counts = np.unique(tails * len(nodes) + heads, return_counts=True)
    pairs = np.stack(np.divmod(codes, len(nodes)), axis=1)
    weights = np.sqrt(counts.astype(np.float64))
    ranks = _iterate(pairs, weights, len(nodes), max_iterations, tolerance)
    if ranks is None:
        ranks = _degrees(pairs, weights, len(nodes))
    return nodes, ranks


def _iterate(
    pairs: NDArray[np.intp], weights: NDArray[np.float64], size: int, max_iterations: int, tolerance: float
) -> NDArray[np.float64] | None:
    """Power iteration from the uniform vector; None when it has not settled. Dangling nodes give to all alike."""
    tails, heads = pairs[:, 0], pairs[:, 1]
    out = np.bincount(tails, weights=weights, minlength=size)
    shares: NDArray[np.float64] = np.divide(weights, out[tails], dtype=np.float64)
    dangling = out == 0
    ranks = np.full(size, 1 / size)
    for _ in range(max_iterations):
        flow = np.bincount(heads, weights=shares * ranks[tails], minlength=size)
        following = DAMPING * (flow + ranks[dangling].sum() / size) + (1 - DAMPING) / size
        following = np.asarray(following / following.sum(), dtype=np.float64)
        if np.abs(following - ranks).sum() < tolerance:
            return following
        ranks = following
    return None


def _degrees(pairs: NDArray[np.intp], weights: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Weighted in-degree plus one, summing to 1: the nearest thing to a rank that always exists."""
    degrees = np.bincount(pairs[:, 1], weights=weights, minlength=size) + 1.0
    return np.asarray(degrees / degrees.sum(), dtype=np.float64)
