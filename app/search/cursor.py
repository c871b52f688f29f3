"""Where the next page begins: the same question, the same generations, an offset. Opaque to callers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Final

from app.domain.errors import InvalidRequest
from app.domain.query import Scope, SearchRequest

_PRESENTATION: Final = ("cursor", "limit", "snippet_lines", "max_bytes", "timeout_ms", "explain")
_LARGEST: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """``depth`` is how many chunks the retrievers were asked for: another depth could give another order."""

    generations: Mapping[int, int]
    offset: int
    depth: int


def encode(scope: Scope, offset: int, depth: int, request: SearchRequest) -> str:
    """The cursor of the page that begins at ``offset``."""
    generations = {str(snapshot.repository_id): snapshot.generation for snapshot in scope.snapshots}
    data = {"g": generations, "o": offset, "d": depth, "q": _digest(request)}
    return base64.urlsafe_b64encode(json.dumps(data, separators=(",", ":")).encode()).decode().rstrip("=")


def decode(text: str, request: SearchRequest) -> Cursor:
    """Raises InvalidRequest for a text that is no cursor, or the cursor of another question."""
    try:
        data = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        cursor = Cursor({int(key): _number(value) for key, value in data["g"].items()}, _number(data["o"]), _number(data["d"]))
        digest = data["q"]
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidRequest("this is not a cursor of this service", field="cursor") from None
    if digest != _digest(request) or not cursor.generations or not all(0 < key <= _LARGEST for key in cursor.generations):
        raise InvalidRequest("this cursor belongs to another question", field="cursor")
    return cursor


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise ValueError("out of range")
    return value


def _digest(request: SearchRequest) -> str:
    """Of everything that decides the order of results, and of nothing that only decides how they are shown."""
    fields = {name: value for name, value in asdict(request).items() if name not in _PRESENTATION}
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:16]
