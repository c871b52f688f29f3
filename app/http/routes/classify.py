"""How a question would be read and routed, without searching."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request

from app.http import render
from app.http.media import require_json
from app.http.openapi import problems
from app.http.schemas.search_answer import ClassifyAnswer
from app.http.schemas.search_request import ClassifyRequest
from app.http.service import CurrentService

router = APIRouter(tags=["search"])


@router.post(
    "/v1/classify",
    operation_id="classify",
    summary="Classify a question",
    dependencies=[Depends(require_json)],
    responses=problems(400, 413, 415, 422),
)
async def classify(request: Request, body: ClassifyRequest, service: CurrentService) -> ClassifyAnswer:
    """Intent, confidence, rule and operands of a question, and the route that a search would take."""
    request.state.log = {"query_length": len(body.query)}
    return render.classification(service.search.classify(body.to_domain()))
