"""Several searches in one call."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import ConfigDict, Field, WithJsonSchema

from app.http.problems import Problem
from app.http.schemas.fields import JsonModel
from app.http.schemas.search_answer import ANSWER_EXAMPLE, AnswerShape, Shape

MOST_SEARCHES: Final = 50

BATCH_EXAMPLE: Final[dict[str, Any]] = {
    "searches": [{"query": "who calls parse_config"}, {"query": "ECONNREFUSED", "repositories": ["gone"]}]
}


_SEARCH: Final[dict[str, Any]] = {"anyOf": [{"$ref": "#/components/schemas/SearchBody"}, {"type": "object"}]}
"""Every object is taken, so that a search that is not valid gets its own problem; what is valid the first part says."""


class BatchBody(JsonModel):
    """Up to 50 searches."""

    model_config = ConfigDict(json_schema_extra={"examples": [BATCH_EXAMPLE]})

    searches: Annotated[list[Annotated[dict[str, Any], WithJsonSchema(_SEARCH)]], Field(min_length=1, max_length=MOST_SEARCHES)]
    """Each as `POST /v1/search` takes it; one that is not valid has a problem as its answer."""


class BatchEntry(Shape):
    """What one search would have been answered with."""

    status: int
    """The status it would have had."""
    answer: AnswerShape | None
    problem: Problem | None


ENTRIES_EXAMPLE: Final[dict[str, Any]] = {
    "answers": [
        {"status": 200, "answer": ANSWER_EXAMPLE, "problem": None},
        {
            "status": 404,
            "answer": None,
            "problem": {
                "type": "urn:fourfold:problem:repository_not_found",
                "title": "Not Found",
                "status": 404,
                "detail": "there is no repository named 'gone'",
                "request_id": "0b6f7a52d1e24c0f",
                "errors": [{"field": "repositories", "message": "there is no repository named 'gone'"}],
            },
        },
    ],
    "took_ms": 9.8,
}


class BatchAnswer(Shape):
    """One entry per search, in their order; one that fails does not keep the others from their answers."""

    model_config = ConfigDict(json_schema_extra={"examples": [ENTRIES_EXAMPLE]})

    answers: list[BatchEntry]
    took_ms: float
