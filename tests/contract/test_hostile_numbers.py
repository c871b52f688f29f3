"""Numbers and JSON that are made to cost much."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.config import Settings
from app.http.app import create_app, openapi_document
from tests.api.twins import factory, memory_service

SPEC = json.loads(openapi_document())
ANSWERS = frozenset({"Problem", "FieldError"})


def asked() -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema of every number in parameters and bodies, by where it stands."""
    for path, methods in SPEC["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", []):
                yield from numbers(parameter["schema"], f"{method} {path} {parameter['name']}")
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                if kind == "application/json":
                    yield from numbers(content["schema"], f"{method} {path}")


def numbers(schema: dict[str, Any], at: str, within: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    name = schema.get("$ref", "").rpartition("/")[2]
    if name in within:
        return
    if name:
        schema, within = SPEC["components"]["schemas"][name], (*within, name)
    if schema.get("type") in ("integer", "number"):
        yield at, schema
    for option in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])):
        yield from numbers(option, at, within)
    for field, inner in schema.get("properties", {}).items():
        yield from numbers(inner, f"{at}.{field}", within)


def test_every_number_has_bounds() -> None:
    found = list(asked())
    assert len(found) > 10
    unbounded = [at for at, schema in found if not ({"minimum", "exclusiveMinimum"} & schema.keys() and "maximum" in schema)]
    assert unbounded == []


ODD = {
    "deep lists": "[" * 200_000,
    "deep objects": '{"query":' * 90_000,
    "deep within a field": '{"query": "x", "filters": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "long number": '{"query": "x", "limit": ' + "9" * 500_000 + "}",
    "long exponent": '{"query": "x", "wait": 1e999999}',
    "no number": '{"query": "x", "wait": NaN}',
    "infinite": '{"query": "x", "wait": Infinity}',
    "many fields": "{" + ",".join(f'"f{n}": 1' for n in range(50_000)) + "}",
    "many of one": '{"query": "x", "repositories": [' + ",".join('"a"' for _ in range(200_000)) + "]}",
}


@pytest.mark.parametrize("body", ODD.values(), ids=ODD)
def test_odd_json_is_refused(body: str) -> None:
    with TestClient(create_app(factory(memory_service()), Settings())) as client:
        for path in ("/v1/search", "/v1/search/batch", "/v1/search/stream", "/v1/classify", "/v1/impact"):
            answer = client.post(path, content=body, headers={"content-type": "application/json"})
            assert answer.status_code in (400, 422), answer.text[:300]
            assert len(answer.content) < 100_000
