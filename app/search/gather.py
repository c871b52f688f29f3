"""Runs the retrievers at the same time, each within its own deadline; one that fails is told about, the others still answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import structlog

from app.domain.errors import FourfoldError, InvalidRequest, QueryNotServable, StoreUnavailable
from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import Degradation, RankedList
from app.ports import Retriever
from app.search.progress import SILENT, Progress

OnDegraded = Callable[[Degradation], None]

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The lists that arrived, and the retrievers that did not answer."""

    lists: Mapping[Modality, RankedList] = field(default_factory=dict)
    degraded: tuple[Degradation, ...] = ()

    def with_earlier(self, earlier: Gathered) -> Gathered:
        return Gathered({**earlier.lists, **self.lists}, earlier.degraded + self.degraded)


async def gather(retrievers: Sequence[Retriever], query: RetrievalQuery, on_degraded: OnDegraded, progress: Progress = SILENT) -> Gathered:
    """Ask all ``retrievers``; ``query.deadline_ms`` bounds each of them. ``progress`` learns of each list when it arrives.

    Raises InvalidRequest and QueryNotServable as soon as a retriever does, and StoreUnavailable when that is why all failed.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_told(retriever, query, progress)) for retriever in retrievers]
    except* (InvalidRequest, QueryNotServable) as refusals:
        refusal = refusals.exceptions[0]
    else:
        return _collect([task.result() for task in tasks], on_degraded)
    raise refusal


def _collect(outcomes: Sequence[RankedList | Degradation], on_degraded: OnDegraded) -> Gathered:
    lists = {outcome.modality: outcome for outcome in outcomes if isinstance(outcome, RankedList)}
    degraded = tuple(outcome for outcome in outcomes if isinstance(outcome, Degradation))
    for degradation in degraded:
        on_degraded(degradation)
    if degraded and not lists and all(degradation.reason == StoreUnavailable.code for degradation in degraded):
        raise StoreUnavailable(retry_after=1)
    return Gathered(lists, degraded)


async def _told(retriever: Retriever, query: RetrievalQuery, progress: Progress) -> RankedList | Degradation:
    outcome = await _run(retriever, query)
    progress.answered(outcome, query)
    return outcome


async def _run(retriever: Retriever, query: RetrievalQuery) -> RankedList | Degradation:
    started = perf_counter()
    try:
        async with asyncio.timeout(query.deadline_ms / 1_000):
            ranked = await retriever.retrieve(query)
    except (InvalidRequest, QueryNotServable):
        raise
    except TimeoutError:
        _log.warning("retriever_timeout", modality=retriever.modality.value, deadline_ms=query.deadline_ms)
        return Degradation(retriever.modality, "timeout")
    except FourfoldError as error:
        _log.warning("retriever_failed", modality=retriever.modality.value, reason=error.code, message=error.message)
        return Degradation(retriever.modality, error.code)
    except Exception:  # noqa: BLE001  a fault in one retriever must not take the answers of the others away
        _log.exception("retriever_failed", modality=retriever.modality.value, reason="internal")
        return Degradation(retriever.modality, "internal")
    return replace(ranked, took_ms=(perf_counter() - started) * 1_000)
