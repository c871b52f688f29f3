"""What holds for every query string: UTF-8, no parameter that the call does not know, and one value where one is meant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.dependencies.models import Dependant
from pydantic import BaseModel

from app.domain.errors import InvalidRequest
from app.http.field_names import meant
from app.http.schemas.fields import Repeated

_ESCAPED: Final = re.compile("[\udc80-\udcff]")
"""What a byte that is no UTF-8 is decoded to."""


async def checked_query(request: Request) -> None:
    """Raises InvalidRequest; a parameter that is no UTF-8 would otherwise be read as replacement characters, all but one value be lost."""
    if not request.scope["query_string"]:
        return
    pairs = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="surrogateescape")
    known = dict(_parameters(request.scope["route"].dependant))
    seen: set[str] = set()
    for name, value in pairs:
        if _ESCAPED.search(value):
            raise InvalidRequest("the value is not percent-encoded UTF-8", field=name)
        if name not in known:
            raise InvalidRequest(_unknown(name, known), field=name)
        if name in seen and not known[name]:
            raise InvalidRequest("given more than once", field=name)
        seen.add(name)


def _unknown(name: str, known: Collection[str]) -> str:
    """The detail of a problem has to say which field, and who wrote another call's name for it learns this one's."""
    near = meant(name, known)
    return f"{name!r} is no parameter of this call" + (f"; {near!r} is" if near else "")


def _parameters(dependant: Dependant) -> Iterator[tuple[str, bool]]:
    """Each parameter with whether it may be repeated."""
    for field in dependant.query_params:
        model: Any = field.field_info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            yield from ((name, Repeated in item.metadata) for name, item in model.model_fields.items())
        else:
            yield field.alias, Repeated in field.field_info.metadata
    for inner in dependant.dependencies:
        yield from _parameters(inner)
