"""What each call needs, and the one place where a request is let in: its key, the key's scope and share, whom it acts for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from enum import StrEnum
from typing import Final

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute
from starlette.types import Scope

from app.domain import access
from app.domain.access import ANYONE, FORGE, NOBODY, Caller, KeyScope
from app.domain.errors import NotAllowed, NotAuthenticated, TooManyRequests
from app.http.admission import Places
from app.http.audit import begin_entry
from app.http.limits import Limits
from app.http.service import Service
from app.observability import metrics

SCHEME: Final = "Bearer"


class Needs(StrEnum):
    """What a call asks of whoever sends it. ``SIGNED``: a forge's signature, which the call checks itself."""

    NOTHING = "nothing"
    SIGNED = "signed"
    SEARCH = "search"
    INDEX = "index"
    ADMIN = "admin"


NEEDS: Final[Mapping[str, Needs]] = {
    "search": Needs.SEARCH,
    "searchWithBody": Needs.SEARCH,
    "searchStream": Needs.SEARCH,
    "searchBatch": Needs.SEARCH,
    "classify": Needs.SEARCH,
    "explainAbsence": Needs.SEARCH,
    "readFile": Needs.SEARCH,
    "findSymbols": Needs.SEARCH,
    "getSymbol": Needs.SEARCH,
    "listReferences": Needs.SEARCH,
    "listCallers": Needs.SEARCH,
    "listCallees": Needs.SEARCH,
    "getImpact": Needs.SEARCH,
    "goToDefinition": Needs.SEARCH,
    "analyzeImpact": Needs.SEARCH,
    "listScopes": Needs.SEARCH,
    "getScope": Needs.SEARCH,
    "listRepositories": Needs.SEARCH,
    "getRepository": Needs.SEARCH,
    "getCoverage": Needs.SEARCH,
    "listJobs": Needs.SEARCH,
    "getJob": Needs.SEARCH,
    "watchJob": Needs.SEARCH,
    "putRepository": Needs.INDEX,
    "deleteRepository": Needs.INDEX,
    "indexRepository": Needs.INDEX,
    "putArchive": Needs.INDEX,
    "cancelJob": Needs.INDEX,
    "putScope": Needs.ADMIN,
    "deleteScope": Needs.ADMIN,
    "createKey": Needs.ADMIN,
    "listKeys": Needs.ADMIN,
    "getKey": Needs.ADMIN,
    "revokeKey": Needs.ADMIN,
    "listAudit": Needs.ADMIN,
    "metrics": Needs.ADMIN,
    "receiveWebhook": Needs.SIGNED,
    "livez": Needs.NOTHING,
    "readyz": Needs.NOTHING,
}
"""By operation id. Saved scopes have one space of names for all tenants and metrics count the calls of all, so both are the operator's."""

UNRECORDED: Final = frozenset({"metrics"})
"""Calls that are read every few seconds and change nothing are left out of the audit log."""

PAGES: Final = frozenset({"/openapi.json", "/docs", "/"})
"""The same for everybody, and no part of the document."""


def needs_of(route: BaseRoute) -> Needs:
    """Raises KeyError for a route that nobody has thought about."""
    assert isinstance(route, APIRoute)
    return Needs.NOTHING if route.path in PAGES else NEEDS[route.operation_id or route.path]


def only_reads(scope: Scope) -> bool:
    """Whether the request changes nothing, so that its answer may be given up half done."""
    route = scope.get("route")
    return scope["method"] == "GET" or (isinstance(route, APIRoute) and needs_of(route) is Needs.SEARCH)


def check_complete(routes: Iterable[BaseRoute]) -> None:
    """Every route says what it needs; raises KeyError at the start, and not at the first request."""
    for route in routes:
        needs_of(route)


class Guard:
    """Lets requests in. ``open``: without a key, as long as none was ever made."""

    def __init__(self, limits: Limits, lookups: Places, *, open_without_keys: bool) -> None:
        self.limits = limits
        self._lookups = lookups
        self._open = open_without_keys

    async def caller(self, request: Request, service: Service, needs: Needs) -> Caller:
        """Who sent the request. Raises NotAuthenticated, and Overloaded when there is no place to look a key up."""
        if needs is Needs.NOTHING:
            return NOBODY
        if needs is Needs.SIGNED:
            return FORGE
        if "authorization" in request.headers:
            return await self.authenticated(request, service)
        if self._open and not await service.keys.exist():
            return ANYONE
        raise NotAuthenticated

    async def authenticated(self, request: Request, service: Service) -> Caller:
        """Whose key the request carries; raises as ``caller`` does."""
        scheme, _, token = request.headers["authorization"].partition(" ")
        if scheme.lower() != SCHEME.lower() or not token.strip():
            raise NotAuthenticated("send the key as Authorization: Bearer")
        async with self._lookups.place():
            return await service.keys.authenticate(token.strip())

    @staticmethod
    def check_scope(caller: Caller, needs: Needs) -> None:
        """Raises NotAllowed, which names the scope that is missing."""
        if needs in (Needs.NOTHING, Needs.SIGNED):
            return
        needed = KeyScope(needs)
        if caller.scope is None or not caller.scope.includes(needed):
            raise NotAllowed(f"this call needs a key of the scope {needed.value!r}; this key has {str(caller.scope)!r}")


async def let_in(request: Request, held: ExitStack) -> Caller:
    """Who sent the request; what follows is done for the caller, as far as the caller may, until ``held`` is closed.

    Raises NotAuthenticated, NotAllowed, TooManyRequests, and what the store raises.
    """
    guard: Guard = request.app.state.guard
    route = request.scope["route"]
    needs = needs_of(route)
    state = request.scope["state"]
    try:
        caller = await guard.caller(request, request.app.state.service, needs)
        if caller.key_id is not None:
            state["key"] = caller.key_id
            try:
                held.enter_context(guard.limits.place(caller.key_id))
                guard.limits.take(caller.key_id)
            finally:
                state["headers"] = guard.limits.headers(caller.key_id)
        if needs in (Needs.INDEX, Needs.ADMIN) and route.operation_id not in UNRECORDED:
            begin_entry(request, caller, route.operation_id)
        guard.check_scope(caller, needs)
    except (NotAuthenticated, NotAllowed, TooManyRequests) as error:
        metrics.count_refused(error.code)
        raise
    held.enter_context(access.acting(caller))
    return caller


def challenge(error: NotAuthenticated | NotAllowed, request: Request) -> dict[str, str]:
    """WWW-Authenticate of a refusal (RFC 6750, 3)."""
    parts = ['realm="fourfold"']
    if isinstance(error, NotAllowed) and error.field is None:
        parts += ['error="insufficient_scope"', f'scope="{needs_of(request.scope["route"])}"']
    elif "authorization" in request.headers:
        parts.append('error="invalid_token"')
    return {"WWW-Authenticate": f"{SCHEME} {', '.join(parts)}"}


def take_further(request: Request, requests: int) -> None:
    """A call that does the work of several takes as many off the key's share. Raises TooManyRequests."""
    guard: Guard = request.app.state.guard
    caller = access.caller()
    if caller.key_id is not None and requests > 0:
        try:
            guard.limits.take(caller.key_id, requests)
        finally:
            request.scope["state"]["headers"] = guard.limits.headers(caller.key_id)
