"""Every error as ``application/problem+json`` (RFC 9457), with a ``type`` that programs can rely on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from app.domain.errors import FourfoldError, InvalidRequest, NotAllowed, NotAuthenticated
from app.http.access import challenge
from app.http.admission import NoPlace
from app.http.field_names import fields_beside, meant
from app.http.schemas.fields import FORMS

MEDIA_TYPE: Final = "application/problem+json"

_log = structlog.get_logger("app.http")


class FieldError(BaseModel):
    """One field that is not valid."""

    field: str = Field(description="the field as sent, nested ones joined by dots", examples=["filters.languages.0"])
    message: str = Field(examples=["Input should be 'quick', 'balanced' or 'thorough'"])


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(description="stable URN of the kind of problem", examples=["urn:fourfold:problem:invalid_request"])
    title: str = Field(examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(description="a sentence for people; may change", examples=["query: the query is empty"])
    request_id: str = Field(description="the X-Request-Id of this request, also in the service's log", examples=["0b6f7a52d1e24c0f"])
    errors: list[FieldError] = Field(default=[], description="the fields that are not valid; empty when no field is to blame")


class ProblemResponse(Response):
    """A problem on its way to the client. Text that is no valid Unicode is escaped, never sent raw."""

    media_type = MEDIA_TYPE

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        request_id: str,
        errors: Sequence[FieldError] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        title = HTTPStatus(status).phrase
        body = Problem(
            type=f"urn:fourfold:problem:{code}",
            title=title,
            status=status,
            detail=_valid_unicode(detail),
            request_id=request_id,
            errors=[FieldError(field=_valid_unicode(error.field), message=_valid_unicode(error.message)) for error in errors],
        )
        super().__init__(json.dumps(body.model_dump(), ensure_ascii=False), status, headers)


MOST_ERRORS: Final = 100
"""Fields that a problem names at most: an answer should not be larger than its question."""

HTTP_CODES: Final = {
    400: "malformed",
    403: "cross_site",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    413: "payload_too_large",
    415: "unsupported_media_type",
    421: "other_host",
    431: "head_too_large",
}


def install(app: FastAPI) -> None:
    """Answer every exception that a route can raise; what is left is caught by the ``RequestContext`` middleware."""
    app.add_exception_handler(FourfoldError, of_fourfold)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(HTTPException, of_http)


def problem_of(response: ProblemResponse) -> Problem:
    """A problem as a part of an answer."""
    problem: Problem = Problem.model_validate_json(bytes(response.body))
    return problem


def invalid(items: Sequence[Mapping[str, Any]], request_id: str, body: Any = None) -> ProblemResponse:
    """The problem for fields that are not valid, from pydantic's description of each; ``loc`` begins with where it came from.

    ``body``: the type of the request's body, if it has one.
    """
    errors = [FieldError(field=_field(item["loc"]), message=_message(item, body)) for item in items[:MOST_ERRORS]]
    detail = "; ".join(f"{entry.field}: {entry.message}" for entry in errors[:3])
    return ProblemResponse(422, InvalidRequest.code, detail, request_id=request_id, errors=errors)


def from_error(error: FourfoldError, request_id: str) -> ProblemResponse:
    """The problem for a domain error; an internal one keeps its message for the log."""
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    errors = [FieldError(field=error.field, message=error.message)] if error.field else []
    detail = error.message if error.status < 500 or error.status == 503 else "Something went wrong inside the service."
    return ProblemResponse(error.status, error.code, detail, request_id=request_id, errors=errors, headers=headers)


def internal(request_id: str) -> ProblemResponse:
    """The problem for a fault of the service; the log has the rest under the same request id."""
    return ProblemResponse(500, "internal", "Something went wrong inside the service.", request_id=request_id)


def of_fourfold(request: Request, error: Exception) -> Response:
    """The problem for a domain error of this request, logged where it is the service's."""
    assert isinstance(error, FourfoldError)
    if isinstance(error, NoPlace):
        request.scope["state"]["refusal"] = error
    elif error.status == 500:
        _log.error("request failed", code=error.code, reason=error.message, exc_info=error)
    elif error.status > 500:
        _log.warning("request refused", code=error.code, reason=error.message)
    response = from_error(error, _request_id(request))
    if isinstance(error, NotAuthenticated | NotAllowed):
        response.headers.update(challenge(error, request))
    return response


def _validation(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    items = error.errors()
    if any(item["type"] == "json_invalid" for item in items):
        return ProblemResponse(400, "malformed", f"The body is not JSON: {_reason(items[0])}", request_id=_request_id(request))
    return invalid(items, _request_id(request), _body_type(request))


def _body_type(request: Request) -> Any:
    """What the body of a request should be; None for a call without one."""
    route = request.scope.get("route")
    return route.body_field.field_info.annotation if isinstance(route, APIRoute) and route.body_field else None


def of_http(request: Request, error: Exception) -> Response:
    """The problem for an error of the protocol."""
    assert isinstance(error, HTTPException)
    status, detail, headers = error.status_code, str(error.detail), dict(error.headers or {})
    if status == 404 and detail == HTTPStatus.NOT_FOUND.phrase:
        detail = "There is nothing at this address; see /docs."
    if status == 405:
        headers["Allow"] = ", ".join(_allowed_methods(request))
        detail = f"Allowed here: {headers['Allow']}."
    return ProblemResponse(status, HTTP_CODES.get(status, "http_error"), detail, request_id=_request_id(request), headers=headers)


def _allowed_methods(request: Request) -> list[str]:
    """Of all routes of this path: Starlette names only the first one's."""
    methods: set[str] = set()
    for route in request.app.state.routes:
        match, _ = route.matches(request.scope)
        if match is Match.PARTIAL:
            methods |= getattr(route, "methods", set())
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _field(location: Sequence[int | str]) -> str:
    """``("body", "filters", "languages", 0)`` → ``filters.languages.0``; the source of a parameter is no part of its name."""
    parts = location[1:] if location and location[0] in ("body", "query", "path", "header") else location
    return ".".join(str(part) for part in parts) or str(location[0])


_MESSAGES: Final = {
    "extra_forbidden": "unknown field",
    "tuple_type": "Input should be a list",
    "model_attributes_type": "Input should be an object",
    "dict_type": "Input should be an object",
}
"""By pydantic's type, where its own words speak of Python."""


def _message(item: Mapping[str, Any], body: Any) -> str:
    if item["type"] == "extra_forbidden" and item["loc"][0] == "body" and isinstance(body, type) and issubclass(body, BaseModel):
        *within, name = item["loc"][1:]
        near = meant(str(name), fields_beside(body, (*within, name)))
        return "unknown field" + (f"; {'.'.join(map(str, (*within, near)))!r} is one" if near else "")
    if item["type"] == "too_long":
        return f"List should have at most {item['ctx']['max_length']} items"
    if item["type"] == "string_pattern_mismatch":
        pattern = item["ctx"]["pattern"]
        return f"Input should be {FORMS[pattern]}" if pattern in FORMS else f"Input should match {pattern}"
    return _MESSAGES.get(item["type"]) or str(item["msg"]).removeprefix("Value error, ")


def _reason(item: Mapping[str, Any]) -> str:
    return str(item.get("ctx", {}).get("error", item["msg"]))


def _request_id(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


def _valid_unicode(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\0")
