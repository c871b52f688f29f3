"""API keys: made, listed and revoked by administrators."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter, Depends, Request, Response

from app.domain.errors import KeyNotFound
from app.http import render_access
from app.http.audit import name_target
from app.http.media import require_json
from app.http.openapi import problems
from app.http.schemas.key import KeyBody, KeyId, KeyList, KeyShape, NewKey, check_expiry
from app.http.service import A_LOOKUP, CurrentService

router = APIRouter(tags=["access"], dependencies=[A_LOOKUP])


@router.get("/v1/keys", operation_id="listKeys", summary="List keys", responses=problems(422, 503))
async def list_keys(service: CurrentService) -> KeyList:
    """All keys that were ever made, without their secrets."""
    return KeyList(keys=[render_access.key(stored) for stored in await service.keys.list()])


@router.post(
    "/v1/keys",
    operation_id="createKey",
    summary="Make a key",
    status_code=201,
    dependencies=[Depends(require_json)],
    responses=problems(400, 409, 413, 415, 422, 503),
)
async def create_key(body: KeyBody, request: Request, response: Response, service: CurrentService) -> NewKey:
    """Makes a key. Its token is in this answer and nowhere else: the service keeps a hash.

    The first key closes a service that answered without.
    """
    check_expiry(body)
    stored, token = await service.keys.create(body.name, body.scope, body.repositories, body.expires_at)
    name_target(request, f"{stored.id} {stored.name}")
    response.headers["Location"] = f"/v1/keys/{stored.id}"
    return render_access.new_key(stored, token)


@router.get("/v1/keys/{id}", operation_id="getKey", summary="Read a key", responses=problems(404, 422, 503))
async def get_key(id: KeyId, service: CurrentService) -> KeyShape:
    """One key without its secret."""
    with _by_id():
        return render_access.key(await service.keys.get(id))


@router.delete("/v1/keys/{id}", operation_id="revokeKey", summary="Revoke a key", responses=problems(404, 422, 503))
async def revoke_key(id: KeyId, service: CurrentService) -> KeyShape:
    """From now on the key does not count. Requests that were let in before are answered."""
    with _by_id():
        return render_access.key(await service.keys.revoke(id))


@contextmanager
def _by_id() -> Iterator[None]:
    """A key that is not there is told of the parameter that names it."""
    try:
        yield
    except KeyNotFound as error:
        error.field = "id"
        raise
