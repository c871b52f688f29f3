"""The bindings of a file as one text: nobody asks for a single one, and a row for each would be the second largest table."""

from __future__ import annotations

import json
from collections.abc import Sequence

from app.domain.code import Binding, BindingKind

_KINDS = {kind.value: kind for kind in BindingKind}


def pack(bindings: Sequence[Binding]) -> str:
    """JSON, one array for each binding in the order of its fields. NUL, which PostgreSQL's text cannot hold, is written escaped."""
    return json.dumps(bindings, ensure_ascii=False, separators=(",", ":"))


def unpack(packed: str) -> tuple[Binding, ...]:
    """The bindings that ``pack`` was given."""
    return tuple(Binding(_KINDS[kind], *rest) for kind, *rest in json.loads(packed))
