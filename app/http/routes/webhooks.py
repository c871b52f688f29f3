"""Forges tell that a branch moved; the repository's remote is then looked at."""

from __future__ import annotations

from fastapi import APIRouter, Request

from app.domain import access
from app.domain.index import Priority
from app.http.audit import begin_entry
from app.http.openapi import problems
from app.http.schemas.repository import WebhookAnswer
from app.http.service import CurrentGates, CurrentService, CurrentSettings, Service
from app.http.webhooks import Forge, addresses, check_signature, digest, moves_refs, speaks_of

router = APIRouter(tags=["jobs"])


@router.post(
    "/v1/webhooks/{forge}",
    operation_id="receiveWebhook",
    summary="Receive a delivery of a forge",
    status_code=202,
    responses=problems(401, 413, 422, 503),
)
async def receive_webhook(
    forge: Forge, request: Request, service: CurrentService, settings: CurrentSettings, gates: CurrentGates
) -> WebhookAnswer:
    """Queues an index run for each repository with the remote that a signed delivery speaks of. The remote is not asked here."""
    body = await request.body()
    check_signature(forge, body, request.headers, settings.webhook)
    begin_entry(request, access.caller(), "receiveWebhook")
    if not moves_refs(forge, request.headers):
        return WebhookAnswer(status="ignored", jobs=[])
    found = addresses(body)
    async with gates.lookups.place():  # not before the body is here, which may come slowly
        return await _queue(forge, body, found, service)


async def _queue(forge: Forge, body: bytes, found: frozenset[tuple[str, str]], service: Service) -> WebhookAnswer:
    if await service.deliveries.seen(forge, digest(body)):
        return WebhookAnswer(status="seen", jobs=[])
    meant = [stored for stored in await service.repositories.list() if speaks_of(stored, found)]
    jobs = [await service.jobs.enqueue(stored.name, priority=Priority.BULK) for stored in meant]
    # Remembered last: a delivery that could not be acted on is sent again, and then it must count.
    await service.deliveries.remember(forge, digest(body))
    return WebhookAnswer(status="queued" if jobs else "unknown", jobs=[job.id for job, _ in jobs])
