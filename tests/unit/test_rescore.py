from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Modality
from app.domain.ranking import Candidate
from app.search.fuse import in_list_order
from app.search.profiles import load_profiles
from app.search.rescore import feature_values, rescore
from tests.unit.search_doubles import hit, ranked

PROFILES = load_profiles()
RAW = ("text_sum", "text_max", "sem_sum", "stem", "pathq", "ex", "defcov", "fdef")


def candidates(*rows: dict[str, float]) -> list[Candidate]:
    files = [hit(f"{index:03}.py", score=1 / (index + 1), features=row) for index, row in enumerate(rows)]
    return in_list_order(ranked(Modality.TEXT, *files), 1.0)


def recipe(row: dict[str, float], largest: dict[str, float], single: bool, demotion: float) -> float:
    """The linear score as the recipe writes it."""
    value = {name: row.get(name, 0.0) / (largest[name] or 1.0) if name in largest else row.get(name, 0.0) for name in RAW}
    total = 1.0 * value["text_sum"] + 0.3 * value["text_max"] + 0.5 * value["stem"] + 0.2 * value["pathq"]
    total += (1.0 if single else 0.25) * value["ex"] + 0.5 * value["defcov"] + 0.2 * value["fdef"] + 0.8 * value["sem_sum"]
    return total * demotion


ROWS = st.lists(st.dictionaries(st.sampled_from(RAW), st.floats(0, 1, allow_subnormal=False)), max_size=70)


@given(ROWS, st.booleans(), st.sampled_from([1.0, 0.3, 0.5]))
def test_score_is_that_of_the_recipe(rows: list[dict[str, float]], single: bool, demotion: float) -> None:
    given_ = [candidate._replace(demotion=demotion) for candidate in candidates(*rows)]
    largest = {name: max((row.get(name, 0.0) for row in rows), default=0.0) for name in ("text_sum", "text_max", "sem_sum")}
    rescored = rescore(given_, single, PROFILES)
    for candidate in rescored[:50]:
        assert candidate.rescored == pytest.approx(recipe(rows[int(candidate.key.path[:3])], largest, single, demotion))
    scores = [candidate.rescored or 0.0 for candidate in rescored[:50]]
    assert scores == sorted(scores, reverse=True)


@given(ROWS)
def test_only_the_head_moves(rows: list[dict[str, float]]) -> None:
    before = candidates(*rows)
    after = rescore(before, False, PROFILES)
    assert {c.key for c in after[:50]} == {c.key for c in before[:50]}
    assert [c.key for c in after[50:]] == [c.key for c in before[50:]]
    shown = [c.score if c.rescored is None else c.rescored for c in after]
    assert shown == sorted(shown, reverse=True)


def test_raw_scores_are_divided_by_the_largest_of_the_query_and_kept_for_the_explanation() -> None:
    first, second = rescore(candidates({"text_sum": 20.0}, {"text_sum": 5.0}), False, PROFILES)
    assert first.features["text"] == 1.0
    assert second.features["text"] == 0.25
    terms = {term.name: term.value * term.weight for term in feature_values(second, False, PROFILES.features)}
    assert sum(terms.values()) == second.rescored == 0.25


def test_an_exact_name_decides_a_query_of_one_word() -> None:
    rows: tuple[dict[str, float], ...] = ({"text_sum": 1.0}, {"text_sum": 0.4, "ex": 1.0})
    assert [c.key.path for c in rescore(candidates(*rows), True, PROFILES)] == ["001.py", "000.py"]
    assert [c.key.path for c in rescore(candidates(*rows), False, PROFILES)] == ["000.py", "001.py"]


def test_a_demoted_file_is_no_yardstick_beyond_what_it_counts() -> None:
    code, test = candidates({"text_sum": 3.0}, {"text_sum": 20.0})
    test = test._replace(demotion=0.3)
    first, second = rescore([test, code], False, PROFILES)
    assert [(c.key.path, c.features["text"]) for c in (first, second)] == [("000.py", 0.5), ("001.py", 1.0)]


def test_where_all_files_are_demoted_alike_they_are_compared_as_ever() -> None:
    rows = candidates({"text_sum": 20.0}, {"text_sum": 5.0})
    values = [c.features["text"] for c in rescore([c._replace(demotion=0.3) for c in rows], False, PROFILES)]
    assert values == [1.0, 0.25]


def test_a_name_in_the_parent_that_was_asked_for_is_worth_more_than_the_name_alone() -> None:
    first, second = rescore(candidates({"ex": 1.0}, {"ex": 1.3}), True, PROFILES)
    assert (first.key.path, first.features["ex"], second.features["ex"]) == ("001.py", 1.3, 1.0)
