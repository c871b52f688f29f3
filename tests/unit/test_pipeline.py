from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.config import SearchSettings
from app.domain.code import PathClass
from app.domain.errors import (
    CursorExpired,
    FourfoldError,
    InvalidRequest,
    NotIndexed,
    QueryNotServable,
    StoreBusy,
    StoreUnavailable,
)
from app.domain.query import Classification, Dedupe, Filters, Intent, Modality, Position, Preset, Scope, SearchRequest, Strategy
from app.domain.ranking import Degradation, Evidence, FileCopy, RankedList, SearchAnswer
from app.search.glossary import load_glossaries
from app.search.pipeline import SearchService
from tests.unit.search_doubles import FixedSnapshots, ListRetriever, MemoryChunks, OneClassification, hit, ranked, snapshot

pytestmark = pytest.mark.anyio

SEMANTIC, TEXT, STRUCTURAL, GRAPH = Modality.SEMANTIC, Modality.TEXT, Modality.STRUCTURAL, Modality.GRAPH
UNDERSTAND = Classification(Intent.UNDERSTAND_CODE, 0.75, "how")
CALLERS = Classification(Intent.FIND_REFERENCES, 0.9, "who_calls", ("parse",))
QUOTED = Classification(Intent.EXACT_MATCH, 0.9, "quoted", ("x = 1",))
DEFINITION = Classification(Intent.FIND_DEFINITION, 0.9, "where_defined", ("parse",))


class Fixture:
    """A service whose retrievers answer with prepared lists; modalities without one find nothing."""

    def __init__(
        self,
        classification: Classification,
        *retrievers: ListRetriever,
        scope: Scope | None = None,
        chunks: MemoryChunks | None = None,
        settings: SearchSettings | None = None,
    ) -> None:
        self.retrievers = {m: ListRetriever(RankedList(m, ())) for m in Modality} | {r.modality: r for r in retrievers}
        self.snapshots = FixedSnapshots(scope or Scope((snapshot(),)))
        self.degraded: list[Degradation] = []
        self.service = SearchService(
            OneClassification(classification),
            frozenset({"how"}),
            self.snapshots,
            chunks or MemoryChunks(),
            dict(self.retrievers),
            settings or SearchSettings(),
            self.degraded.append,
            glossaries=load_glossaries(),
        )

    async def search(self, query: str = "how routing works", **fields: Any) -> SearchAnswer:
        return await self.service.search(SearchRequest(query, **fields))

    def asked(self) -> set[Modality]:
        return {modality for modality, retriever in self.retrievers.items() if retriever.queries}


def lists(*files: str, modality: Modality = TEXT, **changes: Any) -> ListRetriever:
    return ListRetriever(ranked(modality, *files, **changes))


def paths(answer: SearchAnswer) -> list[str]:
    return [result.path for result in answer.results]


async def test_fused_answer_adds_up_what_the_retrievers_agree_on() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py", "b.py"), lists("b.py", "c.py", modality=SEMANTIC))
    answer = await fixture.search(rescore=False)
    assert paths(answer) == ["b.py", "c.py", "a.py"]
    assert answer.routing.strategy is Strategy.WEIGHTED_RRF
    assert answer.results[0].score == pytest.approx(0.2 / 42 + 0.5 / 41)
    assert [(run.modality, run.weight, run.hits) for run in answer.routing.modalities] == [
        (SEMANTIC, 0.5, 2),
        (STRUCTURAL, 0.2, 0),
        (TEXT, 0.2, 2),
    ]
    assert fixture.asked() == {SEMANTIC, STRUCTURAL, TEXT}
    assert not answer.partial
    assert answer.total.results == 3
    assert answer.total.exact


async def test_direct_answer_asks_one_modality_and_keeps_its_list() -> None:
    fixture = Fixture(CALLERS, lists("a.py", "tests/b.py", modality=GRAPH))
    answer = await fixture.search("who calls parse")
    assert answer.routing.strategy is Strategy.DIRECT
    assert answer.routing.fallback_from is None
    assert paths(answer) == ["a.py", "tests/b.py"]
    assert [result.score for result in answer.results] == [1.0, 0.5]
    assert fixture.asked() == {GRAPH}


async def test_of_definitions_that_fit_equally_well_the_most_used_comes_first() -> None:
    files = (hit("a.py", 1, modality=STRUCTURAL), hit("b.py", 2, modality=STRUCTURAL), hit("c.py", 3, modality=STRUCTURAL, score=0.9))
    chunks = MemoryChunks(values={(1, 2): 0.001, (1, 3): 0.5})
    answer = await Fixture(DEFINITION, ListRetriever(ranked(STRUCTURAL, *files)), chunks=chunks).search(
        "where is Field defined", explain=True
    )
    assert answer.routing.strategy is Strategy.DIRECT
    assert paths(answer) == ["b.py", "a.py", "c.py"]
    told = answer.results[0].explanation
    assert told is not None
    assert told["boost"]["centrality"] == 0.001  # type: ignore[index]


async def test_direct_route_without_results_falls_back_to_fusion_and_says_so() -> None:
    fixture = Fixture(CALLERS, lists("a.py"))
    answer = await fixture.search("who calls parse")
    assert paths(answer) == ["a.py"]
    assert answer.routing.strategy is Strategy.WEIGHTED_RRF
    assert answer.routing.fallback_from is Strategy.DIRECT
    assert len(fixture.retrievers[GRAPH].queries) == 1


@pytest.mark.parametrize(
    ("operand", "expected", "asked"),
    [
        ("the secret key", ["a.py", "tests/b.py"], set(Modality)),
        ("parse_config", ["tests/b.py", "a.py"], {GRAPH, STRUCTURAL, TEXT}),
        ("ParseConfig", ["tests/b.py", "a.py"], {GRAPH, STRUCTURAL, TEXT}),
    ],
)
async def test_who_asks_for_uses_of_a_topic_asks_in_words(operand: str, expected: list[str], asked: set[Modality]) -> None:
    fixture = Fixture(replace(CALLERS, operands=(operand,)), lists("tests/b.py", "a.py"))
    answer = await fixture.search(f"who uses {operand}")
    assert (paths(answer), fixture.asked()) == (expected, asked)
    assert (answer.routing.classification.intent, answer.routing.fallback_from) == (Intent.FIND_REFERENCES, Strategy.DIRECT)
    assert answer.routing.rescored == (len(asked) == 4)
    assert "no_uses_found" in [warning.code for warning in answer.warnings]


@pytest.mark.parametrize("dominant", [StoreUnavailable(), FourfoldError("broken"), ValueError("bug")])
async def test_a_failing_retriever_degrades_the_answer(dominant: Exception) -> None:
    fixture = Fixture(UNDERSTAND, ListRetriever(RankedList(SEMANTIC, ()), error=dominant), lists("a.py"))
    answer = await fixture.search()
    assert paths(answer) == ["a.py"]
    assert answer.partial
    assert [degradation.modality for degradation in answer.routing.degraded] == [SEMANTIC]
    assert tuple(fixture.degraded) == answer.routing.degraded
    assert not answer.total.exact


async def test_a_late_retriever_is_left_behind() -> None:
    slow = ListRetriever(ranked(SEMANTIC, "late.py"), seconds=5)
    answer = await Fixture(UNDERSTAND, slow, lists("a.py")).search(timeout_ms=60)
    assert paths(answer) == ["a.py"]
    assert answer.routing.degraded == (Degradation(SEMANTIC, "timeout"),)
    assert answer.took_ms < 2_000


IMPATIENT = SearchSettings(retriever_deadline_ms=20, deadline_ms=10_000)


def after(seconds: float, path: str, modality: Modality) -> ListRetriever:
    return ListRetriever(ranked(modality, path), seconds=seconds)


async def test_while_nobody_has_answered_all_go_on() -> None:
    never = [after(60, "never.py", modality) for modality in (TEXT, STRUCTURAL)]
    fixture = Fixture(UNDERSTAND, after(0.2, "late.py", SEMANTIC), *never, settings=IMPATIENT)
    answer = await fixture.search()
    assert paths(answer) == ["late.py"]
    assert {degradation.modality for degradation in answer.routing.degraded} == {TEXT, STRUCTURAL}


async def test_a_direct_route_that_is_late_goes_on_to_the_others() -> None:
    fixture = Fixture(DEFINITION, after(60, "never.py", STRUCTURAL), after(0.2, "late.py", TEXT), settings=IMPATIENT)
    answer = await fixture.search("where is parse defined")
    assert paths(answer) == ["late.py"]
    assert answer.routing.fallback_from is Strategy.DIRECT


async def test_nobody_is_waited_for_beyond_the_deadline() -> None:
    never = [after(60, "never.py", modality) for modality in Modality]
    answer = await Fixture(UNDERSTAND, *never, settings=IMPATIENT).search(timeout_ms=100)
    assert (answer.results, answer.partial) == ((), True)


@pytest.mark.parametrize("failure", [StoreUnavailable, StoreBusy])
async def test_the_store_failing_is_an_error(failure: type[FourfoldError]) -> None:
    failing = [ListRetriever(RankedList(modality, ()), error=failure()) for modality in Modality]
    with pytest.raises(failure):
        await Fixture(UNDERSTAND, *failing).search()


async def test_all_failing_for_different_reasons_is_an_empty_partial_answer() -> None:
    errors = {SEMANTIC: StoreUnavailable(), TEXT: TimeoutError(), STRUCTURAL: ValueError()}
    answer = await Fixture(UNDERSTAND, *(ListRetriever(RankedList(m, ()), error=error) for m, error in errors.items())).search()
    assert answer.results == ()
    assert answer.partial
    assert {d.modality: d.reason for d in answer.routing.degraded} == {
        SEMANTIC: "store_unavailable",
        TEXT: "timeout",
        STRUCTURAL: "internal",
    }


@pytest.mark.parametrize("refusal", [QueryNotServable("too short"), InvalidRequest("bad pattern", field="query")])
async def test_a_refusal_reaches_the_caller(refusal: FourfoldError) -> None:
    with pytest.raises(type(refusal)) as caught:
        await Fixture(UNDERSTAND, ListRetriever(RankedList(TEXT, ()), error=refusal), lists("a.py", modality=SEMANTIC)).search()
    assert caught.value is refusal


@pytest.mark.parametrize("query", ["", "   ", "\n", "x" * 10_001, "a\0b", "\ud800"])
async def test_unusable_queries_name_the_field(query: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await Fixture(UNDERSTAND).search(query)
    assert caught.value.field == "query"


async def test_errors_of_the_scope_pass() -> None:
    fixture = Fixture(UNDERSTAND)

    async def not_indexed(repositories: object, revision: str | None = None) -> Scope:
        raise NotIndexed

    fixture.snapshots.resolve = not_indexed  # type: ignore[method-assign]
    with pytest.raises(NotIndexed):
        await fixture.search()


async def test_no_repository_at_all_is_an_honest_empty_answer() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py"), scope=Scope(()))
    answer = await fixture.search()
    assert answer.results == ()
    assert [warning.code for warning in answer.warnings] == ["nothing_indexed"]
    assert fixture.asked() == set()


async def test_literal_request_is_not_interpreted() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py", total_lines=4, total_files=1))
    answer = await fixture.search(' who calls "x" ', literal=True)
    assert answer.routing.classification == Classification(Intent.EXACT_MATCH, 1.0, "literal", (' who calls "x" ',))
    assert answer.routing.strategy is Strategy.DIRECT
    assert fixture.retrievers[TEXT].queries[0].literal == ' who calls "x" '
    assert answer.total.lines == 4
    assert answer.relevance == "strong"


async def test_pattern_is_handed_over_as_it_is_and_text_alone_answers() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py"))
    answer = await fixture.search("a.*b", filters=Filters(regex=True))
    assert answer.routing.classification.rule == "regex"
    assert answer.routing.strategy is Strategy.DIRECT
    assert fixture.asked() == {TEXT}
    assert fixture.retrievers[TEXT].queries[0].literal == "a.*b"
    assert answer.filters.case is True


@pytest.mark.parametrize("fields", [{"literal": True}, {"literal": True, "filters": Filters(word=True)}, {"filters": Filters(regex=True)}])
async def test_an_exact_search_that_finds_nothing_says_so(fields: dict[str, Any]) -> None:
    fixture = Fixture(UNDERSTAND)
    answer = await fixture.search("a.*b", **fields)
    assert (answer.results, answer.routing.fallback_from) == ((), None)
    assert fixture.asked() == {TEXT}
    assert answer.absence is not None
    assert answer.absence["proven"] is True


@pytest.mark.parametrize("pattern", ["([", "a**", "(?=a)", r"\1", "a{1001}", "(?P<n>", "\\"])
async def test_what_is_no_pattern_names_the_field(pattern: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await Fixture(UNDERSTAND).search(pattern, filters=Filters(regex=True))
    assert caught.value.field == "query"
    assert "RE2" in caught.value.message


async def test_a_list_in_path_order_is_paged_from_where_it_stopped() -> None:
    resume = Position(1, "b.py", results=2, lines=3)
    fixture = Fixture(UNDERSTAND, lists("a.py", "b.py", resume=resume, complete=False))
    first = await fixture.search("x", literal=True, dedupe=Dedupe.NONE, limit=1)
    second = await fixture.search("x", literal=True, dedupe=Dedupe.NONE, limit=1, cursor=first.next_cursor)
    third = await fixture.search("x", literal=True, dedupe=Dedupe.NONE, limit=1, cursor=second.next_cursor)
    assert [query.after for query in fixture.retrievers[TEXT].queries] == [None, None, resume]
    assert [paths(answer) for answer in (first, second, third)] == [["a.py"], ["b.py"], ["a.py"]]
    assert (third.total.results, third.total.exact) == (4, False)


async def test_quoted_operand_is_the_literal_and_every_match_is_wanted_without_deduplication() -> None:
    fixture = Fixture(QUOTED, lists("a.py"))
    await fixture.search('"x = 1"', dedupe=Dedupe.NONE)
    (asked,) = fixture.retrievers[TEXT].queries
    assert asked.literal == "x = 1"
    assert asked.every_match


async def test_demotion_applies_to_a_single_list_too() -> None:
    tests = hit("tests/a.py", score=1.0, path_class=PathClass.TEST)
    fixture = Fixture(UNDERSTAND, ListRetriever(ranked(TEXT, tests, hit("b.py", score=0.9))))
    answer = await fixture.search(modalities=(TEXT,))
    assert answer.routing.strategy is Strategy.SINGLE
    assert paths(answer) == ["b.py", "tests/a.py"]
    assert not answer.routing.rescored


async def test_rescoring_reorders_and_can_be_switched_off() -> None:
    files = hit("a.py", features={"text_sum": 1.0}), hit("b.py", features={"text_sum": 9.0, "stem": 1.0})
    fixture = Fixture(UNDERSTAND, ListRetriever(ranked(TEXT, *files)))
    rescored, plain = await fixture.search(), await fixture.search(rescore=False)
    assert (paths(rescored), rescored.routing.rescored) == (["b.py", "a.py"], True)
    assert (paths(plain), plain.routing.rescored) == (["a.py", "b.py"], False)


async def test_references_are_never_rescored() -> None:
    fixture = Fixture(replace(CALLERS, confidence=0.5), lists("a.py", modality=GRAPH))
    assert not (await fixture.search()).routing.rescored


async def test_explanation_adds_up() -> None:
    files = hit("v/v1/a.py", 5, features={"text_sum": 4.0, "ex": 0.9}, path_class=PathClass.TEST), hit("b.py", features={"text_sum": 8.0})
    fixture = Fixture(UNDERSTAND, ListRetriever(ranked(TEXT, *files)), chunks=MemoryChunks(values={(1, 5): 0.25}))
    answer = await fixture.search("a question", explain=True)
    for result in answer.results:
        told: Any = result.explanation
        assert sum(part["value"] for part in told["contributions"]) * told["demotion"]["factor"] == pytest.approx(told["fused"])
        total = sum(feature["value"] * feature["weight"] for feature in told["features"].values())
        assert total * told["demotion"]["factor"] == pytest.approx(told["rescored"]) == result.score
        for part in told["contributions"]:
            assert part["value"] == pytest.approx(part["weight"] / (told["k"] + part["rank"] + 1) * told["boost"]["factor"])
        json.dumps(told)
    assert (await fixture.search()).results[0].explanation is None


async def test_others_of_a_file_are_listed_with_their_lines_and_their_call_sites() -> None:
    sites = [Evidence(GRAPH, 1.0, "calls", "exact", line) for line in (11, 40)]
    file = hit("a.py", 1, 2)
    chunks = tuple(chunk._replace(evidence=(site,)) for chunk, site in zip(file.chunks, sites, strict=True))
    fixture = Fixture(CALLERS, ListRetriever(ranked(GRAPH, file._replace(chunks=chunks))))
    (result,) = (await fixture.search("who calls parse")).results
    assert [(span.start_line, span.end_line) for span in result.more_in_file] == [(10, 10)]
    assert [evidence.line for evidence in result.evidence] == [11, 40]


async def test_content_deduplication_reads_the_chunks() -> None:
    texts = {1: "same", 2: "other", 3: "same"}
    fixture = Fixture(
        UNDERSTAND, ListRetriever(ranked(TEXT, hit("a.py", 1), hit("b.py", 2), hit("c.py", 3))), chunks=MemoryChunks(texts=texts)
    )
    answer = await fixture.search(dedupe=Dedupe.CONTENT)
    assert [(result.path, result.copies) for result in answer.results] == [("a.py", (FileCopy("acme", "c.py"),)), ("b.py", ())]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 25), st.integers(1, 10), st.sampled_from(list(Dedupe)))
def test_pages_hold_every_result_once(files: int, limit: int, mode: Dedupe) -> None:
    fixture = Fixture(UNDERSTAND, ListRetriever(ranked(TEXT, *(hit(f"{n:02}.py", 2 * n + 1, 2 * n + 2) for n in range(files)))))

    async def pages() -> list[SearchAnswer]:
        answers = [await fixture.search(limit=limit, dedupe=mode)]
        while answers[-1].next_cursor:
            answers.append(await fixture.search(limit=limit, dedupe=mode, cursor=answers[-1].next_cursor))
        return answers

    answers = asyncio.run(pages())
    seen = [(r.path, r.snippet) for answer in answers for r in answer.results]
    assert len(set(seen)) == len(seen) == answers[0].total.results == files * (2 if mode is Dedupe.NONE else 1)
    assert all(len(answer.results) == limit for answer in answers[:-1])


async def test_a_cursor_pins_its_generation_and_its_question() -> None:
    fixture = Fixture(UNDERSTAND, lists(*(f"{n:02}.py" for n in range(9))))
    cursor = (await fixture.search(limit=3)).next_cursor
    assert cursor
    assert paths(await fixture.search(limit=5, cursor=cursor)) == [f"{n:02}.py" for n in range(3, 8)]
    with pytest.raises(InvalidRequest) as caught:
        await fixture.search("another question", cursor=cursor)
    assert caught.value.field == "cursor"
    fixture.snapshots.scope = Scope((snapshot(generation=4),))
    with pytest.raises(CursorExpired):
        await fixture.search(cursor=cursor)


def forged(**changes: object) -> str:
    return base64.urlsafe_b64encode(json.dumps({"g": {"1": 3}, "o": 0, "q": ""} | changes).encode()).decode()


@pytest.mark.parametrize(
    "cursor",
    ["x", "....", "é", "bnVsbA", forged(), forged(g=[]), forged(g={"x": 1}), forged(o=-1), forged(o=2**70), forged(o=True), forged(o="1")],
)
async def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await Fixture(UNDERSTAND, lists("a.py")).search(cursor=cursor)
    assert caught.value.field == "cursor"


async def test_a_cursor_does_not_reach_other_repositories() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py", "b.py"))
    cursor = (await fixture.search(limit=1, repositories=("acme",))).next_cursor
    fixture.snapshots.scope = Scope((snapshot(name="secret"),))
    with pytest.raises(InvalidRequest):
        await fixture.search(limit=1, repositories=("acme",), cursor=cursor)


@pytest.mark.parametrize(
    ("classification", "scope", "proven"),
    [
        (QUOTED, snapshot(), True),
        (DEFINITION, snapshot(), True),
        (QUOTED, snapshot(skipped=2), False),
    ],
)
async def test_absence_is_told_for_literals_and_symbols(classification: Classification, scope: Any, proven: bool) -> None:
    answer = await Fixture(classification, scope=Scope((scope,))).search("parse")
    assert answer.relevance == "none"
    unread = [{"repository": scope.repository, "path": f"skipped/{number}", "reason": "binary"} for number in range(scope.skipped)]
    assert answer.absence == {"proven": proven, "files_searched": 100, "files_total": 100 + scope.skipped, "unread": unread}


async def test_absence_is_not_proven_by_a_degraded_answer() -> None:
    answer = await Fixture(QUOTED, ListRetriever(RankedList(STRUCTURAL, ()), error=TimeoutError())).search("parse")
    assert answer.absence is not None
    assert answer.absence["proven"] is False


async def test_absence_is_not_claimed_for_questions_in_words() -> None:
    assert (await Fixture(UNDERSTAND).search("two words")).absence is None
    assert (await Fixture(UNDERSTAND).search("oneword")).absence is not None


async def test_relevance_comes_from_evidence() -> None:
    weak = await Fixture(UNDERSTAND, lists("a.py", modality=SEMANTIC)).search("how routing works")
    named = await Fixture(UNDERSTAND, ListRetriever(ranked(STRUCTURAL, hit("a.py", features={"ex": 0.9})))).search()
    texts = MemoryChunks(texts={7: "def route(): the routing works"})
    worded = await Fixture(UNDERSTAND, ListRetriever(ranked(SEMANTIC, hit("a.py", 7))), chunks=texts).search("how routing works")
    edge = Evidence(GRAPH, 1.0, "calls", "exact", 3)
    called = await Fixture(CALLERS, ListRetriever(ranked(GRAPH, hit("a.py", evidence=edge)))).search()
    assert [answer.relevance for answer in (weak, named, worded, called)] == ["weak", "strong", "strong", "strong"]


async def test_similar_strings_are_marked_as_such() -> None:
    fuzzy = Evidence(TEXT, 0.4, fuzzy=True)
    answer = await Fixture(QUOTED, ListRetriever(ranked(TEXT, hit("a.py", evidence=fuzzy)))).search('"x = 1"')
    assert answer.relevance == "weak"
    assert "fuzzy_only" in [warning.code for warning in answer.warnings]


async def test_warnings_of_index_and_retrievers() -> None:
    scope = Scope((snapshot(stale=True, embeddings_pending=7),))
    answer = await Fixture(UNDERSTAND, lists("a.py", warnings=("unindexed_scan",)), scope=scope).search(preset=Preset.THOROUGH)
    assert [warning.code for warning in answer.warnings] == ["repository_stale", "embeddings_pending", "unindexed_scan"]
    assert "{" not in "".join(warning.message for warning in answer.warnings)


async def test_an_index_that_holds_nothing_is_named() -> None:
    scope = Scope((snapshot(), snapshot(2, "bare", files=0, chunks=0)))
    answer = await Fixture(UNDERSTAND, lists("a.py"), scope=scope).search()
    assert [warning.message for warning in answer.warnings] == ["the index of bare holds no file: its coverage tells what was left out"]


async def test_a_modality_that_is_not_configured_is_left_out() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py"))
    fixture.service = SearchService(
        OneClassification(UNDERSTAND), frozenset(), fixture.snapshots, MemoryChunks(), {TEXT: fixture.retrievers[TEXT]}, SearchSettings()
    )
    answer = await fixture.search()
    assert paths(answer) == ["a.py"]
    assert (answer.routing.unavailable, answer.warnings) == ((SEMANTIC, STRUCTURAL), ())
    assert fixture.service.classify(SearchRequest("how routing works")).unavailable == (SEMANTIC, STRUCTURAL)
    asked = await fixture.search(modalities=(TEXT, SEMANTIC))
    assert (asked.routing.unavailable, [w.code for w in asked.warnings]) == ((SEMANTIC,), ["modality_unavailable"])
    assert not answer.partial
    with pytest.raises(QueryNotServable):
        await fixture.search(preset=Preset.QUICK)


async def test_max_bytes_shortens_the_page_and_the_cursor_goes_on() -> None:
    files = [hit(f"{n}.py", n + 1) for n in range(6)]
    chunks = MemoryChunks(texts={n + 1: "\n".join(["x" * 99] * 30) for n in range(6)})
    fixture = Fixture(UNDERSTAND, ListRetriever(ranked(TEXT, *files)), chunks=chunks)
    first = await fixture.search(max_bytes=10_000)
    assert paths(first) == ["0.py", "1.py"]
    assert paths(await fixture.search(max_bytes=10_000, cursor=first.next_cursor)) == ["2.py", "3.py"]
    (cut,) = (await fixture.search(max_bytes=3_000)).results
    assert cut.snippet_truncated
    assert 0 < len(cut.snippet) < 3_000


async def test_results_that_vanished_are_not_hidden() -> None:
    files = ranked(TEXT, hit("a.py", 1), hit("b.py", 2), hit("c.py", 3))
    fixture = Fixture(UNDERSTAND, ListRetriever(files), chunks=MemoryChunks(missing=frozenset({1})))
    answer = await fixture.search(limit=2)
    assert paths(answer) == ["b.py"]
    assert answer.partial
    assert "results_missing" in [warning.code for warning in answer.warnings]


def test_classify_tells_the_route_without_searching() -> None:
    fixture = Fixture(CALLERS)
    routing = fixture.service.classify(SearchRequest("who calls parse"))
    assert routing.strategy is Strategy.DIRECT
    assert [(run.modality, run.weight) for run in routing.modalities] == [(GRAPH, 0.5)]
    assert fixture.asked() == set()


async def test_a_question_is_embedded_in_english_too() -> None:
    fixture = Fixture(UNDERSTAND, lists("a.py", modality=SEMANTIC))
    await fixture.search("hvordan gemmes cookies i en session")
    (query,) = fixture.retrievers[SEMANTIC].queries
    assert query.meaning == "hvordan gemmes cookies i en session\nsave store cookie"
    assert {"gemm", "save", "store"} <= set(query.terms.words)


@pytest.mark.parametrize(
    ("classification", "question"),
    [
        (QUOTED, "find strengen fejl"),
        (Classification(Intent.FIND_DEFINITION, 0.9, "da_where_defined", ("fejl",)), "hvor er klassen fejl defineret"),
        (Classification(Intent.FIND_SIMILAR, 0.75, "da_similar", ("fejl",)), "kode som ligner fejl"),
        (UNDERSTAND, "how are errors handled"),
    ],
)
async def test_names_code_and_english_are_embedded_as_they_are(classification: Classification, question: str) -> None:
    fixture = Fixture(classification, lists("a.py"))
    await fixture.search(question, modalities=(TEXT, SEMANTIC))
    (query,) = fixture.retrievers[TEXT].queries
    assert (query.meaning, query.translated, dict(query.terms.translations)) == (question, (), {})


async def test_of_an_operand_only_its_own_words_are_said_in_english() -> None:
    fixture = Fixture(Classification(Intent.FIND_REFERENCES, 0.6, "da_where_used", ("signaler",)), lists("a.py"))
    await fixture.search("hvilke filer bruger signaler")
    (query,) = fixture.retrievers[TEXT].queries
    assert set(query.terms.words) == {"signal"}
    assert query.classification.operands == ("signaler",)
