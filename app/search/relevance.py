"""How much evidence an answer has, in absolute terms: a nonsense question is told as such, however its results compare with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.code import EdgeClass
from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import Evidence, SearchResult
from app.domain.words import body_terms, distinct_terms, path_terms
from app.search.dedupe import Entry

LEAST_SAID: Final = 0.5
"""Of the question's words, in all results of the page together. Of 119 judged questions the least was 0.67."""

MEANINGFUL_COSINE: Final[Mapping[str, float]] = {"static": 0.25}
"""By kind of embedder, the cosine of the best result from which on it counts; what is not here was not measured, and always counts.

Static: 95 in 100 judged questions have at least 0.31, 95 in 100 pieces of nonsense at most 0.22.
"""

LIKE_A_NAME: Final = 0.4
"""Similarity of spelling from which on a name may be the one that was meant."""


def relevance(entries: Sequence[Entry], shown: Sequence[SearchResult], query: RetrievalQuery, *, first: bool = True) -> str:
    """``strong``, ``weak`` or ``none``, from absolute evidence, never from scores. ``first``: this is the first page.

    Strong: the literal itself was found; a definition of a name in the question; a certain or likely edge of the graph; or a shown
    chunk that, with its path and symbol, holds every word of the question that is no stop word. None: less than half of these words
    occur in all that is shown, and nothing is near in meaning, spelled like a name that was asked for, or reached over the graph.
    """
    if not entries:
        return "none"
    if query.literal is not None:
        return "strong" if any(_is_text_match(item) for entry in entries for item in entry.chunk.evidence) else "weak"
    if any(entry.candidate.features.get("ex", 0.0) > 0 for entry in entries):
        return "strong"
    by_graph = (entry for entry in entries if any(part.modality is Modality.GRAPH for part in entry.candidate.contributions))
    if any(_is_certain_edge(item) for entry in by_graph for item in entry.chunk.evidence):
        return "strong"
    words = query.terms.asked
    said = [query.terms.said_in(_words_of(result)) for result in shown]
    if words and not query.terms.only_stop_words and words in said:  # a chunk that says "how", "is" and "it" answers nothing
        return "strong"
    if not first or not words or len(frozenset().union(*said)) >= LEAST_SAID * len(words):
        return "weak"
    return "weak" if any(_counts(item, query) for result in shown for item in result.evidence) else "none"


def _is_text_match(evidence: Evidence) -> bool:
    return evidence.modality is Modality.TEXT and not evidence.fuzzy


def _is_certain_edge(evidence: Evidence) -> bool:
    return evidence.modality is Modality.GRAPH and evidence.edge_class in (EdgeClass.EXACT, EdgeClass.LIKELY)


def _counts(evidence: Evidence, query: RetrievalQuery) -> bool:
    """Whether it is evidence at all where the words are missing."""
    match evidence.modality:
        case Modality.SEMANTIC:
            vectors = query.scope.vectors
            return evidence.score >= MEANINGFUL_COSINE.get(vectors.kind if vectors else "", 0.0)
        case Modality.STRUCTURAL:
            return evidence.fuzzy and evidence.score >= LIKE_A_NAME
        case Modality.GRAPH:
            return True
        case Modality.TEXT:
            return False


def _words_of(result: SearchResult) -> frozenset[str]:
    """The words that a result says, with its path and its symbol."""
    symbol = body_terms(result.symbol.qualified) if result.symbol else ()
    return frozenset((*distinct_terms(result.snippet), *path_terms(result.path), *symbol))
