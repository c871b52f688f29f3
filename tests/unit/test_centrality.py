"""PageRank: networkx is the oracle."""

import math
import random

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.indexing.centrality import pagerank

edges = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=60)


def ranked(pairs: list[tuple[int, int]], **limits: float) -> dict[int, float]:
    array = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    nodes, ranks = pagerank(array[:, 0], array[:, 1], **limits)  # type: ignore[arg-type]
    return dict(zip(nodes.tolist(), ranks.tolist(), strict=True))


def oracle(pairs: list[tuple[int, int]]) -> dict[int, float]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    for source, target in pairs:
        count = graph.edges[source, target]["count"] + 1 if graph.has_edge(source, target) else 1
        graph.add_edge(source, target, count=count, weight=math.sqrt(count))
    ranks: dict[int, float] = nx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=1000)
    return ranks


@settings(deadline=None)  # networkx imports scipy at its first call
@given(edges)
def test_same_ranks_as_networkx(pairs: list[tuple[int, int]]) -> None:
    expected = oracle(pairs)
    actual = ranked(pairs)
    assert actual.keys() == expected.keys()
    assert all(abs(actual[node] - expected[node]) < 1e-6 for node in expected)
    assert sum(actual.values()) == pytest.approx(1)


@given(edges, st.randoms(use_true_random=False))
def test_edge_order_plays_no_part(pairs: list[tuple[int, int]], shuffler: random.Random) -> None:
    shuffled = list(pairs)
    shuffler.shuffle(shuffled)
    assert ranked(pairs) == ranked(shuffled)


def test_empty_graph_is_empty() -> None:
    assert ranked([]) == {}


def test_a_hub_ranks_above_a_leaf() -> None:
    ranks = ranked([(leaf, 1) for leaf in range(2, 30)])
    assert ranks[1] > 10 * ranks[2]


def test_nine_calls_weigh_three_times_one() -> None:
    ranks = ranked([(1, 10)] * 9 + [(1, 11)])
    unlinked = ranks[1]
    assert (ranks[10] - unlinked) / (ranks[11] - unlinked) == pytest.approx(3)


def test_falls_back_to_degree_when_it_does_not_settle() -> None:
    pairs = [(1, 2), (3, 2), (2, 1)]
    ranks = ranked(pairs, max_iterations=1)
    assert sum(ranks.values()) == pytest.approx(1)
    assert ranks == {1: pytest.approx(2 / 6), 2: pytest.approx(3 / 6), 3: pytest.approx(1 / 6)}


def test_ids_at_the_edge_of_64_bits_survive() -> None:
    lowest, highest = -(1 << 63), (1 << 63) - 1
    assert ranked([(lowest, highest)]).keys() == {lowest, highest}


def test_unequal_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="length"):
        pagerank(np.zeros(1, np.int64), np.zeros(2, np.int64))
