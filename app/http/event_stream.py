"""Server-sent events as they are written."""

from __future__ import annotations

from typing import Final

MEDIA_TYPE: Final = "text/event-stream"


def event(name: str, data: str) -> bytes:
    """One event. JSON has no line ends of its own, so that it is one line of data."""
    return f"event: {name}\ndata: {data}\n\n".encode()
