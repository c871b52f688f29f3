"""The impact of a difference: a bot's comment in one call."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from app.domain.errors import InvalidRequest
from app.http.call import CurrentCall
from app.http.impact_report import report
from app.http.media import require_json
from app.http.openapi import problems
from app.http.routes.symbols import REPORTS
from app.http.schemas.impact import ImpactBody, ImpactShape
from app.observability import metrics

router = APIRouter(tags=["symbols"])


@router.post(
    "/v1/impact",
    operation_id="analyzeImpact",
    summary="What a difference reaches",
    response_model=ImpactShape,
    dependencies=[Depends(require_json)],
    responses=REPORTS | problems(400, 404, 413, 415, 422, 425, 503),
)
async def analyze_impact(body: ImpactBody, call: CurrentCall) -> ImpactShape | Response:
    """Says which symbols a unified diff, or the difference between two commits, touches, and what they reach.

    The difference's lines are mapped on the indexed revision; `indexed` tells which side of it that is.
    """
    if (body.diff is None) == (body.base is None and body.head is None):
        raise InvalidRequest("send either a diff or the commits base and head", field="diff")
    if body.diff is None and (body.base is None or body.head is None):
        raise InvalidRequest("base and head belong together", field="head" if body.head is None else "base")
    found = await call.answer(lambda service: service.impact.of_diff(body.to_domain()))
    metrics.observe_graph("impact_diff", found.took_ms, found.impact.truncated)
    return report(found, body.format)
