"""Go to definition: from a place in a file to what the name there means."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.http import render_symbols
from app.http.call import CurrentCall
from app.http.openapi import problems
from app.http.schemas.definition import DefinitionAnswerShape, PositionParameters
from app.observability import metrics

router = APIRouter(tags=["symbols"])


@router.get("/v1/definition", operation_id="goToDefinition", summary="Go to definition", responses=problems(404, 422, 425, 503))
async def go_to_definition(
    parameters: Annotated[PositionParameters, Query()],
    call: CurrentCall,
) -> DefinitionAnswerShape:
    """Tells what the name at a line and column means: symbols of the repository, or where a function or block binds it for itself."""
    found = await call.answer(lambda service: service.positions.definition(parameters.to_domain()))
    metrics.observe_graph("definition", found.took_ms)
    return render_symbols.definition(found)
