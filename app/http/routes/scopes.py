"""Saved scopes: named sets of repositories and filters that a search can be asked to keep to."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Response

from app.domain.errors import ScopeNotFound
from app.domain.scopes import SavedScope
from app.http import render
from app.http.media import require_json
from app.http.openapi import problems
from app.http.schemas.scope import ScopeBody, ScopeList, ScopeNamePath, ScopeShape
from app.http.service import A_LOOKUP, CurrentService

router = APIRouter(tags=["scopes"], dependencies=[A_LOOKUP])


@router.get("/v1/scopes", operation_id="listScopes", summary="List saved scopes", responses=problems(422, 503))
async def list_scopes(service: CurrentService) -> ScopeList:
    """All saved scopes."""
    return ScopeList(scopes=[_shape(scope) for scope in await service.scopes.list()])


@router.get("/v1/scopes/{name}", operation_id="getScope", summary="Read a saved scope", responses=problems(404, 422, 503))
async def get_scope(name: ScopeNamePath, service: CurrentService) -> ScopeShape:
    """The repositories and filters of one scope."""
    return _shape(await _named(service, name))


@router.put(
    "/v1/scopes/{name}",
    operation_id="putScope",
    summary="Save a scope",
    dependencies=[Depends(require_json)],
    responses={201: {"model": ScopeShape, "description": "Created"}, **problems(400, 413, 415, 422, 503)},
)
async def put_scope(name: ScopeNamePath, body: ScopeBody, response: Response, service: CurrentService) -> ScopeShape:
    """Creates the scope or takes the place of the one of that name. Repositories need not be there yet."""
    if await service.scopes.put(body.to_domain(name)):
        response.status_code = 201
        response.headers["Location"] = f"/v1/scopes/{name}"
    return _shape(await _named(service, name))


@router.delete(
    "/v1/scopes/{name}", operation_id="deleteScope", summary="Delete a saved scope", status_code=204, responses=problems(404, 422, 503)
)
async def delete_scope(name: ScopeNamePath, service: CurrentService) -> None:
    """Forgets the scope; repositories are not touched."""
    try:
        await service.scopes.delete(name)
    except ScopeNotFound as error:
        error.field = "name"
        raise


async def _named(service: CurrentService, name: str) -> SavedScope:
    try:
        return await service.scopes.get(name)
    except ScopeNotFound as error:
        error.field = "name"
        raise


def _shape(scope: SavedScope) -> ScopeShape:
    return ScopeShape(
        name=scope.name,
        description=scope.description,
        repositories=list(scope.repositories),
        filters=render.set_filters(scope.filters),
        changed_at=scope.changed_at,
    )
