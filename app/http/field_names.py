"""Which field or parameter was meant by a name that a call does not know."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final, get_args

from pydantic import BaseModel

_ELSEWHERE: Final = {
    "q": ("query",),
    "query": ("q", "name"),
    "page": ("cursor",),
    "size": ("limit",),
    "lang": ("languages",),
    "file": ("path", "paths"),
}
"""What it may be called in another call, in a query string or in a body, or in another service."""


def meant(name: str, known: Collection[str]) -> str | None:
    """The one of ``known`` that was most likely meant; of nested names, joined by dots, the last part is compared."""
    last = {path.rpartition(".")[2]: path for path in known}
    near = [*filter(last.__contains__, (name, *_ELSEWHERE.get(name, ()))), *get_close_matches(name, last, 1)]
    return last[near[0]] if near else None


def fields_beside(model: type[BaseModel], location: Sequence[int | str]) -> list[str]:
    """The names that may stand where ``location`` is in a body of this model, and those of the objects in it, joined by dots."""
    inner: Any = model
    for part in location[:-1]:
        inner = _model_in(inner.model_fields[part].annotation) if isinstance(part, str) else inner
        if inner is None:
            return []
    return list(_names(inner))


def _names(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from (f"{name}.{path}" for path in _names(field.annotation))
        yield name


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model that an annotation is, or has as an option or an item."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for option in get_args(annotation) if (found := _model_in(option))), None)
