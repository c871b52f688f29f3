"""Runs the retrievers at the same time, each within its own deadline; one that fails is told about, the others still answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TypeAlias

import structlog

from app.domain.errors import FourfoldError, InvalidRequest, QueryNotServable, StoreBusy, StoreUnavailable
from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import Degradation, RankedList
from app.ports import Retriever
from app.search.progress import SILENT, Progress

OnDegraded = Callable[[Degradation], None]
Outcome: TypeAlias = "asyncio.Task[RankedList | Degradation]"

_STORE_FAILURES = {failure.code: failure for failure in (StoreUnavailable, StoreBusy)}

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The lists that arrived, and the retrievers that did not answer."""

    lists: Mapping[Modality, RankedList] = field(default_factory=dict)
    degraded: tuple[Degradation, ...] = ()

    def with_earlier(self, earlier: Gathered) -> Gathered:
        return Gathered({**earlier.lists, **self.lists}, earlier.degraded + self.degraded)


async def gather(
    retrievers: Sequence[Retriever], query: RetrievalQuery, on_degraded: OnDegraded, progress: Progress = SILENT, last_ms: int = 0
) -> Gathered:
    """Ask all ``retrievers``; ``query.deadline_ms`` bounds each of them. ``progress`` learns of each list when it arrives.

    While none has found anything, all go on until the first does or ``last_ms`` are over: a late answer is better than an empty one.
    Raises InvalidRequest and QueryNotServable as soon as a retriever does, and StoreUnavailable or StoreBusy when that is why all failed.
    """
    tasks = {asyncio.create_task(_told(retriever, query, progress)): retriever.modality for retriever in retrievers}
    try:
        late = await _until_due(set(tasks), query.deadline_ms / 1_000, last_ms / 1_000)
        outcomes = [_timed_out(tasks[task], query, progress) if task in late else task.result() for task in tasks]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return _collect(outcomes, on_degraded)


async def _until_due(waiting: set[Outcome], due: float, last: float) -> set[Outcome]:
    """Those that are late. Raises what a task raises."""
    started = perf_counter()
    found = False
    while waiting:
        left = (due if found else max(due, last)) - (perf_counter() - started)
        if left <= 0:
            break
        done, waiting = await asyncio.wait(waiting, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        found |= any(isinstance(outcome := task.result(), RankedList) and outcome.files for task in done)
    return waiting


def _collect(outcomes: Sequence[RankedList | Degradation], on_degraded: OnDegraded) -> Gathered:
    lists = {outcome.modality: outcome for outcome in outcomes if isinstance(outcome, RankedList)}
    degraded = tuple(outcome for outcome in outcomes if isinstance(outcome, Degradation))
    for degradation in degraded:
        on_degraded(degradation)
    if degraded and not lists and all(degradation.reason in _STORE_FAILURES for degradation in degraded):
        raise _STORE_FAILURES[degraded[0].reason](retry_after=1)
    return Gathered(lists, degraded)


def _timed_out(modality: Modality, query: RetrievalQuery, progress: Progress) -> Degradation:
    _log.warning("retriever_timeout", modality=modality.value, deadline_ms=query.deadline_ms)
    outcome = Degradation(modality, "timeout")
    progress.answered(outcome, query)
    return outcome


async def _told(retriever: Retriever, query: RetrievalQuery, progress: Progress) -> RankedList | Degradation:
    outcome = await _run(retriever, query)
    progress.answered(outcome, query)
    return outcome


async def _run(retriever: Retriever, query: RetrievalQuery) -> RankedList | Degradation:
    started = perf_counter()
    try:
        ranked = await retriever.retrieve(query)
    except (InvalidRequest, QueryNotServable):
        raise
    except TimeoutError:  # of the database or a provider
        _log.warning("retriever_failed", modality=retriever.modality.value, reason="timeout")
        return Degradation(retriever.modality, "timeout")
    except FourfoldError as error:
        _log.warning("retriever_failed", modality=retriever.modality.value, reason=error.code, message=error.message)
        return Degradation(retriever.modality, error.code)
    except Exception:  # noqa: BLE001  a fault in one retriever must not take the answers of the others away
        _log.exception("retriever_failed", modality=retriever.modality.value, reason="internal")
        return Degradation(retriever.modality, "internal")
    return replace(ranked, took_ms=(perf_counter() - started) * 1_000)
