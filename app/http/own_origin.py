"""Keeps web pages out: what a browser sends for one is told by its headers.

A service on loopback is open to every program of the machine, and a browser is one that runs strangers' code. A page can send forms
without asking, and a name that leads to 127.0.0.1 makes it one with the service for the browser.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from app.config import Settings
from app.http import problems
from app.sources.address import is_loopback

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def own_names(settings: Settings) -> Collection[str] | None:
    """The names that a service may be called by; None for any."""
    if settings.http.hosts:
        return {*settings.http.hosts, *_LOOPBACK}
    return {*_LOOPBACK, settings.host.lower()} if is_loopback(settings.host) else None


class OwnOrigin:
    """Refuses requests for another host, and those by which a page of another site would change something."""

    def __init__(self, app: ASGIApp, hosts: Collection[str] | None) -> None:
        self._app = app
        self._hosts = hosts
        self._public = frozenset(hosts or ()) - _LOOPBACK

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(scope["method"], Headers(scope=scope))) is not None:
            await problems.of_http(Request(scope, receive), refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> HTTPException | None:
        host = headers.get("host", "")
        if self._hosts is not None and _name(host) not in self._hosts:
            return HTTPException(421, "This service is not called by that name; FOURFOLD_HTTP__HOSTS lists the names it has.")
        if method in _SAFE:
            return None
        if self._is_foreign(headers.get("origin"), host) or headers.get("sec-fetch-site") == "cross-site":
            return HTTPException(403, "A page of another site may not change anything here.")
        return None

    def _is_foreign(self, origin: str | None, host: str) -> bool:
        """A program sends no origin; a page of this service sends its own. Behind a proxy that is the name which callers use."""
        if origin is None:
            return False
        page = origin.partition("://")[2].lower()
        return page != host.lower() and _name(page) not in self._public


def _name(host: str) -> str:
    """``[::1]:8000`` → ``::1``"""
    bare = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return bare.lower().rstrip(".")
