"""Where the next page begins: the same question, the same generations, an offset. Opaque to callers."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

from app.domain.errors import InvalidRequest
from app.domain.index import CoverageRequest
from app.domain.query import Position, Scope, SearchRequest
from app.domain.symbols import SymbolsRequest, UsesRequest

_PRESENTATION: Final = ("cursor", "limit", "snippet_lines", "max_bytes", "timeout_ms", "explain", "min_revision", "wait")
_LARGEST: Final = 2**31 - 1

Paged: TypeAlias = SearchRequest | SymbolsRequest | UsesRequest | CoverageRequest
"""What is answered in pages."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """``after``: the offset counts from there, in a list that is read in path order."""

    generations: Mapping[int, int]
    offset: int
    after: Position | None = None


def encode(scope: Scope, offset: int, request: Paged, after: Position | None = None) -> str:
    """The cursor of the page that begins at ``offset``."""
    generations = {str(snapshot.repository_id): snapshot.generation for snapshot in scope.snapshots}
    data: dict[str, object] = {"g": generations, "o": offset, "q": _digest(request)}
    if after:
        data["a"] = [after.repository_id, after.path, after.results, after.lines, int(after.any_case)]
    return base64.urlsafe_b64encode(json.dumps(data, separators=(",", ":")).encode()).decode().rstrip("=")


def decode(text: str, request: Paged) -> Cursor:
    """Raises InvalidRequest for a text that is no cursor, or the cursor of another question."""
    try:
        data = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        generations = {int(key): _number(value) for key, value in data["g"].items()}
        cursor = Cursor(generations, _number(data["o"]), _position(data.get("a")))
        digest = data["q"]
    except (binascii.Error, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidRequest("this is not a cursor of this service", field="cursor") from None
    if digest != _digest(request) or not cursor.generations or not all(0 < key <= _LARGEST for key in cursor.generations):
        raise InvalidRequest("this cursor belongs to another question", field="cursor")
    return cursor


def _position(value: object) -> Position | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 5 or not isinstance(value[1], str):
        raise ValueError("no position")
    repository_id, path, results, lines, any_case = value
    if b"\0" in path.encode():
        raise ValueError("no path")
    return Position(_number(repository_id), path, _number(results), _number(lines), bool(_number(any_case)))


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise ValueError("out of range")
    return value


def _digest(request: Paged) -> str:
    """Of everything that decides the order of results, and of nothing that only decides how they are shown."""
    plain = {field: value for field, value in _fields(request).items() if field not in _PRESENTATION}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=_fields).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _fields(value: Any) -> dict[str, object]:
    """Of a dataclass; unlike ``asdict`` nothing is copied."""
    return {field.name: getattr(value, field.name) for field in fields(value)}
