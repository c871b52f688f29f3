"""What all request bodies have in common."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.testclient import TestClient

from app.http.schemas.fields import JsonModel

from .test_search import problem_of


def test_every_body_tells_numbers_and_truth_values_from_others_as_json_does(app: FastAPI) -> None:
    bodies = {route.body_field.field_info.annotation for route in app.state.routes if isinstance(route, APIRoute) and route.body_field}
    models = [model for body in bodies for model in models_in(body)]
    assert len(models) > 8
    assert [model.__name__ for model in models if not issubclass(model, JsonModel)] == []


@pytest.mark.parametrize(
    ("path", "body", "field", "message"),
    [
        ("/v1/search", {"q": "x"}, "q", "unknown field; 'query' is one"),
        ("/v1/search", {"query": "x", "languages": ["go"]}, "languages", "unknown field; 'filters.languages' is one"),
        ("/v1/search", {"query": "x", "filters": {"lang": ["go"]}}, "filters.lang", "unknown field; 'filters.languages' is one"),
        ("/v1/search", {"query": "x", "zzz": 1}, "zzz", "unknown field"),
        ("/v1/search/batch", {"search": []}, "search", "unknown field; 'searches' is one"),
    ],
)
def test_an_unknown_field_tells_which_one_was_meant(client: TestClient, path: str, body: Any, field: str, message: str) -> None:
    errors = problem_of(client.post(path, json=body), 422, "invalid_request")["errors"]
    assert {"field": field, "message": message} in errors


def test_a_search_of_a_batch_tells_it_too(client: TestClient) -> None:
    entry = client.post("/v1/search/batch", json={"searches": [{"query": "x", "limmit": 3}]}).json()["answers"][0]
    assert entry["problem"]["errors"] == [{"field": "limmit", "message": "unknown field; 'limit' is one"}]


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """The models of a request body, those of its fields among them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(annotation):
        yield from models_in(part)
