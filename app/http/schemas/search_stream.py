"""What the events of a streamed search hold."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ConfigDict

from app.domain.query import Modality
from app.http.schemas.search_answer import Shape


class StreamedFile(Shape):
    """A file in one retriever's list, with its best chunk there."""

    repository: str
    path: str
    chunk_id: str | None
    score: float


LIST_EXAMPLE: Final[dict[str, Any]] = {
    "modality": "graph",
    "degraded": None,
    "hits": 1,
    "complete": True,
    "took_ms": 2.1,
    "files": [{"repository": "api", "path": "app/boot.py", "chunk_id": "c7-1234", "score": 1.0}],
}


class StreamedList(Shape):
    """One retriever's list, before fusion and demotion; at most as many files as the page has results."""

    model_config = ConfigDict(json_schema_extra={"examples": [LIST_EXAMPLE]})

    modality: Modality
    degraded: str | None
    """Why this retriever did not answer."""
    hits: int
    """Files in the whole list."""
    complete: bool
    took_ms: float
    files: list[StreamedFile]


EVENT_SCHEMA: Final[dict[str, Any]] = {
    "title": "SearchEvent",
    "description": "One event; `data` is JSON, of the shape that belongs to the event's name.",
    "type": "object",
    "properties": {"event": {"enum": ["routing", "results", "done", "error"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}

EVENTS_EXAMPLE: Final = (
    'event: routing\ndata: {"intent":"find_references","confidence":0.9,…}\n\n'
    'event: results\ndata: {"modality":"graph","degraded":null,"hits":1,"complete":true,"took_ms":2.1,"files":[…]}\n\n'
    'event: done\ndata: {"query":"who calls parse_config","results":[…],…}\n\n'
)
