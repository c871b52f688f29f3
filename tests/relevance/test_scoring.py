from __future__ import annotations

import math

import pytest

from benchmarks.corpora import Target
from benchmarks.scoring import Hit, Score, ndcg, score, summarise


def test_a_perfect_ranking_is_worth_one() -> None:
    assert ndcg([1, 2, 3], 3) == pytest.approx(1.0)


def test_a_target_counts_less_further_down() -> None:
    assert ndcg([1], 1) == 1.0
    assert ndcg([3], 1) == pytest.approx(1 / math.log2(4))
    assert ndcg([10], 1) == pytest.approx(1 / math.log2(11))
    assert ndcg([11], 1) == 0.0


def test_what_was_not_found_lowers_the_value() -> None:
    assert ndcg([1], 2) == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert ndcg([], 2) == 0.0


def test_more_targets_than_places_can_still_be_perfect() -> None:
    assert ndcg(range(1, 11), 25) == pytest.approx(1.0)


def test_two_targets_in_one_result_count_once() -> None:
    found = score([Hit("a.py", 1, 40)], [Target("a.py", 3, 5), Target("a.py", 30, 31)], 1.0)
    assert found.ndcg == pytest.approx(ndcg([1], 2))
    assert found.recall == 1.0


def test_the_first_result_of_a_file_counts_and_lines_must_overlap() -> None:
    hits = [Hit("b.py"), Hit("a.py", 1, 10), Hit("a.py", 11, 20)]
    assert score(hits, [Target("a.py")], 1.0).rank == 2
    assert score(hits, [Target("a.py", 15, 16)], 1.0).rank == 3
    assert score(hits, [Target("a.py", 10, 12)], 1.0).rank == 2
    assert score(hits, [Target("a.py", 21, 30)], 1.0).rank == 0
    assert score(hits, [Target("lib/a.py")], 1.0).rank == 0


def test_only_ten_results_count() -> None:
    hits = [Hit(f"{number}.py") for number in range(11)]
    assert score(hits, [Target("10.py")], 1.0) == Score(ndcg=0.0, recall=0.0, rank=0, empty=False, ms=1.0)


def test_the_summary_is_made_of_means() -> None:
    summary = summarise(
        [score([Hit("a")], [Target("a")], 4.0), score([Hit("b"), Hit("a")], [Target("a")], 2.0), score([], [Target("a")], 9.0)]
    )
    assert summary.queries == 3
    assert summary.ndcg == pytest.approx((1 + 1 / math.log2(3)) / 3)
    assert summary.mrr == pytest.approx(0.5)
    assert summary.recall == pytest.approx(2 / 3)
    assert summary.empty == pytest.approx(1 / 3)
    assert summary.p50_ms == 4.0
