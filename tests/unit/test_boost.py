from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Modality
from app.search.boost import boost, boost_factor
from app.search.fuse import in_list_order
from app.search.profiles import load_profiles
from tests.unit.search_doubles import hit, ranked

PROFILE = load_profiles().boost


@given(st.floats(0, 1e9))
def test_factor_is_between_one_and_the_cap(centrality: float) -> None:
    factor = boost_factor(centrality, PROFILE)
    assert 1 <= factor <= 1.5
    assert math.isclose(factor, min(1 + 0.3 * math.log(1 + centrality), 1.5))


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_factor_never_falls_with_centrality(first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert boost_factor(low, PROFILE) <= boost_factor(high, PROFILE)


def test_the_examples_of_the_design() -> None:
    assert boost_factor(0.004, PROFILE) == 1 + 0.3 * math.log1p(0.004)
    assert boost_factor(1e6, PROFILE) == 1.5


def test_a_hub_comes_before_a_leaf_of_equal_rank() -> None:
    candidates = in_list_order(ranked(Modality.TEXT, hit("a_leaf.py", 1), hit("z_hub.py", 2)), 1.0)
    boosted = boost(candidates, {(1, 2): 0.01}, PROFILE)
    assert [c.key.path for c in boosted] == ["z_hub.py", "a_leaf.py"]
    assert boosted[0].centrality == 0.01
    assert boosted[0].boost > boosted[1].boost == 1.0
    assert math.isclose(sum(part.value for part in boosted[0].contributions), boosted[0].score)


def test_between_equals_a_little_is_enough() -> None:
    little = PROFILE.among_equals()
    assert 1 < boost_factor(1e6, little) <= 1.01
    equals = in_list_order(ranked(Modality.STRUCTURAL, hit("a_leaf.py", 1), hit("z_hub.py", 2)), 1.0)
    equal_scores = [candidate._replace(score=1.0) for candidate in equals]
    assert [c.key.path for c in boost(equal_scores, {(1, 2): 1e-6}, little)] == ["z_hub.py", "a_leaf.py"]
    worse = [equal_scores[0], equal_scores[1]._replace(score=0.98)]
    assert [c.key.path for c in boost(worse, {(1, 2): 1e6}, little)] == ["a_leaf.py", "z_hub.py"]


def test_only_the_shown_chunk_counts() -> None:
    (boosted,) = boost(in_list_order(ranked(Modality.TEXT, hit("a.py", 1, 2)), 1.0), {(1, 2): 0.5, (2, 1): 0.5}, PROFILE)
    assert boosted.boost == 1.0
