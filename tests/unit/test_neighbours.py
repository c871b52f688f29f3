"""What stands near the best hits in the dependency graph."""

from __future__ import annotations

import math

import pytest

from app.domain.code import PathClass
from app.domain.ranking import Candidate, FileKey, FileLink
from app.search.neighbours import mark_neighbours, nearness

A, B, C = (FileKey(1, path) for path in ("a.py", "b.py", "c.py"))


def candidate(key: FileKey, rescored: float | None = None) -> Candidate:
    return Candidate(key, 1, "python", PathClass.SOURCE, 1.0, (), features={"stem": 0.5}, rescored=rescored)


def test_the_used_and_the_user_are_near_by_score_and_number_of_edges() -> None:
    near = nearness({A: 2.0}, [FileLink(A, B, 3), FileLink(C, A, 1)])
    assert near == pytest.approx({B: 2 * math.log(4), C: 2 * math.log(2)})


def test_two_hits_that_are_linked_are_near_each_other() -> None:
    assert nearness({A: 2.0, B: 1.0}, [FileLink(A, B, 1)]) == pytest.approx({B: 2 * math.log(2), A: math.log(2)})


def test_a_link_that_touches_no_hit_says_nothing() -> None:
    assert not nearness({A: 2.0}, [FileLink(B, C, 9)])


def test_only_neighbours_get_the_feature_and_keep_the_others() -> None:
    marked = mark_neighbours([candidate(A), candidate(B), candidate(C)], [candidate(A, 1.0)], [FileLink(A, B, 1)])
    assert [item.features for item in marked] == [
        {"stem": 0.5},
        {"stem": 0.5, "near": pytest.approx(math.log(2))},
        {"stem": 0.5},
    ]


def test_the_order_of_the_links_does_not_matter() -> None:
    links = [FileLink(A, B, 2), FileLink(C, A, 5), FileLink(B, C, 1)]
    best = {A: 1.0, C: 0.5}
    assert nearness(best, links) == pytest.approx(nearness(best, links[::-1]))
