"""Which request bodies are read."""

from __future__ import annotations

from email.message import Message

from fastapi import HTTPException, Request


async def require_json(request: Request) -> None:
    """Refuse a body of any other kind; what browsers send across sites without asking (forms, plain text) is among these."""
    header = Message()
    header["content-type"] = request.headers.get("content-type", "application/octet-stream")
    kind = header.get_content_type()
    if kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
        raise HTTPException(415, "Send the body with Content-Type: application/json.", headers={"Accept": "application/json"})


async def require_json_if_any(request: Request) -> None:
    """The same where the body may be absent."""
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        await require_json(request)
