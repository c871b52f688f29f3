"""The OpenAPI document: FastAPI's own, completed by problems and by an example for each request and answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from app import __version__
from app.http.access import NEEDS, Needs
from app.http.problems import MEDIA_TYPE, Problem
from app.http.schemas.batch import BatchAnswer, BatchBody
from app.http.schemas.impact import ImpactBody, ImpactShape
from app.http.schemas.key import AuditList, KeyBody, KeyList, KeyShape, NewKey
from app.http.schemas.repository import (
    ArchiveAccepted,
    FileCoverageList,
    IndexBody,
    JobAccepted,
    JobList,
    JobShape,
    RepositoryBody,
    RepositoryList,
    RepositoryShape,
    WebhookAnswer,
)
from app.http.schemas.scope import ScopeBody, ScopeList, ScopeShape
from app.http.schemas.search_answer import AnswerShape, ClassifyAnswer
from app.http.schemas.search_request import ClassifyRequest, SearchBody
from app.http.schemas.search_stream import StreamedList
from app.http.schemas.source_file import FileShape, WhyNotShape
from app.http.schemas.symbol import CalleesShape, CallersShape, ReferencesShape, SymbolAnswerShape, SymbolListShape

_WITH_EXAMPLES: Final[tuple[type[BaseModel], ...]] = (
    AnswerShape,
    ArchiveAccepted,
    AuditList,
    BatchAnswer,
    BatchBody,
    CalleesShape,
    CallersShape,
    ClassifyAnswer,
    ClassifyRequest,
    FileCoverageList,
    FileShape,
    ImpactBody,
    ImpactShape,
    IndexBody,
    JobAccepted,
    JobList,
    JobShape,
    KeyBody,
    KeyList,
    KeyShape,
    NewKey,
    ReferencesShape,
    RepositoryBody,
    RepositoryList,
    RepositoryShape,
    ScopeBody,
    ScopeList,
    ScopeShape,
    SearchBody,
    SymbolAnswerShape,
    SymbolListShape,
    WebhookAnswer,
    WhyNotShape,
)

_KEY: Final = "apiKey"

DESCRIPTION: Final = """\
Fourfold answers a question about code by choosing the right retriever for it: semantic, text, structural or graph.

Every error is an RFC 9457 problem (`application/problem+json`) with a stable `type`; validation errors name each field.
Every answer carries an `X-Request-Id`, the caller's own when it sent one. Unknown fields and parameters are refused.

A service that has keys asks for one with each call, as `Authorization: Bearer ff_…`; one that never had any may answer without.
What lies outside of a key's repositories is answered as if it were not there. `RateLimit` tells what is left of a key's share.
"""

_WHEN: Final = {
    400: ("malformed", "The body is not JSON, or the request cannot be read."),
    401: ("not_signed", "The request does not bear this service's secret."),
    403: ("not_allowed", "The key is not good for this call: the detail names the scope that is missing."),
    404: ("not_found", "There is no such repository, job or symbol."),
    409: ("conflict", "The request contradicts what is stored."),
    410: ("cursor_expired", "The index that the cursor was made on is gone."),
    413: ("payload_too_large", "The body is too large."),
    415: ("unsupported_media_type", "The body is not `application/json`."),
    422: ("invalid_request", "A field is not valid, or the query cannot be served; `errors` names the field."),
    425: ("not_indexed", "The repository has not been indexed yet; see `Retry-After`."),
    429: ("too_many_requests", "The key has used up its share; see `Retry-After`."),
    500: ("internal", "Something went wrong inside the service."),
    503: ("overloaded", "The service is overloaded or its store is down; see `Retry-After`."),
}


NOT_MODIFIED: Final[dict[str, Any]] = {"description": "What the caller has (`If-None-Match`) is still right."}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that can answer with these problems (500 always can)."""
    return {status: _problem(status) for status in sorted({*statuses, 500})}


_HEADERS: Final = {
    "Retry-After": {"description": "seconds to wait", "schema": {"type": "integer"}},
    "WWW-Authenticate": {"description": "what is missing (RFC 6750)", "schema": {"type": "string"}},
    "RateLimit": {"description": "what is left of the key's share, and the seconds until all of it is back", "schema": {"type": "string"}},
    "RateLimit-Policy": {"description": "the key's share: requests in a window of seconds", "schema": {"type": "string"}},
}
_HEADERS_OF: Final[Mapping[int, tuple[str, ...]]] = {
    401: ("WWW-Authenticate",),
    403: ("WWW-Authenticate",),
    425: ("Retry-After",),
    429: ("Retry-After", "RateLimit", "RateLimit-Policy"),
    503: ("Retry-After",),
}


def _problem(status: int) -> dict[str, Any]:
    return _described(status, *_WHEN[status])


def _described(status: int, code: str, description: str) -> dict[str, Any]:
    example: dict[str, Any] = {
        "type": f"urn:fourfold:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": description,
        "request_id": "0b6f7a52d1e24c0f",
        "errors": [{"field": "query", "message": "the query is empty"}] if status == 422 else [],
    }
    response: dict[str, Any] = {
        "description": description,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}, "example": example}},
    }
    if status in _HEADERS_OF and code != "not_signed":
        response["headers"] = {name: _HEADERS[name] for name in _HEADERS_OF[status]}
    return response


def document(app: FastAPI) -> dict[str, Any]:
    """The whole document; the same for every deployment."""
    spec = get_openapi(
        title="Fourfold",
        version=__version__,
        summary="Answers any question about code.",
        description=DESCRIPTION,
        routes=app.routes,
        license_info={"name": "MIT", "identifier": "MIT"},
        tags=[
            {"name": "search", "description": "Ask a question about code."},
            {"name": "symbols", "description": "Definitions, their uses, and what a change reaches."},
            {"name": "scopes", "description": "Named sets of repositories and filters."},
            {"name": "repositories", "description": "What is indexed, and from where."},
            {"name": "jobs", "description": "Index runs."},
            {"name": "access", "description": "Keys, and the log of what they did."},
            {"name": "operations", "description": "Health and metrics."},
        ],
    )
    schemas = spec["components"]["schemas"]
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= problem.pop("$defs") | {"Problem": problem}
    streamed = StreamedList.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= streamed.pop("$defs") | {"StreamedList": streamed}
    for model in _WITH_EXAMPLES:  # FastAPI drops what is null from examples
        schemas[model.__name__]["examples"] = cast(dict[str, Any], model.model_config["json_schema_extra"])["examples"]
    for content in _json_contents(spec):
        _copy_example(content, schemas)
    _secure(spec)
    return spec


def _secure(spec: dict[str, Any]) -> None:
    """What each call needs, and the refusals that come with it."""
    spec["components"]["securitySchemes"] = {
        _KEY: {"type": "http", "scheme": "bearer", "description": "An API key, `ff_…`; the scope that a call needs stands beside it."}
    }
    refusals = {str(status): _problem(status) for status in (403, 429)}
    refusals["401"] = _described(401, "not_authenticated", "The key is missing, unknown, expired or revoked.")
    for operation in (operation for path in spec["paths"].values() for operation in path.values()):
        needs = NEEDS[operation["operationId"]]
        if needs in (Needs.NOTHING, Needs.SIGNED):
            operation["security"] = []
            continue
        operation["security"] = [{_KEY: [needs.value]}]
        operation["responses"] = dict(sorted(({"503": _problem(503)} | operation["responses"] | refusals).items()))


def as_text(spec: dict[str, Any]) -> str:
    """The document as it is committed: stable under unrelated changes."""
    return json.dumps(spec, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _json_contents(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for path in spec["paths"].values():
        for operation in path.values():
            for part in (operation.get("requestBody", {}), *operation["responses"].values()):
                content = part.get("content", {}).get("application/json")
                if content is not None:
                    yield content


def _copy_example(content: dict[str, Any], schemas: dict[str, Any]) -> None:
    """Tools look for examples at the request and the answer, not at their schema."""
    schema = content.get("schema", {})
    name = (schema | schema.get("anyOf", [{}])[0]).get("$ref", "").rpartition("/")[2]  # a body that may be absent is one of two
    examples = schemas.get(name, {}).get("examples")
    if examples and "example" not in content:
        content["example"] = examples[0]
