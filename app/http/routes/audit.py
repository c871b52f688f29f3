"""The log of calls that changed, or would have changed, what is indexed or who may call."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.http import render_access
from app.http.openapi import problems
from app.http.schemas.key import AuditList, AuditParameters
from app.http.service import A_LOOKUP, CurrentService

router = APIRouter(tags=["access"], dependencies=[A_LOOKUP])


@router.get("/v1/audit", operation_id="listAudit", summary="Read the audit log", responses=problems(422, 503))
async def list_audit(parameters: Annotated[AuditParameters, Query()], service: CurrentService) -> AuditList:
    """Who called what, when, and how it ended: index and admin calls, the newest first. Reading it is such a call too."""
    before = int(parameters.cursor) if parameters.cursor else None
    entries = await service.audit.list(before, parameters.key_id, parameters.action, parameters.limit)
    return render_access.audit(entries, parameters.limit)
