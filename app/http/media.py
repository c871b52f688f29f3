"""Which request bodies are read: JSON, as strictly as RFC 8259 and RFC 7493 (I-JSON) have it."""

from __future__ import annotations

import json
from email.message import Message
from typing import Any, NoReturn

from fastapi import HTTPException, Request

from app.domain.errors import InvalidRequest


async def require_json(request: Request) -> None:
    """Refuse a body of any other kind; what browsers send across sites without asking (forms, plain text) is among these."""
    header = Message()
    header["content-type"] = request.headers.get("content-type", "application/octet-stream")
    kind = header.get_content_type()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, "Send the body with Content-Type: application/json.", headers={"Accept": "application/json"})
    if body := await request.body():
        _check(body)


async def require_json_if_any(request: Request) -> None:
    """The same where the body may be absent."""
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        await require_json(request)


class _Object(list[tuple[str, Any]]):
    """The fields of a JSON object as they were sent."""


def _check(body: bytes) -> None:
    """Refuse what FastAPI, which has read the body before this is called, lets through: it takes the last of several values of a field."""
    try:
        _check_names(json.loads(body, object_pairs_hook=_Object, parse_constant=_no_number), ())
    except (ValueError, RecursionError):  # it said so itself, or says so where the fields are read
        return


def _check_names(value: Any, place: tuple[str, ...]) -> None:
    if isinstance(value, _Object):
        seen: set[str] = set()
        for name, inner in value:
            if name in seen:
                raise InvalidRequest("given more than once", field=".".join((*place, name)))
            seen.add(name)
            _check_names(inner, (*place, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_names(inner, (*place, str(number)))


def _no_number(name: str) -> NoReturn:
    raise HTTPException(400, f"The body is not JSON: {name} is no number.")
