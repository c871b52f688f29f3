"""The read path on one screen: parse, classify, resolve, route, gather, fuse, boost, demote, rescore, de-duplicate, page, present."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final, Protocol, TypeVar

from app.config import SearchSettings
from app.domain.errors import InvalidRequest, QueryNotServable
from app.domain.language_names import LanguageNames
from app.domain.query import Classification, Dedupe, Intent, Modality, RetrievalQuery, Scope, SearchRequest, Strategy, Translated
from app.domain.ranking import Candidate, Degradation, RankedList, Routing, SearchAnswer
from app.domain.words import query_terms
from app.ports import ChunkStore, Retriever, SnapshotStore
from app.search import cursor as cursors
from app.search.absence import NOTHING_UNREAD, UNKNOWN, Unread, unread_files
from app.search.answer import Found, Page, Ranking, answer, routing
from app.search.boost import boost
from app.search.dedupe import dedupe
from app.search.demote import demote
from app.search.fuse import in_list_order, weighted_rrf
from app.search.gather import Gathered, OnDegraded, gather
from app.search.glossary import NO_GLOSSARIES, Glossaries
from app.search.neighbours import BEST_HITS, mark_neighbours
from app.search.parse import ANY_LANGUAGE, ParsedQuery, parse
from app.search.present import present
from app.search.profiles import BoostProfile, Profiles, load_profiles
from app.search.progress import SILENT, Progress
from app.search.repository_names import within
from app.search.rescore import is_rescored, rescore
from app.search.route import Plan, fused, is_topic, route
from app.search.twins import demote_twins, possible_twins

T = TypeVar("T")
U = TypeVar("U")

KEPT_TO_PRESENT: Final = 0.15
"""Of a deadline, for what comes after the retrievers: their lists are ranked, and results are read from the store."""

LEAST_TO_PRESENT: Final = 0.05
"""Seconds, also where the deadline is over: matches are found and marked within milliseconds unless the pattern is a hostile one."""


class Classifier(Protocol):
    def classify(self, query: str) -> Classification: ...


def _ignore(degradation: Degradation) -> None:
    """The default of ``on_degraded``; the answer and the log tell of it all the same."""


class SearchService:
    """Answers questions. Holds no state between calls."""

    def __init__(
        self,
        classifier: Classifier,
        stop_words: frozenset[str],
        snapshots: SnapshotStore,
        chunks: ChunkStore,
        retrievers: Mapping[Modality, Retriever],
        settings: SearchSettings,
        on_degraded: OnDegraded = _ignore,
        profiles: Profiles | None = None,
        languages: LanguageNames = ANY_LANGUAGE,
        glossaries: Glossaries = NO_GLOSSARIES,
    ) -> None:
        """``profiles``: other numbers than those of ``profiles.toml``, for measuring what each is worth."""
        self._classifier = classifier
        self._stop_words = stop_words
        self._snapshots = snapshots
        self._chunks = chunks
        self._retrievers = retrievers
        self._settings = settings
        self._on_degraded = on_degraded
        self._languages = languages
        self._glossaries = glossaries
        self._profiles: Profiles = profiles or load_profiles()

    def classify(self, request: SearchRequest) -> Routing:
        """The route that ``search`` would take; raises InvalidRequest."""
        parsed = parse(request, self._languages)
        classification = self._classify(request, parsed)
        plan = route(classification, request, parsed, self._profiles)
        return self._planned(request, classification, plan)

    async def search(self, request: SearchRequest, progress: Progress = SILENT) -> SearchAnswer:
        """Raises InvalidRequest, QueryNotServable, NotFound, NotIndexed, CursorExpired and StoreUnavailable.

        A retriever that fails or is late makes the answer partial, not an error, unless the store is gone for all of them.
        """
        started = perf_counter()
        ranking = await self.rank(request, progress)
        query, found, entries, offset = ranking.query, ranking.found, ranking.entries, ranking.offset
        page = entries[offset : offset + request.limit]
        presented = await present(page, self._chunks, query, request, found.plan, self._profiles.features, _left(query, started))
        looked_at: tuple[int | None, Unread] = (None, NOTHING_UNREAD)
        if not entries:
            looked_at = await _in_time(self._looked_at(query), (None, UNKNOWN), _left(query, started))
        shown_page = Page(request, ranking.parsed, query, found, entries, offset, presented, self._missing(found.plan), *looked_at)
        return answer(shown_page, (perf_counter() - started) * 1_000)

    def _missing(self, plan: Plan) -> tuple[Modality, ...]:
        return tuple(modality for modality, _ in plan.modalities if modality not in self._retrievers)

    def _planned(self, request: SearchRequest, classification: Classification, plan: Plan) -> Routing:
        """The route as far as it is known before anybody is asked."""
        return replace(routing(request, classification, plan, Gathered()), unavailable=self._missing(plan))

    async def rank(self, request: SearchRequest, progress: Progress = SILENT) -> Ranking:
        """All entries of all pages, before any is read from the store; raises what ``search`` does."""
        started = perf_counter()
        parsed = parse(request, self._languages)
        classification = self._classify(request, parsed)
        plan = route(classification, request, parsed, self._profiles)
        at = cursors.decode(request.cursor, request) if request.cursor else None
        scope = await self._resolve(request, parsed, at)
        query = self._retrieval_query(request, parsed, classification, scope, at)
        progress.routed(self._planned(request, classification, plan))
        found = await self._find(request, plan, query, started, progress)
        entries = dedupe(found.candidates, request.dedupe, await self._texts(request, scope, found.candidates))
        return Ranking(parsed, query, found, entries, at.offset if at else 0)

    async def scope(self, request: SearchRequest) -> Scope:
        """The index that an answer would be read from; raises what ``search`` does before it looks for anything."""
        at = cursors.decode(request.cursor, request) if request.cursor else None
        return await self._resolve(request, parse(request, self._languages), at)

    async def _looked_at(self, query: RetrievalQuery) -> tuple[int | None, Unread]:
        """How many files the filters leave, None without filters; and the files that could not be looked at."""
        filters = query.filters
        files = await self._snapshots.count_files(query.scope, filters) if filters.languages or filters.paths else None
        return files, await unread_files(self._snapshots, query)

    def _classify(self, request: SearchRequest, parsed: ParsedQuery) -> Classification:
        if request.like or request.unlike:
            return Classification(Intent.FIND_SIMILAR, 1.0, "example")
        if parsed.literal or parsed.listing:
            intent = Intent.EXACT_MATCH if parsed.literal else Intent.FIND_DEFINITION
            return Classification(intent, 1.0, parsed.rule, (parsed.text,) if parsed.text else ())
        return self._classifier.classify(parsed.text)

    async def _resolve(self, request: SearchRequest, parsed: ParsedQuery, at: cursors.Cursor | None) -> Scope:
        if at is None:
            scope = await self._snapshots.resolve(request.repositories, parsed.filters.revision)
            return within(scope, parsed.filters.repositories)
        scope = await self._snapshots.resolve_pinned(at.generations)
        if request.repositories and not {s.repository for s in scope.snapshots} <= set(request.repositories):
            raise InvalidRequest("this cursor belongs to another question", field="cursor")
        return within(scope, parsed.filters.repositories)

    def _retrieval_query(
        self, request: SearchRequest, parsed: ParsedQuery, classification: Classification, scope: Scope, at: cursors.Cursor | None
    ) -> RetrievalQuery:
        exact = classification.intent is Intent.EXACT_MATCH and classification.operands
        literal = parsed.text if parsed.literal else classification.operands[0] if exact else None
        subject = literal or _subject(parsed, classification)
        translated = self._translated(parsed, classification, literal)
        lists_sites = literal is not None or classification.intent in (Intent.FIND_REFERENCES, Intent.IMPACT_ANALYSIS)
        return RetrievalQuery(
            text=parsed.text,
            classification=classification,
            terms=query_terms(
                subject,
                [snapshot.repository for snapshot in scope.snapshots],
                self._stop_words,
                [said for said in translated if said.word in subject],
            ),
            filters=parsed.filters,
            scope=scope,
            literal=literal,
            deadline_ms=self._settings.deadline_of(request.timeout_ms),
            every_match=lists_sites and request.dedupe is Dedupe.NONE,
            after=at.after if at else None,
            results=request.limit + (at.offset if at else 0),
            like=request.like,
            unlike=request.unlike,
            expression=parsed.expression,
            translated=translated,
        )

    def _translated(self, parsed: ParsedQuery, classification: Classification, literal: str | None) -> tuple[Translated, ...]:
        """The words of a question that are said in English, too; what is sure to be a name, a literal or code is none."""
        operands, intent = classification.operands, classification.intent
        is_named = bool(operands) and classification.confidence >= self._profiles.direct_confidence
        is_code = bool(operands) and intent is Intent.FIND_SIMILAR
        return () if literal is not None or is_named or is_code else self._glossaries.translate(parsed.text)

    async def _find(self, request: SearchRequest, plan: Plan, query: RetrievalQuery, started: float, progress: Progress) -> Found:
        """Follow the plan; a direct route that finds nothing goes on to fusion, which asks the modalities not asked yet."""
        if plan.strategy is not Strategy.DIRECT and not any(modality in self._retrievers for modality, _ in plan.modalities):
            names = " and ".join(modality for modality, _ in plan.modalities)
            raise QueryNotServable(f"{names} search is not configured", field="modalities" if request.modalities else "preset")
        fallback_from, intent, asked = None, query.classification.intent, plan.modalities[0][0]
        ended = plan.final or query.after is not None
        # What others can be asked for next is not waited for longer than usual.
        alone = plan.strategy is not Strategy.DIRECT or ended
        gathered = await self._gather(plan, query, request, started, Gathered(), progress, patient=alone)
        is_unfound = plan.strategy is Strategy.DIRECT and not any(_found_exactly(ranked) for ranked in gathered.lists.values())
        topic = not request.modalities and is_topic(query.classification, gathered.lists.get(Modality.GRAPH))
        if not ended and (is_unfound or topic):
            fallback_from = plan.strategy if is_unfound else None
            intent = Intent.UNDERSTAND_CODE if topic else intent
            plan = fused(replace(query.classification, intent=intent), request.preset, self._profiles)
            gathered = await self._gather(plan, query, request, started, gathered, progress, patient=True)
        ranked = await self._rank(plan, query, gathered, intent)
        if is_rescored(request, plan, intent):
            rescored = await _in_time(self._rescore(query, ranked), None, _left(query, started))
            candidates = ranked if rescored is None else rescored
            return Found(plan, gathered, candidates, asked, fallback_from, is_rescored=rescored is not None, is_late=rescored is None)
        return Found(plan, gathered, ranked, asked, fallback_from)

    async def _gather(
        self,
        plan: Plan,
        query: RetrievalQuery,
        request: SearchRequest,
        started: float,
        earlier: Gathered,
        progress: Progress,
        *,
        patient: bool,
    ) -> Gathered:
        asked = {*earlier.lists, *(degradation.modality for degradation in earlier.degraded)}
        retrievers = [self._retrievers[m] for m, _ in plan.modalities if m in self._retrievers and m not in asked]
        if not query.scope.snapshots or not retrievers:
            return earlier
        left = int(query.deadline_ms * (1 - KEPT_TO_PRESENT)) - int((perf_counter() - started) * 1_000)
        # A caller who names a time has it; by default one slow retriever leaves time for the rest.
        most = query.deadline_ms if request.timeout_ms else self._settings.retriever_deadline_ms
        timed = replace(query, deadline_ms=max(1, min(left, most)))
        gathered = await gather(
            retrievers,
            timed,
            self._on_degraded,
            progress,
            left if patient and not any(ranked.files for ranked in earlier.lists.values()) else 0,
        )
        return gathered.with_earlier(earlier)

    async def _rank(self, plan: Plan, query: RetrievalQuery, gathered: Gathered, intent: Intent) -> list[Candidate]:
        if plan.strategy is Strategy.WEIGHTED_RRF:
            blended = weighted_rrf(gathered.lists, plan, single=query.terms.single)
            candidates = await self._boosted(query.scope, blended, self._profiles.boost)
        else:
            ((modality, weight),) = plan.modalities
            ranked = gathered.lists.get(modality)
            candidates = in_list_order(ranked, weight) if ranked else []
            if modality is Modality.STRUCTURAL:
                candidates = await self._boosted(query.scope, candidates, self._profiles.boost.among_equals())
        return demote(candidates, query.text, intent, query.filters, self._profiles.demotion)

    async def _boosted(self, scope: Scope, candidates: Sequence[Candidate], profile: BoostProfile) -> list[Candidate]:
        depth = self._profiles.depth_boosted
        first = candidates[:depth]
        shown = [(candidate.key, candidate.chunks[0].chunk_id) for candidate in first if candidate.chunks]
        centralities = await self._chunks.centralities(scope, shown) if shown else {}
        # What is boosted only rises, so that none of the others can come before it.
        return [*boost(first, centralities, profile), *candidates[depth:]]

    async def _rescore(self, query: RetrievalQuery, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Twice: what stands near the best hits is only known when there are best hits. Then the best of each file's variants first."""
        single, depth = query.terms.single, self._profiles.depth_rescored
        rescored = rescore(candidates, single, self._profiles)
        if len(rescored) < 2:
            return rescored
        best = rescored[:BEST_HITS]
        links = await self._chunks.links(query.scope, best, rescored[:depth])
        if links:
            rescored = rescore(mark_neighbours(candidates, best, links), single, self._profiles)
        twins = possible_twins(rescored)
        return demote_twins(rescored, await self._chunks.defined_names(twins), self._profiles.demotion.variant) if twins else rescored

    async def _texts(self, request: SearchRequest, scope: Scope, candidates: Sequence[Candidate]) -> Mapping[tuple[int, int], str]:
        """The text of every chunk that could be shown, for finding copies; nothing when copies do not matter."""
        if request.dedupe is not Dedupe.CONTENT:
            return {}
        places = [(candidate.key.repository_id, candidate.chunks[0].chunk_id) for candidate in candidates if candidate.chunks]
        if not places:
            return {}
        return {place: chunk.text for place, chunk in (await self._chunks.load(scope, places)).texts.items()}


def _left(query: RetrievalQuery, started: float) -> float:
    """The seconds until the deadline."""
    return max(LEAST_TO_PRESENT, query.deadline_ms / 1_000 - (perf_counter() - started))


async def _in_time(work: Awaitable[T], otherwise: U, seconds: float) -> T | U:
    """What comes of ``work``, or something else when it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        return otherwise


def _subject(parsed: ParsedQuery, classification: Classification) -> str:
    """What the question is about: "who calls X" says what to do, and X what to look for."""
    names_symbol = classification.intent in (Intent.FIND_DEFINITION, Intent.FIND_REFERENCES, Intent.IMPACT_ANALYSIS)
    return classification.operands[0] if names_symbol and len(classification.operands) == 1 else parsed.text


def _found_exactly(ranked: RankedList) -> bool:
    """Similar names are no answer yet: the right name may stand in a text."""
    chunks = [chunk for file in ranked.files for chunk in file.chunks]
    return any(not chunk.evidence or not all(evidence.fuzzy for evidence in chunk.evidence) for chunk in chunks)
