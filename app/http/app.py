"""The HTTP application, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from fastapi import Depends, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware

from app import __version__
from app.config import Settings
from app.http import openapi, problems
from app.http.access import Guard, check_complete
from app.http.admission import gates
from app.http.audit import Audited
from app.http.client_watch import EndsWithClient
from app.http.gate import Gate
from app.http.limits import Limits
from app.http.middleware import BodyLimit, HeadAsGet, RequestContext
from app.http.own_origin import OwnOrigin
from app.http.query_string import checked_query
from app.http.retry_after import KeepsRetryAfter
from app.http.routes import (
    archives,
    audit,
    batch,
    classify,
    definition,
    files,
    impact,
    jobs,
    keys,
    operations,
    repositories,
    scopes,
    search,
    stream,
    symbols,
    webhooks,
)
from app.http.service import Service, ServiceFactory
from app.sources.address import is_loopback

MAX_BODY_BYTES: Final = 1_000_000
MAX_DELIVERY_BYTES: Final = 25_000_000
"""GitHub's own bound for webhooks."""

_GZIP_FROM_BYTES: Final = 2_000


def create_app(service_factory: ServiceFactory, settings: Settings, hosts: Collection[str] | None = None) -> FastAPI:
    """An application that opens its service when it starts and closes it when it stops.

    ``hosts``: the names it answers to; None for any.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with service_factory() as service:
            app.state.service = service
            yield

    app = FastAPI(
        title="Fourfold",
        version=__version__,
        lifespan=lifespan,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(checked_query)],
        middleware=[
            Middleware(RequestContext),
            Middleware(KeepsRetryAfter),
            Middleware(OwnOrigin, hosts=hosts),
            Middleware(Audited),
            Middleware(HeadAsGet),
            Middleware(EndsWithClient),
            Middleware(Gate),
            Middleware(GZipMiddleware, minimum_size=_GZIP_FROM_BYTES, compresslevel=5),
            Middleware(BodyLimit, limit=MAX_BODY_BYTES, larger=_larger_bodies(settings), stall_seconds=settings.http.stall_seconds),
        ],
    )
    app.state.settings = settings
    app.state.gates = gates(settings)
    app.state.guard = Guard(
        Limits(settings.access), app.state.gates.lookups, open_without_keys=is_loopback(settings.host) or settings.access.open
    )
    routers = [
        module.router
        for module in (
            search,
            batch,
            stream,
            classify,
            files,
            scopes,
            symbols,
            definition,
            impact,
            repositories,
            archives,
            jobs,
            webhooks,
            keys,
            audit,
            operations,
        )
    ]
    app.state.routes = [route for router in routers for route in router.routes]
    check_complete(app.state.routes)
    for router in routers:
        app.include_router(router)
    problems.install(app)
    _document(app)
    return app


def _larger_bodies(settings: Settings) -> dict[str, int]:
    """The bytes that bodies to other addresses may have, by a pattern of the path."""
    return {r"/v1/repositories/[^/]+/archive": settings.archive.max_bytes, r"/v1/webhooks/[a-z]+": MAX_DELIVERY_BYTES}


def openapi_document() -> str:
    """The text of ``openapi/openapi.json``; needs no service and no settings."""

    def unused() -> AbstractAsyncContextManager[Service]:
        raise NotImplementedError("an application made for its document is never started")

    return openapi.as_text(create_app(unused, Settings.model_construct()).openapi())


def _document(app: FastAPI) -> None:
    def cached() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = openapi.document(app)
        return app.openapi_schema

    app.openapi = cached  # type: ignore[method-assign]
