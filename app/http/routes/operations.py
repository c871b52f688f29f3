"""For operators and for people who look around."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from pydantic import ConfigDict
from starlette.concurrency import run_in_threadpool

from app import __version__
from app.http.openapi import problems
from app.http.problems import FieldError, ProblemResponse
from app.http.reference import reference_page
from app.http.schemas.search_answer import Shape
from app.http.security_headers import page_policy
from app.http.service import CurrentService
from app.observability import metrics

router = APIRouter(tags=["operations"])


class Alive(Shape):
    model_config = ConfigDict(json_schema_extra={"examples": [{"status": "alive", "version": __version__}]})

    status: Literal["alive"] = "alive"
    version: str = __version__


class Check(Shape):
    name: str
    ok: bool
    detail: str


class Ready(Shape):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"status": "ready", "checks": [{"name": "store", "ok": True, "detail": "PostgreSQL 18.6"}]}]}
    )

    status: Literal["ready"] = "ready"
    checks: list[Check]


@router.get("/livez", operation_id="livez", summary="Is the process alive?", responses=problems())
async def livez() -> Alive:
    """Answers as long as the process serves requests; looks at nothing else."""
    return Alive()


@router.get("/readyz", operation_id="readyz", summary="Can it serve?", response_model=Ready, responses=problems(503))
async def readyz(request: Request, service: CurrentService) -> Ready | Response:
    """Looks at everything that a search needs; a problem names what is missing."""
    checks = await service.health.check()
    failed = [FieldError(field=check.name, message=check.detail) for check in checks if not check.ok]
    if not failed:
        return Ready(checks=[Check(name=check.name, ok=check.ok, detail=check.detail) for check in checks])
    detail = "; ".join(f"{entry.field}: {entry.message}" for entry in failed)
    return ProblemResponse(503, "not_ready", detail, request_id=request.state.request_id, errors=failed, headers={"Retry-After": "5"})


@router.get(
    "/metrics",
    operation_id="metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"description": "Prometheus' text format", "content": {"text/plain": {"schema": {"type": "string"}}}}, **problems()},
)
async def read_metrics() -> Response:
    """Numbers of the API and of the worker that runs beside it."""
    body, content_type = await run_in_threadpool(metrics.render)
    return Response(body, headers={"Content-Type": content_type})


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request) -> JSONResponse:
    return JSONResponse(request.app.openapi())


@router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    return HTMLResponse(
        reference_page(request.app.openapi()),
        headers={"Content-Security-Policy": page_policy(style="'unsafe-inline'")},
    )


@router.get("/", include_in_schema=False)
async def index() -> dict[str, Any]:
    return {
        "service": "fourfold",
        "version": __version__,
        "try": "/v1/search?q=how+does+it+start",
        "documentation": "/docs",
        "openapi": "/openapi.json",
        "health": "/readyz",
        "metrics": "/metrics",
    }
