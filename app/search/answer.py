"""The answer around its results: how they were found, how many there are, what to know about them, where the next page begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.errors import CursorExpired
from app.domain.expression import written
from app.domain.query import Classification, Dedupe, Modality, RetrievalQuery, SearchRequest, Strategy
from app.domain.ranking import Candidate, ModalityRun, Notice, Routing, SearchAnswer, Total
from app.search import cursor
from app.search.absence import NOTHING_UNREAD, Unread, absence
from app.search.dedupe import Entry
from app.search.gather import Gathered
from app.search.notices import fallback_notice, list_notices, notice, scope_notices
from app.search.parse import ParsedQuery
from app.search.present import Presented
from app.search.relevance import relevance
from app.search.route import Plan


@dataclass(frozen=True, slots=True)
class Found:
    """What was gathered, by which plan, and the ranking made of it; ``is_late``: there was no time to rescore it.

    ``asked``: the modality that the question's intent trusts most, also where another plan was followed in the end.
    """

    plan: Plan
    gathered: Gathered
    candidates: Sequence[Candidate]
    asked: Modality
    fallback_from: Strategy | None
    is_rescored: bool = False
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """What was asked, and all entries of the answer in order; the page begins at ``offset``."""

    parsed: ParsedQuery
    query: RetrievalQuery
    found: Found
    entries: Sequence[Entry]
    offset: int


@dataclass(frozen=True, slots=True)
class Page:
    """All entries, and those from ``offset`` on as they are shown.

    ``files_in_filters``: how many indexed files match the filters, counted when there are filters and no entries.
    """

    request: SearchRequest
    parsed: ParsedQuery
    query: RetrievalQuery
    found: Found
    entries: Sequence[Entry]
    offset: int
    presented: Presented
    unavailable: Sequence[Modality]
    files_in_filters: int | None = None
    unread: Unread = NOTHING_UNREAD


def answer(page: Page, took_ms: float) -> SearchAnswer:
    """Raises CursorExpired when results of a later page are gone: their index was swept while the caller read on."""
    request, found, query = page.request, page.found, page.query
    results = tuple(result for result in page.presented.results if result is not None)
    missing = len(results) < len(page.presented.results)
    if missing and request.cursor:
        raise CursorExpired(field="cursor")
    partial = bool(found.gathered.degraded) or missing
    next_cursor = _next_cursor(page)
    return SearchAnswer(
        query=request.query,
        text=page.parsed.text,
        filters=page.parsed.filters,
        routing=replace(
            routing(request, query.classification, found.plan, found.gathered),
            fallback_from=found.fallback_from,
            unavailable=tuple(page.unavailable),
            rescored=found.is_rescored,
        ),
        results=results,
        total=_total(page),
        relevance=relevance(page.entries, results, query, first=not request.cursor),
        partial=partial,
        next_cursor=next_cursor,
        scope=query.scope,
        warnings=tuple(_warnings(page, missing, last=next_cursor is None)),
        absence=None if page.entries else absence(found.gathered.lists, query, page.unread, partial=partial, files=page.files_in_filters),
        took_ms=took_ms,
        expression=_expression(page.parsed),
        in_english=bool(query.translated),
    )


def _expression(parsed: ParsedQuery) -> str | None:
    return None if parsed.expression is None or parsed.listing else written(parsed.expression)


def routing(request: SearchRequest, classification: Classification, plan: Plan, gathered: Gathered) -> Routing:
    """The route, with what each modality did; nothing yet when ``gathered`` is empty."""
    runs = []
    for modality, weight in plan.modalities:
        ranked = gathered.lists.get(modality)
        runs.append(ModalityRun(modality, weight, len(ranked.files) if ranked else 0, ranked.took_ms if ranked else 0.0))
    return Routing(classification, plan.strategy, request.preset, tuple(runs), degraded=gathered.degraded)


def _total(page: Page) -> Total:
    """Results before paging. One list of files knows how many there are even where it did not rank them all."""
    gathered = page.found.gathered
    complete = all(ranked.complete for ranked in gathered.lists.values()) and not gathered.degraded
    text = gathered.lists.get(Modality.TEXT)
    only = next(iter(gathered.lists.values())) if len(gathered.lists) == 1 and page.request.dedupe is Dedupe.FILE else None
    known = only.total_files if only else None
    return Total(max(_listed(page), known or 0), text.total_lines if text else None, complete)


def _listed(page: Page) -> int:
    """Results of all pages up to the end of the list that this page is of."""
    return (page.query.after.results if page.query.after else 0) + len(page.entries)


def _next_cursor(page: Page) -> str | None:
    """Within this list, or at the part of it that was not read yet."""
    query, end = page.query, page.offset + len(page.presented.results)
    if end < len(page.entries):
        return cursor.encode(query.scope, end, page.request, query.after)
    resume = next((ranked.resume for ranked in page.found.gathered.lists.values() if ranked.resume), None)
    return cursor.encode(query.scope, 0, page.request, resume) if resume else None


def _warnings(page: Page, missing: bool, *, last: bool) -> list[Notice]:
    lists, query = page.found.gathered.lists, page.query
    unfound = fallback_notice(query, lists.get(page.found.asked)) if page.found.fallback_from else None
    return [
        *page.parsed.warnings,
        *page.found.plan.warnings,
        # Whoever runs a service without an embedder knows; whoever asks for one by name should hear it.
        *(notice("modality_unavailable", modality=m.value) for m in page.unavailable if m in page.request.modalities),
        *scope_notices(query.scope, lists, query.filters),
        *list_notices(lists, page.entries, query),
        *([unfound] if unfound and page.entries else []),
        *([notice("no_file_matches")] if page.files_in_filters == 0 else []),
        *([notice("more_matches")] if last and _total(page).results > _listed(page) else []),
        *([notice("results_missing")] if missing else []),
        *([notice("not_rescored")] if page.found.is_late else []),
        *([notice("not_marked")] if page.presented.unmarked else []),
    ]
