"""Every metric of the service in one table, and the functions that observe them.

No label takes its values from callers: no repository, path or query. ``serve`` runs API and worker as two processes whose numbers meet
in the files of ``PROMETHEUS_MULTIPROC_DIR``, which must be set before this module is imported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from app.domain.query import Modality
from app.domain.ranking import SearchAnswer

MULTIPROCESS_DIR: Final = "PROMETHEUS_MULTIPROC_DIR"

_REQUEST_BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_STAGE_BUCKETS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1_800.0)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """One row of the table. ``buckets`` are upper bounds in seconds, for histograms alone."""

    name: str
    type: Literal["counter", "gauge", "histogram"]
    labels: tuple[str, ...]
    help: str
    buckets: tuple[float, ...] = ()


METRICS: Final = (
    MetricDefinition("fourfold_http_requests_total", "counter", ("route", "method", "status"), "HTTP requests answered."),
    MetricDefinition("fourfold_http_request_seconds", "histogram", ("route",), "Time to answer an HTTP request.", _REQUEST_BUCKETS),
    MetricDefinition(
        "fourfold_search_seconds", "histogram", ("preset", "intent", "strategy"), "Time to answer a search.", _REQUEST_BUCKETS
    ),
    MetricDefinition(
        "fourfold_retriever_seconds",
        "histogram",
        ("modality", "outcome"),
        "Time a retriever took within a search; outcome is ok, timeout or error.",
        _REQUEST_BUCKETS,
    ),
    MetricDefinition(
        "fourfold_ranking_reads_total",
        "counter",
        ("kind", "source"),
        "Centralities, links, names and postings for a ranking, read in memory or the database.",
    ),
    MetricDefinition("fourfold_searches_empty_total", "counter", ("intent",), "Searches that found nothing."),
    MetricDefinition(
        "fourfold_searches_in_english_total", "counter", (), "Searches for words of another language that were looked for in English, too."
    ),
    MetricDefinition(
        "fourfold_searches_admitted_total", "counter", ("outcome",), "Searches by outcome of admission: admitted or rejected."
    ),
    MetricDefinition("fourfold_searches_active", "gauge", (), "Searches being answered now."),
    MetricDefinition(
        "fourfold_calls_refused_total", "counter", ("place",), "Other calls that found no place: lookups, waiting or uploads."
    ),
    MetricDefinition(
        "fourfold_early_requests_total",
        "counter",
        (),
        "Requests of clients that found no place before and asked again earlier than Retry-After: kept until then, and refused.",
    ),
    MetricDefinition(
        "fourfold_connections_ended_total",
        "counter",
        ("reason",),
        "Connections that the service ended: full, idle, slow_head, large_head, malformed, pipelined or slow_reader.",
    ),
    MetricDefinition("fourfold_graph_seconds", "histogram", ("operation",), "Time to answer about a symbol or a change.", _REQUEST_BUCKETS),
    MetricDefinition("fourfold_impacts_truncated_total", "counter", ("reason",), "Impacts that were cut: depth, breadth or names."),
    MetricDefinition("fourfold_index_stage_seconds", "histogram", ("stage",), "Time a stage of an index run took.", _STAGE_BUCKETS),
    MetricDefinition("fourfold_index_files_total", "counter", ("language", "outcome"), "Files handled by index runs."),
    MetricDefinition("fourfold_parse_failures_total", "counter", ("reason",), "Files that could not be parsed and are searchable as text."),
    MetricDefinition("fourfold_embeddings_total", "counter", ("outcome",), "Chunks embedded: computed, cached, failed or withheld."),
    MetricDefinition("fourfold_source_looks_total", "counter", ("outcome",), "Looks at sources: current, moved or failed."),
    MetricDefinition(
        "fourfold_refused_total", "counter", ("problem",), "Requests not let in: not_authenticated, not_allowed or too_many_requests."
    ),
    MetricDefinition("fourfold_audit_failures_total", "counter", (), "Entries of the audit log that the store did not take."),
    MetricDefinition(
        "fourfold_store_failures_total",
        "counter",
        ("reason",),
        "Statements that the database did not answer: unreachable, lost, no_connection, timeout, conflict or no_room.",
    ),
    MetricDefinition("fourfold_jobs_total", "counter", ("state",), "Index jobs that reached a state."),
    MetricDefinition(
        "fourfold_removed_total",
        "counter",
        ("kind",),
        "Removed as no longer shown or out of time: generation, file, library, job, blob, audit, copy, vector, vector_set, cached_vector.",
    ),
    MetricDefinition("fourfold_sweeps_total", "counter", ("outcome",), "Sweeps of replaced content: done, or gave_way to a job."),
)

disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series per counter that nobody asks for

_Instrument = Counter | Gauge | Histogram
_registry: Final = CollectorRegistry()


def _build(definition: MetricDefinition) -> _Instrument:
    match definition.type:
        case "counter":
            return Counter(definition.name, definition.help, definition.labels, registry=_registry)
        case "gauge":
            return Gauge(definition.name, definition.help, definition.labels, registry=_registry, multiprocess_mode="livesum")
        case "histogram":
            return Histogram(definition.name, definition.help, definition.labels, registry=_registry, buckets=definition.buckets)


_instruments: Final[Mapping[str, _Instrument]] = {definition.name: _build(definition) for definition in METRICS}


def render() -> tuple[bytes, str]:
    """The metrics in Prometheus' text format, of every process that shares them, and the content type."""
    if os.environ.get(MULTIPROCESS_DIR):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry), CONTENT_TYPE_LATEST
    return generate_latest(_registry), CONTENT_TYPE_LATEST


def observe_request(route: str, method: str, status: int, seconds: float) -> None:
    """``route`` is the template of the matched route, never the path itself."""
    _counter("fourfold_http_requests_total").labels(route, method, str(status)).inc()
    _histogram("fourfold_http_request_seconds").labels(route).observe(seconds)


def observe_search(answer: SearchAnswer) -> None:
    """The durations that an answer tells about itself. A retriever that failed is observed with the time of the whole answer."""
    routing = answer.routing
    intent = routing.classification.intent.value
    _histogram("fourfold_search_seconds").labels(routing.preset.value, intent, routing.strategy.value).observe(answer.took_ms / 1_000)
    if not answer.results:
        _counter("fourfold_searches_empty_total").labels(intent).inc()
    if answer.in_english:
        _counter("fourfold_searches_in_english_total").inc()
    degraded = {degradation.modality: degradation for degradation in routing.degraded}
    for run in routing.modalities:
        if run.modality not in degraded and run.took_ms > 0:
            _observe_retriever(run.modality, "ok", run.took_ms)
    for degradation in routing.degraded:
        _observe_retriever(degradation.modality, "timeout" if degradation.reason == "timeout" else "error", answer.took_ms)


def _observe_retriever(modality: Modality, outcome: str, milliseconds: float) -> None:
    _histogram("fourfold_retriever_seconds").labels(modality.value, outcome).observe(milliseconds / 1_000)


def count_refused(problem: str) -> None:
    """``problem`` is the code of the refusal."""
    _counter("fourfold_refused_total").labels(problem).inc()


def count_ranking_reads(kind: Literal["centralities", "links", "names", "postings"], *, in_memory: bool) -> None:
    _counter("fourfold_ranking_reads_total").labels(kind, "memory" if in_memory else "database").inc()


def count_store_failure(reason: str) -> None:
    _counter("fourfold_store_failures_total").labels(reason).inc()


def count_audit_failure() -> None:
    _counter("fourfold_audit_failures_total").inc()


def observe_admission(*, admitted: bool) -> None:
    _counter("fourfold_searches_admitted_total").labels("admitted" if admitted else "rejected").inc()


def active_searches(change: int) -> None:
    """Add +1 when a search begins and -1 when it ends."""
    gauge = _instruments["fourfold_searches_active"]
    cast(Gauge, gauge).inc(change)


def count_refused_call(place: str) -> None:
    _counter("fourfold_calls_refused_total").labels(place).inc()


def count_early_request() -> None:
    _counter("fourfold_early_requests_total").inc()


def count_ended_connection(reason: str) -> None:
    _counter("fourfold_connections_ended_total").labels(reason).inc()


def observe_graph(operation: str, milliseconds: float, truncated: Iterable[str] = ()) -> None:
    """``operation`` is the last part of the route's name, never an id; ``truncated`` tells what an impact left out."""
    _histogram("fourfold_graph_seconds").labels(operation).observe(milliseconds / 1_000)
    for reason in truncated:
        _counter("fourfold_impacts_truncated_total").labels(reason).inc()


def observe_stage(stage: str, seconds: float) -> None:
    _histogram("fourfold_index_stage_seconds").labels(stage).observe(seconds)


def count_files(language: str | None, outcome: str, amount: int = 1) -> None:
    """``language`` is one of the registry's names, None for a file in no known language."""
    _counter("fourfold_index_files_total").labels(language or "none", outcome).inc(amount)


def count_parse_failures(reason: str, amount: int = 1) -> None:
    _counter("fourfold_parse_failures_total").labels(reason).inc(amount)


def count_embeddings(outcome: Literal["computed", "cached", "failed", "withheld"], amount: int = 1) -> None:
    _counter("fourfold_embeddings_total").labels(outcome).inc(amount)


def count_source(outcome: Literal["current", "moved", "failed"]) -> None:
    _counter("fourfold_source_looks_total").labels(outcome).inc()


def count_job(state: str) -> None:
    _counter("fourfold_jobs_total").labels(state).inc()


def count_removed(kind: str, amount: int) -> None:
    if amount:
        _counter("fourfold_removed_total").labels(kind).inc(amount)


def count_sweep(outcome: Literal["done", "gave_way"]) -> None:
    _counter("fourfold_sweeps_total").labels(outcome).inc()


def _counter(name: str) -> Counter:
    return cast(Counter, _instruments[name])


def _histogram(name: str) -> Histogram:
    return cast(Histogram, _instruments[name])
