"""Symbols by name and by id, and the edges around them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import Response

from app.domain.symbols import ImpactRequest
from app.http import render_symbols
from app.http.call import CurrentCall
from app.http.impact_report import MEDIA_TYPES, report
from app.http.openapi import problems
from app.http.schemas.impact import ImpactParameters, ImpactShape
from app.http.schemas.symbol import (
    CalleesShape,
    CallersShape,
    ReferencesShape,
    RepositoryParameter,
    SymbolAnswerShape,
    SymbolId,
    SymbolListShape,
    SymbolsParameters,
    UsesParameters,
)
from app.observability import metrics

router = APIRouter(tags=["symbols"])

REPORTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "What the change reaches, in the format asked for",
        "content": {
            kind: {"schema": {"type": "object" if kind.endswith("json") else "string"}}
            for name, kind in MEDIA_TYPES.items()
            if name != "json"
        },
    }
}


@router.get("/v1/symbols", operation_id="findSymbols", summary="Find definitions", responses=problems(404, 410, 422, 425, 503))
async def find_symbols(
    parameters: Annotated[SymbolsParameters, Query()],
    call: CurrentCall,
) -> SymbolListShape:
    """Lists definitions by name, kind, language and path."""
    found = await call.answer(lambda service: service.symbols.find(parameters.to_domain()), "repositories")
    metrics.observe_graph("find", found.took_ms)
    return render_symbols.page(found)


@router.get("/v1/symbols/{id}", operation_id="getSymbol", summary="Read a symbol", responses=problems(404, 422, 425, 503))
async def get_symbol(
    id: SymbolId,
    parameters: Annotated[RepositoryParameter, Query()],
    call: CurrentCall,
) -> SymbolAnswerShape:
    """Signature, documentation, container, members and centrality of one symbol."""
    found = await call.answer(lambda service: service.symbols.get(id, parameters.repository, parameters.revision))
    metrics.observe_graph("get", found.took_ms)
    return render_symbols.symbol(found)


@router.get("/v1/symbols/{id}/references", operation_id="listReferences", summary="List uses", responses=problems(404, 410, 422, 425, 503))
async def list_references(
    id: SymbolId,
    parameters: Annotated[UsesParameters, Query()],
    call: CurrentCall,
) -> ReferencesShape:
    """Every line that uses the symbol, with its relation and how far it can be trusted."""
    found = await call.answer(lambda service: service.symbols.references(parameters.to_domain(id)))
    metrics.observe_graph("references", found.took_ms)
    return render_symbols.references(found)


@router.get("/v1/symbols/{id}/callers", operation_id="listCallers", summary="List callers", responses=problems(404, 410, 422, 425, 503))
async def list_callers(
    id: SymbolId,
    parameters: Annotated[UsesParameters, Query()],
    call: CurrentCall,
) -> CallersShape:
    """The definitions that call or instantiate the symbol, with the lines of their calls."""
    found = await call.answer(lambda service: service.symbols.callers(parameters.to_domain(id)))
    metrics.observe_graph("callers", found.took_ms)
    return render_symbols.callers(found)


@router.get("/v1/symbols/{id}/callees", operation_id="listCallees", summary="List callees", responses=problems(404, 410, 422, 425, 503))
async def list_callees(
    id: SymbolId,
    parameters: Annotated[UsesParameters, Query()],
    call: CurrentCall,
) -> CalleesShape:
    """What the symbol's lines call or instantiate, those of definitions inside it among them; and calls whose target is not known."""
    found = await call.answer(lambda service: service.symbols.callees(parameters.to_domain(id)))
    metrics.observe_graph("callees", found.took_ms)
    return render_symbols.callees(found)


@router.get(
    "/v1/symbols/{id}/impact",
    operation_id="getImpact",
    summary="What a change to a symbol reaches",
    response_model=ImpactShape,
    responses=REPORTS | problems(404, 422, 425, 503),
)
async def get_impact(
    id: SymbolId,
    parameters: Annotated[ImpactParameters, Query()],
    call: CurrentCall,
) -> ImpactShape | Response:
    """Affected symbols, files and tests as an interval (certain, possible), with the paths to the symbol and the blind spots on the way."""
    wanted = ImpactRequest(parameters.repository, id, depth=parameters.depth, limit=parameters.limit, revision=parameters.revision)
    found = await call.answer(lambda service: service.impact.of_symbol(wanted))
    metrics.observe_graph("impact", found.took_ms, found.impact.truncated)
    return report(found, parameters.format)
