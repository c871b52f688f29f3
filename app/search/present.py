"""From entries to results as shown: chunk text, snippet, highlights, the lines of what else was found in the file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf
from time import monotonic
from typing import Final

from app.domain.chunk_id import format_chunk_id
from app.domain.permalink import permalink
from app.domain.query import Modality, RetrievalQuery, SearchRequest
from app.domain.ranking import ChunkText, Evidence, FileCopy, Highlight, LineSpan, LoadedChunks, SearchResult
from app.ports import ChunkStore
from app.search.dedupe import Entry
from app.search.explain import explain
from app.search.highlight import cost_of_marking, highlights, snippet
from app.search.profiles import Feature
from app.search.route import Plan

_TEXT_RELATIONS = ("literal", "pattern", "expression")
_ENVELOPE_BYTES = 2_000  # the answer around its results: routing, index, coverage


_NOTHING: Final = LoadedChunks({}, {})

_WORK_IN_PLACE: Final = 50_000_000
"""Instructions × bytes of a page: some milliseconds; more is done in a thread, where RE2 lets the event loop go on."""

_WORK_OF_MARKS: Final = 2_000_000
"""In the same measure, of a chunk in which a pattern matches at every character: each match is an object of Python."""

_BYTES_OF_A_MARK: Final = 40

_LARGEST_WORK: Final = 1_000_000_000
"""Of one result: some 0.2 seconds. Only a huge line under a large pattern costs more."""


@dataclass(frozen=True, slots=True)
class Presented:
    """One result per entry, None where the store no longer has the chunk; fewer where ``max_bytes`` is reached.

    ``unmarked``: in some of them nothing is highlighted, for lack of time.
    """

    results: Sequence[SearchResult | None]
    unmarked: bool


async def present(
    entries: Sequence[Entry],
    store: ChunkStore,
    query: RetrievalQuery,
    request: SearchRequest,
    plan: Plan,
    features: tuple[Feature, ...],
    seconds: float = inf,
) -> Presented:
    """The entries of a page as they are shown; after so many ``seconds`` nothing more is highlighted."""
    give_up = monotonic() + seconds
    shown = [(entry.candidate.key.repository_id, entry.chunk.chunk_id) for entry in entries]
    others = [(entry.candidate.key.repository_id, chunk.chunk_id) for entry in entries for chunk in entry.others]
    chunks, spans = await store.load(query.scope, shown, _found_definitions(entries), query.filters.kinds, others) if shown else _NOTHING
    size = cost_of_marking(query)

    def make() -> Presented:
        results, unmarked = [], False
        for entry in entries:
            chunk = chunks.get((entry.candidate.key.repository_id, entry.chunk.chunk_id))
            is_marked = chunk is None or (monotonic() < give_up and len(chunk.text) * size <= _LARGEST_WORK)
            unmarked |= not is_marked
            marks = highlights(chunk, query, entry.chunk.evidence) if chunk is not None and is_marked else ()
            results.append(None if chunk is None else _result(entry, chunk, marks, spans, query, request, plan, features))
        return Presented(results if request.max_bytes is None else _within(results, request.max_bytes), unmarked)

    work = size * sum(len(chunk.text) for chunk in chunks.values()) + (_WORK_OF_MARKS * len(entries) if size > 1 else 0)
    return make() if work <= _WORK_IN_PLACE else await asyncio.to_thread(make)


def _found_definitions(entries: Sequence[Entry]) -> dict[tuple[int, int], str]:
    """The qualified name of the definition that each shown chunk was found for: what is defined there, or who calls from there."""
    found: dict[tuple[int, int], str] = {}
    for entry in entries:
        name = next((item.symbol for item in entry.chunk.evidence if item.symbol is not None), None)
        if name is not None:
            found[entry.candidate.key.repository_id, entry.chunk.chunk_id] = name
    return found


def _result(
    entry: Entry,
    chunk: ChunkText,
    marks: tuple[Highlight, ...],
    spans: Mapping[tuple[int, int], LineSpan],
    query: RetrievalQuery,
    request: SearchRequest,
    plan: Plan,
    features: tuple[Feature, ...],
) -> SearchResult:
    candidate, key = entry.candidate, entry.candidate.key
    names = {snapshot.repository_id: snapshot.repository for snapshot in query.scope.snapshots}
    snapshot = next(snapshot for snapshot in query.scope.snapshots if snapshot.repository_id == key.repository_id)
    shown = snippet(chunk, marks, entry.chunk.evidence, request.snippet_lines)
    others = [spans[place] for other in entry.others if (place := (key.repository_id, other.chunk_id)) in spans]
    # A call site in another chunk of the file is a find of its own; its line must not get lost with the chunk.
    sites = tuple(item for other in entry.others for item in other.evidence if item.modality is Modality.GRAPH)
    return SearchResult(
        chunk_id=format_chunk_id(chunk.repository_id, chunk.chunk_id),
        repository=snapshot.repository,
        revision=snapshot.revision,
        path=key.path,
        language=candidate.language,
        path_class=candidate.path_class,
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        symbol=chunk.symbol,
        snippet=shown.text,
        snippet_start_line=shown.start_line,
        snippet_truncated=shown.truncated,
        permalink=permalink(snapshot, key.path, chunk.start_line, chunk.end_line),
        highlights=marks,
        score=candidate.score if candidate.rescored is None else candidate.rescored,
        evidence=tuple(_with_line(item, marks) for item in entry.chunk.evidence) + sites,
        more_in_file=tuple(sorted(others, key=lambda span: span.start_line)),
        copies=tuple(FileCopy(names[copy.repository_id], copy.path) for copy in entry.copies),
        explanation=explain(entry, plan, query.terms.single, features) if request.explain else None,
    )


def _with_line(evidence: Evidence, marks: Sequence[Highlight]) -> Evidence:
    """A match of a text stands where the first highlight does, if it does not say otherwise."""
    if evidence.line is not None or evidence.relation not in _TEXT_RELATIONS or not marks:
        return evidence
    return evidence._replace(line=marks[0].line)


def _within(results: Sequence[SearchResult | None], most_bytes: int) -> list[SearchResult | None]:
    """As many results as fit, but at least one, cut if need be: the next page goes on where this one ends."""
    left = most_bytes - _ENVELOPE_BYTES
    shown: list[SearchResult | None] = []
    for result in results:
        left -= _size(result)
        if left < 0 and shown:
            break
        shown.append(result if left >= 0 or result is None else _cut(result, most_bytes - _ENVELOPE_BYTES))
    return shown


def _cut(result: SearchResult, most_bytes: int) -> SearchResult:
    while _size(result) > most_bytes and result.snippet:
        result = replace(result, snippet=result.snippet[: len(result.snippet) // 2], snippet_truncated=True)
    return result


def _size(result: SearchResult | None) -> int:
    if result is None:
        return 0
    evidence = [item._asdict() for item in result.evidence]
    plain = asdict(replace(result, evidence=(), highlights=()))
    return len(json.dumps({**plain, "evidence": evidence}).encode()) + _BYTES_OF_A_MARK * len(result.highlights)
