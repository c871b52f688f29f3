"""Nonsense is told as such; what says half of the question, means it or is spelled like it, is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.domain.query import Dedupe, Modality, RetrievalQuery, Scope
from app.domain.ranking import Evidence, SearchResult
from app.domain.vectors import VectorSet
from app.domain.words import query_terms
from app.search.dedupe import Entry, dedupe
from app.search.fuse import in_list_order
from app.search.relevance import relevance
from tests.unit.search_doubles import MemoryChunks, hit, ranked, retrieval_query, snapshot
from tests.unit.test_pipeline import UNDERSTAND, Fixture, lists

pytestmark = pytest.mark.anyio

QUESTION = "rotate signing keys nightly"
SEMANTIC = Evidence(Modality.SEMANTIC, 0.1, "meaning")


async def shown(text: str, evidence: Evidence) -> tuple[list[Entry], tuple[SearchResult, ...]]:
    chunk_id = hit("a.py").chunks[0].chunk_id
    results = (await Fixture(UNDERSTAND, lists("a.py"), chunks=MemoryChunks({chunk_id: text})).search()).results
    entries = dedupe(in_list_order(ranked(Modality.TEXT, "a.py"), 1.0), Dedupe.FILE, {})
    return entries, tuple(replace(result, evidence=(evidence,)) for result in results)


def asked(embedder: str = "static") -> RetrievalQuery:
    query = retrieval_query(QUESTION, terms=query_terms(QUESTION, [], frozenset()))
    return replace(query, scope=Scope((snapshot(),), VectorSet(1, "v", embedder, "m", None)))


@pytest.mark.parametrize(
    ("text", "evidence", "strength"),
    [
        ("rotate_signing_keys(nightly)", SEMANTIC, "strong"),
        ("rotate(keys)", SEMANTIC, "weak"),
        ("keys", SEMANTIC, "none"),
        ("nothing of it", SEMANTIC, "none"),
        ("nothing of it", Evidence(Modality.SEMANTIC, 0.26, "meaning"), "weak"),
        ("nothing of it", Evidence(Modality.TEXT, 9.0, "words", fuzzy=True), "none"),
        ("nothing of it", Evidence(Modality.STRUCTURAL, 0.5, "definition", fuzzy=True), "weak"),
        ("nothing of it", Evidence(Modality.STRUCTURAL, 0.3, "definition", fuzzy=True), "none"),
        ("nothing of it", Evidence(Modality.GRAPH, 0.5, "calls", edge_class="possible"), "weak"),
    ],
)
async def test_absolute_evidence(text: str, evidence: Evidence, strength: str) -> None:
    entries, results = await shown(text, evidence)
    assert relevance(entries, results, asked()) == strength


async def test_what_was_not_measured_counts() -> None:
    entries, results = await shown("nothing of it", SEMANTIC)
    assert relevance(entries, results, asked("voyage")) == "weak"


async def test_a_later_page_does_not_judge_the_first() -> None:
    entries, results = await shown("nothing of it", SEMANTIC)
    assert relevance(entries, results, asked(), first=False) == "weak"
