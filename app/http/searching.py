"""One search of an HTTP call: checked, admitted, counted; shared by the routes that search."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from app.domain.errors import FourfoldError, InvalidRequest, NotIndexed, Overloaded, RepositoryNotFound, ScopeNotFound
from app.domain.query import SearchRequest
from app.domain.ranking import SearchAnswer
from app.http.call import Call
from app.observability import metrics
from app.search.progress import SILENT, Progress

READING_SECONDS: Final = 1.0
"""The deadline of a search is one for finding; so much more may go by over reading what was found."""


@contextmanager
def by_parameters() -> Iterator[None]:
    """What goes wrong inside is told with the names that a search has as a query string: ``q``, and filters without ``filters.``."""
    try:
        yield
    except FourfoldError as error:
        if error.field is not None:
            error.field = "q" if error.field == "query" else error.field.removeprefix("filters.")
        raise


def checked(asked: SearchRequest, call: Call) -> SearchRequest:
    """A request that asks for something, in time. Raises InvalidRequest."""
    if not asked.query and not asked.like:
        raise InvalidRequest("the query is missing or empty", field="query")
    most = call.settings.search.max_deadline_ms
    if asked.timeout_ms is not None and asked.timeout_ms > most:
        raise InvalidRequest(f"at most {most} milliseconds are allowed", field="timeout_ms")
    return asked


async def searched(asked: SearchRequest, call: Call, progress: Progress = SILENT) -> SearchAnswer:
    """The answer, counted in the metrics; whoever calls holds a place. Raises what a search raises, with the field to blame."""
    try:
        async with asyncio.timeout(call.settings.search.deadline_of(asked.timeout_ms) / 1_000 + READING_SECONDS):
            found = await call.service.search.search(asked, progress)
    except TimeoutError:
        raise Overloaded("the store is too slow at the moment to read the results", retry_after=1) from None
    except (RepositoryNotFound, NotIndexed) as error:
        error.field = error.field or "repositories"
        raise
    except ScopeNotFound as error:
        error.field = "scope"
        raise
    metrics.observe_search(found)
    return found


def log_fields(asked: SearchRequest, found: SearchAnswer) -> dict[str, object]:
    """What the log line of a search tells beside the rest; never the question itself."""
    routing = found.routing
    return {
        "query_length": len(asked.query),
        "intent": routing.classification.intent.value,
        "strategy": routing.strategy.value,
        "results": len(found.results),
        "in_english": found.in_english,
    }
