"""Reads of the caller's own writes, and answers that have not changed."""

from __future__ import annotations

import asyncio
import hashlib
import json
from dataclasses import asdict
from time import monotonic
from typing import Final

from fastapi import Request, Response

from app.domain.errors import InvalidRequest, NotIndexed
from app.domain.query import Scope, SearchRequest
from app.http.call import Call
from app.http.service import Service

POLL_SECONDS: Final = 0.25
RETRY_SECONDS: Final = 5


async def await_revision(asked: SearchRequest, call: Call) -> None:
    """Return when the index contains ``asked.min_revision``; raises NotIndexed when it does not within ``asked.wait`` seconds."""
    if asked.min_revision is None:
        return
    async with call.gates.waiting.place():
        await _until_contained(asked, asked.min_revision, call)


async def _until_contained(asked: SearchRequest, wanted: str, call: Call) -> None:
    give_up = monotonic() + asked.wait
    looked_at = ""
    while True:
        async with call.gates.lookups.place():
            revision = await _indexed(asked, call.service)
            if revision is not None and revision[1] != looked_at:
                looked_at = revision[1]
                if await call.service.history.contains(*revision, wanted):
                    return
        if monotonic() >= give_up:
            there = f"it has {looked_at}" if looked_at else "nothing is indexed yet"
            raise NotIndexed(f"the index does not contain {wanted}: {there}", field="min_revision", retry_after=RETRY_SECONDS)
        await asyncio.sleep(min(POLL_SECONDS, max(0.0, give_up - monotonic())))


async def _indexed(asked: SearchRequest, service: Service) -> tuple[str, str] | None:
    """Name and indexed revision of the one repository that is searched; None before its first index."""
    try:
        snapshots = (await service.search.scope(asked)).snapshots
    except NotIndexed:
        return None
    if len(snapshots) != 1:
        raise InvalidRequest(f"it belongs to one repository, and {len(snapshots)} are searched", field="min_revision")
    return snapshots[0].repository, snapshots[0].revision


def search_tag(asked: SearchRequest, scope: Scope) -> str:
    """A weak entity tag: equal tags mean equal answers, but for the time they took."""
    state = [
        [shown.repository_id, shown.generation, shown.revision, shown.stale, shown.embeddings_pending, shown.embeddings_failed]
        for shown in scope.snapshots
    ]
    return weak_tag(json.dumps([state, scope.vectors.name if scope.vectors else None, asdict(asked)], default=str))


def weak_tag(text: str) -> str:
    """The weak entity tag of what a text describes."""
    return f'W/"{hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether the caller has what the tag stands for (If-None-Match)."""
    given = [part.strip() for part in request.headers.get("if-none-match", "").split(",")]
    return "*" in given or any(part.removeprefix("W/") == tag.removeprefix("W/") for part in given if part)


def not_modified(tag: str) -> Response:
    """304 with the tag."""
    return Response(status_code=304, headers=tagged(tag))


def tagged(tag: str) -> dict[str, str]:
    """Headers of an answer that may be kept, but not used without asking again."""
    return {"ETag": tag, "Cache-Control": "private, no-cache"}
