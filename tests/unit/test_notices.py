"""What an answer says about itself where nothing, or nothing right, was found."""

from __future__ import annotations

import pytest

from app.domain.query import Classification, Dedupe, Filters, Intent, Modality
from app.domain.ranking import RankedList, SearchAnswer
from app.domain.words import query_terms
from app.search.dedupe import dedupe
from app.search.fuse import in_list_order
from app.search.relevance import relevance
from tests.unit.search_doubles import ListRetriever, MemoryChunks, hit, ranked, retrieval_query
from tests.unit.test_pipeline import CALLERS, DEFINITION, GRAPH, QUOTED, STRUCTURAL, TEXT, UNDERSTAND, Fixture, lists

pytestmark = pytest.mark.anyio

STOP_WORDS = frozenset({"how", "is", "it"})
IMPACT = Classification(Intent.IMPACT_ANALYSIS, 0.9, "what_breaks", ("parse",))


def codes(answer: SearchAnswer) -> list[str]:
    return [warning.code for warning in answer.warnings]


@pytest.mark.parametrize(
    ("question", "strength"), [("how is it", "weak"), ("how", "weak"), ("how is it parsed", "strong"), ("???", "weak")]
)
async def test_a_question_of_stop_words_has_no_strong_answer(question: str, strength: str) -> None:
    said = MemoryChunks({hit("a.py").chunks[0].chunk_id: f"{question} # parsed"})
    shown = (await Fixture(UNDERSTAND, lists("a.py"), chunks=said).search()).results
    entries = dedupe(in_list_order(ranked(TEXT, "a.py"), 1.0), Dedupe.FILE, {})
    assert relevance(entries, shown, retrieval_query(question, terms=query_terms(question, [], STOP_WORDS))) == strength


@pytest.mark.parametrize(
    ("classification", "code"), [(CALLERS, "no_uses_found"), (IMPACT, "no_uses_found"), (DEFINITION, "definition_not_found")]
)
async def test_results_in_place_of_a_name_that_was_not_found_are_marked(classification: Classification, code: str) -> None:
    answer = await Fixture(classification, lists("a.py")).search("parse")
    assert answer.results
    assert [warning.message for warning in answer.warnings if warning.code == code] == [
        f"no {'definition' if code == 'definition_not_found' else 'use'} of parse was found; these results are related to its name"
    ]


async def test_a_name_that_was_found_or_could_not_be_looked_for_is_not_said_to_be_missing() -> None:
    found = await Fixture(CALLERS, lists("a.py", modality=GRAPH)).search("who calls parse")
    broken = await Fixture(CALLERS, ListRetriever(RankedList(GRAPH, ()), error=ValueError("bug")), lists("a.py")).search("who calls parse")
    similar = await Fixture(DEFINITION, lists("a.py", modality=STRUCTURAL, warnings=("fuzzy",)), lists("a.py")).search("where is parse")
    empty = await Fixture(CALLERS).search("who calls parse")
    for answer in (found, broken, similar, empty):
        assert not {"no_uses_found", "definition_not_found"} & set(codes(answer))


async def test_filters_that_leave_no_file_prove_nothing() -> None:
    fixture = Fixture(QUOTED)
    fixture.snapshots.files_in_filters = 0
    answer = await fixture.search('"x = 1"', filters=Filters(languages=("klingon",)))
    assert codes(answer) == ["no_file_matches"]
    assert answer.absence == {"proven": False, "files_searched": 0, "files_total": 0, "unread": []}


async def test_absence_counts_the_files_that_the_filters_leave() -> None:
    fixture = Fixture(QUOTED)
    fixture.snapshots.files_in_filters = 7
    answer = await fixture.search('"x = 1"', filters=Filters(paths=("src/**",)))
    assert answer.absence == {"proven": True, "files_searched": 7, "files_total": 7, "unread": []}
    assert codes(answer) == []


async def test_languages_are_named_in_any_case() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py"))
    answer = await fixture.search(filters=Filters(languages=("Python",)))
    assert fixture.retrievers[Modality.TEXT].queries[0].filters.languages == answer.filters.languages == ("python",)
