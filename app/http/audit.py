"""Writes down who called what, and how it ended: for calls that change what is indexed or who may call."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import structlog
from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.access import AuditEntry, Caller
from app.domain.errors import FourfoldError
from app.http.service import Service
from app.observability import metrics

_STATE: Final = "audit"
_LONGEST_TARGET: Final = 200

_log = structlog.get_logger("app.audit")


def begin_entry(request: Request, caller: Caller, action: str) -> None:
    """The call is to be written down when it has been answered."""
    state = request.scope["state"]
    target = ", ".join(str(value) for value in request.path_params.values())
    address = request.client.host if request.client else None
    state[_STATE] = AuditEntry(caller.name, action, _storable(target) or None, 0, caller.key_id, address, state.get("request_id"))


def name_target(request: Request, target: str) -> None:
    """What the call was about, where its path does not say."""
    entry: AuditEntry | None = request.scope["state"].get(_STATE)
    if entry is not None:
        request.scope["state"][_STATE] = replace(entry, target=target)


def _storable(text: str) -> str:
    """The text of a path that was not checked yet."""
    return ascii(text)[1:-1][:_LONGEST_TARGET]


class Audited:
    """Stores a request's entry with the status that was sent; the log line stands even where the store does not take it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 500  # a fault that nobody handled

        async def send_and_see(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_see)
        finally:
            entry: AuditEntry | None = scope.get("state", {}).get(_STATE)
            if entry is not None:
                await _record(scope["app"].state.service, replace(entry, status=status))


async def _record(service: Service, entry: AuditEntry) -> None:
    _log.info("audit", actor=entry.actor, key=entry.key_id, action=entry.action, target=entry.target, status=entry.status)
    try:
        await service.audit.record(entry)
    except FourfoldError as error:
        metrics.count_audit_failure()
        _log.error("audit_not_stored", action=entry.action, error=error.message)
