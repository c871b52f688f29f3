from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.query import Classification, Filters, Intent, Modality, Preset, SearchRequest, Strategy
from app.search.parse import ParsedQuery
from app.search.profiles import load_profiles
from app.search.route import Plan, route

PROFILES = load_profiles()
SEMANTIC, TEXT, STRUCTURAL, GRAPH = Modality.SEMANTIC, Modality.TEXT, Modality.STRUCTURAL, Modality.GRAPH

DESIGN_WEIGHTS = """
find_definition  0.2 0.1 0.6 0.1
find_references  0.1 0.2 0.2 0.5
understand_code  0.5 0.2 0.2 0.1
find_similar     0.4 0.3 0.2 0.1
impact_analysis  0.1 0.1 0.1 0.7
exact_match      0.0 0.9 0.1 0.0
"""


def plan(
    intent: Intent = Intent.UNDERSTAND_CODE,
    confidence: float = 0.75,
    operands: tuple[str, ...] = (),
    *,
    text: str = "a question",
    filters: Filters | None = None,
    operand_missing: bool = False,
    **request: object,
) -> Plan:
    asked = SearchRequest(text, filters=filters or Filters(), **request)  # type: ignore[arg-type]
    classification = Classification(intent, confidence, "rule", operands, operand_missing)
    return route(classification, asked, ParsedQuery(text, asked.filters, False), PROFILES)


@pytest.mark.parametrize("row", DESIGN_WEIGHTS.strip().splitlines())
def test_weights_are_those_of_the_design(row: str) -> None:
    intent, *weights = row.split()
    assert PROFILES.weights[Intent(intent)] == dict(zip((SEMANTIC, TEXT, STRUCTURAL, GRAPH), map(float, weights), strict=True))


@pytest.mark.parametrize(
    ("intent", "preset", "modalities"),
    [
        (Intent.FIND_DEFINITION, Preset.BALANCED, [STRUCTURAL, SEMANTIC, TEXT]),
        (Intent.FIND_REFERENCES, Preset.BALANCED, [GRAPH, STRUCTURAL, TEXT]),
        (Intent.UNDERSTAND_CODE, Preset.BALANCED, [SEMANTIC, STRUCTURAL, TEXT]),
        (Intent.FIND_SIMILAR, Preset.BALANCED, [SEMANTIC, TEXT, STRUCTURAL]),
        (Intent.IMPACT_ANALYSIS, Preset.BALANCED, [GRAPH, STRUCTURAL, TEXT]),
        (Intent.EXACT_MATCH, Preset.BALANCED, [TEXT, STRUCTURAL]),
        (Intent.EXACT_MATCH, Preset.THOROUGH, [TEXT, STRUCTURAL]),
        (Intent.IMPACT_ANALYSIS, Preset.THOROUGH, [GRAPH, STRUCTURAL, TEXT, SEMANTIC]),
    ],
)
def test_fused_modalities(intent: Intent, preset: Preset, modalities: list[Modality]) -> None:
    found = plan(intent, 0.5, preset=preset)
    assert found.strategy is Strategy.WEIGHTED_RRF
    assert [modality for modality, _ in found.modalities] == modalities
    assert found.k == (60 if preset is Preset.THOROUGH else 40)


def test_a_sure_and_plain_question_is_direct() -> None:
    found = plan(Intent.FIND_REFERENCES, 0.9, ("parse",))
    assert (found.strategy, found.modalities) == (Strategy.DIRECT, ((GRAPH, 0.5),))


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": 0.84},
        {"operands": ()},
        {"operands": ("a", "b")},
        {"text": "two\nlines"},
        {"filters": Filters(kinds=("class",))},
        {"filters": Filters(symbols=("x",))},
        {"filters": Filters(regex=True)},
        {"filters": Filters(case=True)},
        {"filters": Filters(word=True)},
    ],
)
def test_what_is_not_plain_is_fused(change: dict[str, object]) -> None:
    values: dict[str, object] = {"intent": Intent.FIND_DEFINITION, "confidence": 0.9, "operands": ("parse",)}
    assert plan(**(values | change)).strategy is Strategy.WEIGHTED_RRF  # type: ignore[arg-type]


@pytest.mark.parametrize("filters", [Filters(languages=("python",)), Filters(paths=("src/**",)), Filters(include_tests=True)])
def test_repository_language_and_path_leave_a_question_plain(filters: Filters) -> None:
    found = plan(Intent.FIND_DEFINITION, 0.9, ("parse",), filters=filters, repositories=("acme",))
    assert found.strategy is Strategy.DIRECT


def test_quick_is_semantic_alone() -> None:
    found = plan(Intent.FIND_DEFINITION, 0.95, ("parse",), preset=Preset.QUICK)
    assert (found.strategy, found.modalities, found.warnings) == (Strategy.SINGLE, ((SEMANTIC, 0.2),), ())


def test_quick_warns_that_it_does_not_look_for_the_exact_string() -> None:
    found = plan(Intent.EXACT_MATCH, 0.9, ("x",), preset=Preset.QUICK)
    assert found.strategy is Strategy.SINGLE
    assert found.modalities == ((SEMANTIC, 1.0),)
    assert [warning.code for warning in found.warnings] == ["quick_is_not_exact"]


def test_one_chosen_modality_is_single_even_for_quick() -> None:
    found = plan(Intent.FIND_DEFINITION, 0.95, ("parse",), preset=Preset.QUICK, modalities=(TEXT,))
    assert (found.strategy, found.modalities) == (Strategy.SINGLE, ((TEXT, 0.1),))


def test_chosen_modalities_run_also_with_weight_zero() -> None:
    found = plan(Intent.EXACT_MATCH, 0.9, ("x",), modalities=(SEMANTIC, TEXT))
    assert (found.strategy, found.modalities) == (Strategy.WEIGHTED_RRF, ((TEXT, 0.9), (SEMANTIC, 0.0)))


def test_all_chosen_of_weight_zero_are_equal() -> None:
    found = plan(Intent.EXACT_MATCH, 0.9, ("x",), modalities=(GRAPH, SEMANTIC))
    assert dict(found.modalities) == {SEMANTIC: 0.5, GRAPH: 0.5}


def test_a_missing_operand_is_said() -> None:
    found = plan(Intent.IMPACT_ANALYSIS, 0.9, operand_missing=True)
    assert found.strategy is Strategy.WEIGHTED_RRF
    assert [warning.code for warning in found.warnings] == ["operand_missing"]


@given(
    st.sampled_from(list(Intent)),
    st.floats(0, 1),
    st.lists(st.text(min_size=1), max_size=2).map(tuple),
    st.sampled_from(list(Preset)),
    st.lists(st.sampled_from(list(Modality))).map(tuple),
)
def test_rules_hold_for_every_query(
    intent: Intent, confidence: float, operands: tuple[str, ...], preset: Preset, chosen: tuple[Modality, ...]
) -> None:
    found = plan(intent, confidence, operands, preset=preset, modalities=chosen)
    names = [modality for modality, _ in found.modalities]
    assert names
    assert len(set(names)) == len(names)
    if chosen:
        assert set(names) == set(chosen)
        assert (found.strategy is Strategy.SINGLE) == (len(names) == 1)
    elif preset is Preset.QUICK:
        assert names == [SEMANTIC]
    else:
        assert all(weight > 0 for _, weight in found.modalities)
        assert (found.strategy is Strategy.DIRECT) == (confidence >= 0.85 and len(operands) == 1)
    assert (found.strategy is Strategy.WEIGHTED_RRF) or len(names) == 1
