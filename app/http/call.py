"""A call that reads the index: let in while there is a place, bounded in time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from fastapi.routing import APIRoute

from app.config import Settings
from app.domain.errors import NotIndexed, QueryNotServable, RepositoryNotFound, RevisionNotFound
from app.http.admission import Admission, Gates
from app.http.service import CurrentGates, CurrentService, CurrentSettings, Service

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """One request and the service that answers it."""

    request: Request
    service: Service
    settings: Settings
    gates: Gates

    @property
    def admission(self) -> Admission:
        """The places of calls that search."""
        return self.gates.searches

    async def answer(self, work: Callable[[Service], Awaitable[T]], field: str = "repository") -> T:
        """The result of ``work`` within the longest deadline of a search. ``field``: which one to blame for an unknown repository.

        Raises Overloaded, QueryNotServable when time runs out, and what ``work`` raises.
        """
        most_ms = self.settings.search.max_deadline_ms
        async with self.admission.place():
            try:
                async with asyncio.timeout(most_ms / 1_000):
                    return await work(self.service)
            except TimeoutError:
                raise QueryNotServable(f"the answer takes longer than {most_ms:,} ms") from None
            except (RepositoryNotFound, NotIndexed) as error:
                error.field = field
                raise
            except RevisionNotFound as error:
                error.field = "revision"
                raise


async def _call(request: Request, service: CurrentService, settings: CurrentSettings, gates: CurrentGates) -> Call:
    return Call(request, service, settings, gates)


CurrentCall = Annotated[Call, Depends(_call)]


def searches(route: APIRoute) -> bool:
    """Whether the route answers with a ``Call``, and so needs a place."""
    return any(dependency.call is _call for dependency in route.dependant.dependencies)
