from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Modality, Strategy
from app.domain.ranking import Candidate, ChunkHit, Evidence, RankedList
from app.search.fuse import in_list_order, weighted_rrf
from app.search.route import Plan
from tests.unit.search_doubles import hit, ranked

PATHS = [f"src/{name}.py" for name in "abcdefgh"]
LISTS = st.dictionaries(st.sampled_from(list(Modality)), st.lists(st.sampled_from(PATHS), unique=True, max_size=8))
WEIGHTS = st.fixed_dictionaries({modality: st.floats(0, 1) for modality in Modality})


def fuse(lists: dict[Modality, list[str]], weights: dict[Modality, float], k: int) -> list[Candidate]:
    given_lists: dict[Modality, RankedList] = {modality: ranked(modality, *paths) for modality, paths in lists.items()}
    return weighted_rrf(given_lists, Plan(Strategy.WEIGHTED_RRF, tuple(weights.items()), k))


@given(LISTS, WEIGHTS, st.sampled_from([10, 40, 60]))
def test_scores_are_those_of_the_formula(lists: dict[Modality, list[str]], weights: dict[Modality, float], k: int) -> None:
    candidates = fuse(lists, weights, k)
    assert {c.key.path for c in candidates} == {path for paths in lists.values() for path in paths}
    for candidate in candidates:
        expected = sum(weights[m] / (k + paths.index(candidate.key.path) + 1) for m, paths in lists.items() if candidate.key.path in paths)
        assert math.isclose(candidate.score, expected, rel_tol=1e-12)
    order = [(-c.score, c.key.path) for c in candidates]
    assert order == sorted(order)


@given(LISTS, WEIGHTS, st.randoms(use_true_random=False))
def test_order_of_arrival_does_not_matter(lists: dict[Modality, list[str]], weights: dict[Modality, float], chance: random.Random) -> None:
    shuffled, shuffled_weights = list(lists.items()), list(weights.items())
    chance.shuffle(shuffled)
    chance.shuffle(shuffled_weights)
    assert fuse(dict(shuffled), dict(shuffled_weights), 40) == fuse(lists, weights, 40)


@given(LISTS, WEIGHTS)
def test_a_list_agrees_with_itself(lists: dict[Modality, list[str]], weights: dict[Modality, float]) -> None:
    """Moving a file up in one list never lowers its score."""
    for modality, paths in lists.items():
        if len(paths) < 2:
            continue
        moved = {**lists, modality: [paths[-1], *paths[:-1]]}
        before = next(c.score for c in fuse(lists, weights, 40) if c.key.path == paths[-1])
        after = next(c.score for c in fuse(moved, weights, 40) if c.key.path == paths[-1])
        assert after >= before


def test_same_path_in_two_repositories_is_two_files() -> None:
    lists = {Modality.TEXT: ranked(Modality.TEXT, hit("a.py", repository_id=1), hit("a.py", repository_id=2))}
    candidates = weighted_rrf(lists, Plan(Strategy.WEIGHTED_RRF, ((Modality.TEXT, 1.0),), 40))
    assert [c.key.repository_id for c in candidates] == [1, 2]


def test_a_modality_without_a_list_contributes_nothing() -> None:
    assert fuse({Modality.TEXT: ["a.py"]}, dict.fromkeys(Modality, 0.5), 40)[0].score == 0.5 / 41


def test_the_chunk_with_most_evidence_leads() -> None:
    lists = {
        Modality.STRUCTURAL: ranked(Modality.STRUCTURAL, hit("a.py", 7, 8)),
        Modality.TEXT: ranked(Modality.TEXT, hit("a.py", 8, 9)),
        Modality.SEMANTIC: ranked(Modality.SEMANTIC, hit("a.py", 8)),
    }
    plan = Plan(Strategy.WEIGHTED_RRF, ((Modality.STRUCTURAL, 0.2), (Modality.TEXT, 0.2), (Modality.SEMANTIC, 0.5)), 40)
    (candidate,) = weighted_rrf(lists, plan)
    assert [chunk.chunk_id for chunk in candidate.chunks] == [8, 7, 9]
    assert len(candidate.chunks[0].evidence) == 3


def test_of_a_single_name_a_file_shows_the_definition_that_fits_best() -> None:
    defining, alike = (Evidence(Modality.STRUCTURAL, score, "definition") for score in (2.0, 1.9))
    chunks = (ChunkHit(7, 2.0, (defining,)), ChunkHit(8, 1.9, (alike,)))
    lists = {
        Modality.STRUCTURAL: ranked(Modality.STRUCTURAL, hit("a.py")._replace(chunks=chunks)),
        Modality.TEXT: ranked(Modality.TEXT, hit("a.py", 8, 9)),
    }
    plan = Plan(Strategy.WEIGHTED_RRF, ((Modality.STRUCTURAL, 0.2), (Modality.TEXT, 0.2)), 40)
    (blended,), (single,) = weighted_rrf(lists, plan), weighted_rrf(lists, plan, single=True)
    assert [chunk.chunk_id for chunk in blended.chunks] == [8, 7, 9]
    assert [chunk.chunk_id for chunk in single.chunks] == [7, 8, 9]


def test_features_take_the_largest_of_all_lists() -> None:
    lists = {
        Modality.STRUCTURAL: ranked(Modality.STRUCTURAL, hit("a.py", features={"stem": 0.2, "ex": 1.0})),
        Modality.TEXT: ranked(Modality.TEXT, hit("a.py", features={"stem": 0.7, "text_sum": 9.0})),
    }
    (candidate,) = weighted_rrf(lists, Plan(Strategy.WEIGHTED_RRF, ((Modality.STRUCTURAL, 0.2), (Modality.TEXT, 0.2)), 40))
    assert candidate.features == {"stem": 0.7, "ex": 1.0, "text_sum": 9.0}


@given(st.lists(st.floats(-5, 5), max_size=20))
def test_a_single_list_keeps_its_order(scores: list[float]) -> None:
    files = [hit(f"{index:02}.py", score=score) for index, score in enumerate(scores)]
    candidates = in_list_order(ranked(Modality.GRAPH, *files), 0.5)
    assert [c.key for c in candidates] == [file.key for file in files]
    assert all(before.score >= after.score >= 0 for before, after in pairwise(candidates))


def test_a_single_list_shows_its_own_scores() -> None:
    candidates = in_list_order(ranked(Modality.GRAPH, hit("a.py", score=3.5), hit("b.py", score=1.25)), 0.5)
    assert [c.score for c in candidates] == pytest.approx([3.5, 1.25])
