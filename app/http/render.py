"""From the domain's answers to the shapes on the wire; nothing is computed here."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, fields
from enum import Enum
from typing import Any, Literal

from app.domain.chunk_id import format_chunk_id
from app.domain.index import Job, Priority, Ref, Repository, RepositorySource
from app.domain.left_out import LeftOut
from app.domain.query import Filters, RetrievalQuery, Scope, Strategy
from app.domain.ranking import Degradation, Evidence, ModalityRun, RankedList, Routing, SearchAnswer, SearchResult, SymbolSummary
from app.http.schemas import repository as repositories
from app.http.schemas import search_answer as shapes
from app.http.schemas.search_stream import StreamedFile, StreamedList


def answer(found: SearchAnswer) -> shapes.AnswerShape:
    kind = score_kind(found.routing)
    return shapes.AnswerShape(
        query=found.query,
        parsed_query=shapes.ParsedQuery(text=found.text, expression=found.expression, filters=set_filters(found.filters)),
        routing=routing(found.routing),
        results=[_result(result, kind) for result in found.results],
        total=shapes.TotalShape(
            results=found.total.results, lines=found.total.lines, relation="exact" if found.total.exact else "lower_bound"
        ),
        relevance=found.relevance,
        partial=found.partial,
        next_cursor=found.next_cursor,
        index=index(found.scope),
        coverage=_coverage(found.scope),
        absence=found.absence,
        warnings=[shapes.WarningShape(code=notice.code, message=notice.message) for notice in found.warnings],
        took_ms=_milliseconds(found.took_ms),
    )


def routing(taken: Routing) -> shapes.RoutingShape:
    return shapes.RoutingShape(**_routing_fields(taken), modalities=[_run(run) for run in taken.modalities])


def classification(planned: Routing) -> shapes.ClassifyAnswer:
    """The route that would be taken: nothing has run, so there are no hits and no times."""
    modalities = [shapes.ModalityShape(name=run.modality, weight=run.weight, hits=None, took_ms=None) for run in planned.modalities]
    return shapes.ClassifyAnswer(**_routing_fields(planned), modalities=modalities)


def streamed_list(outcome: RankedList | Degradation, query: RetrievalQuery) -> StreamedList:
    """One retriever's list, as long as the page that was asked for."""
    if isinstance(outcome, Degradation):
        return StreamedList(modality=outcome.modality, degraded=outcome.reason, hits=0, complete=False, took_ms=0.0, files=[])
    names = {snapshot.repository_id: snapshot.repository for snapshot in query.scope.snapshots}
    return StreamedList(
        modality=outcome.modality,
        degraded=None,
        hits=len(outcome.files),
        complete=outcome.complete,
        took_ms=_milliseconds(outcome.took_ms),
        files=[
            StreamedFile(
                repository=names[file.key.repository_id],
                path=file.key.path,
                chunk_id=format_chunk_id(file.key.repository_id, file.chunks[0].chunk_id) if file.chunks else None,
                score=file.score,
            )
            for file in outcome.files[: query.results]
        ],
    )


def repository(stored: Repository) -> repositories.RepositoryShape:
    coverage = stored.coverage
    return repositories.RepositoryShape(
        name=stored.name,
        source=_source(stored.source),
        refs=[_ref(ref, stored) for ref in stored.refs],
        source_error=stored.source_error,
        include=list(stored.source.include),
        exclude=list(stored.source.exclude),
        respect_ignore=stored.source.respect_ignore,
        status=_status(stored),
        generation=stored.generation,
        revision=stored.revision,
        known_revision=stored.known_revision,
        stale=stored.stale,
        created_at=stored.created_at,
        indexed_at=stored.indexed_at,
        coverage=repositories.RepositoryCoverage(
            files=coverage.files,
            skipped=coverage.skipped,
            embeddings_pending=coverage.embeddings_pending,
            embeddings_failed=coverage.embeddings_failed,
            embeddings_withheld=coverage.embeddings_withheld,
            by_outcome=dict(coverage.by_outcome),
            by_reason=dict(coverage.by_reason),
            by_language=dict(coverage.by_language),
            left_out=left_out(coverage.left_out),
            notices=list(coverage.notices) if stored.generation else [],
        ),
    )


def left_out(found: LeftOut) -> repositories.LeftOutShape:
    return repositories.LeftOutShape(
        ignored_files=found.ignored_files,
        ignored_folders=found.ignored_folders,
        ignore_rules=[repositories.IgnoreRuleShape(**asdict(rule)) for rule in found.ignore_rules],
        excluded=found.excluded,
        unmatched_include=list(found.unmatched_include),
    )


def _source(source: RepositorySource) -> repositories.SourceShape:
    return repositories.SourceShape(
        kind=source.kind,
        path=source.path or None,
        url=source.url,
        refs=list(source.refs),
        credential=source.credential,
        submodules=source.submodules,
        poll_seconds=source.poll_seconds,
    )


def _ref(ref: Ref, stored: Repository) -> repositories.RefShape:
    return repositories.RefShape(
        name=ref.short_name,
        kind=ref.kind,
        is_default=ref.is_default,
        generation=ref.generation,
        revision=ref.revision,
        known_revision=ref.known_revision,
        stale=ref.generation is not None and ((ref.known_revision or ref.revision) != ref.revision or stored.reconfigured),
        indexed_at=ref.indexed_at,
    )


def job(run: Job) -> repositories.JobShape:
    return repositories.JobShape(**_job_fields(run))


def accepted(run: Job, *, joined: bool) -> repositories.JobAccepted:
    return repositories.JobAccepted(**_job_fields(run), joined=joined)


def score_kind(taken: Routing) -> str:
    """Whose score the results carry: one retriever's own where its order was kept."""
    if taken.strategy is not Strategy.WEIGHTED_RRF and taken.modalities:
        return taken.modalities[0].modality.value
    return "rescoring" if taken.rescored else "fusion"


def set_filters(filters: Filters) -> dict[str, Any]:
    """The filters that differ from their default."""
    pairs = ((item.name, getattr(filters, item.name)) for item in fields(filters))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in pairs if value != getattr(Filters(), name)}


def _routing_fields(taken: Routing) -> dict[str, Any]:
    read = taken.classification
    return {
        "intent": read.intent,
        "confidence": read.confidence,
        "rule": read.rule,
        "operands": list(read.operands),
        "operand_missing": read.operand_missing,
        "relation": read.relation,
        "outgoing": read.outgoing,
        "fusion_strategy": taken.strategy,
        "fallback_from": taken.fallback_from,
        "rescored": taken.rescored,
        "preset": taken.preset,
        "degraded": [shapes.DegradedShape(modality=entry.modality, reason=entry.reason) for entry in taken.degraded],
        "unavailable": list(taken.unavailable),
    }


def _run(run: ModalityRun) -> shapes.ModalityShape:
    return shapes.ModalityShape(name=run.modality, weight=run.weight, hits=run.hits, took_ms=_milliseconds(run.took_ms))


def _result(result: SearchResult, kind: str) -> shapes.ResultShape:
    return shapes.ResultShape(
        chunk_id=result.chunk_id,
        repository=result.repository,
        revision=result.revision,
        path=result.path,
        language=result.language,
        path_class=result.path_class,
        start_line=result.start_line,
        end_line=result.end_line,
        symbol=None if result.symbol is None else _symbol(result.symbol),
        snippet=result.snippet,
        snippet_start_line=result.snippet_start_line,
        snippet_truncated=result.snippet_truncated,
        permalink=result.permalink,
        highlights=[shapes.HighlightShape(line=mark.line, start=mark.start, end=mark.end) for mark in result.highlights],
        score=result.score,
        score_kind=kind,
        evidence=[_evidence(entry) for entry in result.evidence],
        more_in_file=[shapes.SpanShape(start_line=span.start_line, end_line=span.end_line) for span in result.more_in_file],
        copies=[shapes.CopyShape(repository=copy.repository, path=copy.path) for copy in result.copies],
        explanation=result.explanation,
    )


def _symbol(symbol: SymbolSummary) -> shapes.SymbolShape:
    return shapes.SymbolShape(
        id=symbol.id,
        name=symbol.name,
        kind=symbol.kind,
        signature=symbol.signature,
        qualified=symbol.qualified,
        start_line=symbol.start_line,
        end_line=symbol.end_line,
    )


def _evidence(entry: Evidence) -> shapes.EvidenceShape:
    return shapes.EvidenceShape(
        modality=entry.modality,
        relation=entry.relation,
        edge_class=entry.edge_class,
        line=entry.line,
        distance=entry.distance,
        score=entry.score,
        symbol=entry.symbol,
        fuzzy=entry.fuzzy,
        via=list(entry.via),
    )


def index(scope: Scope) -> list[shapes.IndexShape]:
    """The snapshots that an answer was read from."""
    return [
        shapes.IndexShape(
            repository=snapshot.repository,
            revision=snapshot.revision,
            generation=snapshot.generation,
            indexed_at=snapshot.indexed_at,
            stale=snapshot.stale,
        )
        for snapshot in scope.snapshots
    ]


def _coverage(scope: Scope) -> shapes.CoverageShape:
    by_outcome: Counter[str] = Counter()
    for snapshot in scope.snapshots:
        by_outcome.update(snapshot.files_by_outcome)
    return shapes.CoverageShape(
        files=sum(snapshot.files for snapshot in scope.snapshots),
        skipped=sum(snapshot.skipped for snapshot in scope.snapshots),
        embeddings_pending=sum(snapshot.embeddings_pending for snapshot in scope.snapshots),
        embeddings_failed=sum(snapshot.embeddings_failed for snapshot in scope.snapshots),
        embeddings_withheld=sum(snapshot.embeddings_withheld for snapshot in scope.snapshots),
        by_outcome={key.value if isinstance(key, Enum) else str(key): count for key, count in by_outcome.items()},
    )


def _status(stored: Repository) -> Literal["not_indexed", "indexed", "stale"]:
    if stored.generation == 0:
        return "not_indexed"
    return "stale" if stored.stale else "indexed"


def _job_fields(run: Job) -> dict[str, Any]:
    fields_of_job = {item.name: getattr(run, item.name) for item in fields(run)}
    return fields_of_job | {"result": dict(run.result), "priority": Priority(run.priority).name.lower()}


def _milliseconds(value: float) -> float:
    return round(value, 2)
