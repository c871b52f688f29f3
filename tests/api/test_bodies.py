"""What all request bodies have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.http.schemas.fields import JsonModel


def test_every_body_tells_numbers_and_truth_values_from_others_as_json_does(app: FastAPI) -> None:
    bodies = {route.body_field.field_info.annotation for route in app.state.routes if isinstance(route, APIRoute) and route.body_field}
    models = [model for body in bodies for model in models_in(body)]
    assert len(models) > 8
    assert [model.__name__ for model in models if not issubclass(model, JsonModel)] == []


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models of a request body, those of its fields among them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(annotation):
        yield from models_in(part)
