"""The interface speaks one language: what is called the same means the same in every call, and lists, times and errors look alike."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from app.http.app import openapi_document

PAGES_OF_OTHERS: Final = {"offset", "page", "page_size", "per_page", "size", "count", "skip", "after", "before", "next", "next_page_token"}

UNPAGED: Final = {
    "listAudit": "its pages are of no generation: entries are only added",
    "listJobs": "as listAudit",
    "getImpact": "each list is cut, and `complete` says so",
    "analyzeImpact": "as getImpact",
    "explainAbsence": "takes the parameters of a search",
}

ONE_TYPE: Final = {
    **dict.fromkeys(("repository", "revision", "path", "qualified", "language", "detail", "message", "code", "text", "query"), "string"),
    **dict.fromkeys(("start_line", "end_line", "line", "name_line", "generation", "depth", "distance", "column", "limit"), "integer"),
    **dict.fromkeys(("stale", "partial", "complete", "fuzzy", "explain", "literal"), "boolean"),
    **dict.fromkeys(("index", "warnings", "errors"), "array"),
    **dict.fromkeys(("cursor", "next_cursor"), "string"),
    **dict.fromkeys(("took_ms",), "number"),
    **dict.fromkeys(("total",), "object"),
}
"""Names that mean one thing wherever they stand. What may be null may be null beside."""

TIMED: Final = re.compile(r"_(at|ms|seconds)$")


@cache
def document() -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(openapi_document())
    return parsed


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document()["paths"].items():
        for operation in methods.values():
            if path.startswith("/v1/"):
                yield operation["operationId"], operation


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that a reference leads to; of what may be null, the other half."""
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        return resolved(options[0])
    if "$ref" in schema:
        found: dict[str, Any] = document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


def properties() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where it stands, name and schema of every field of every request and answer, and of every parameter."""
    for name, schema in document()["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            yield name, field, resolved(described)
    for operation_id, operation in operations():
        for parameter in operation.get("parameters", []):
            yield operation_id, parameter["name"], resolved(parameter["schema"])


def answer_of(operation: dict[str, Any]) -> dict[str, Any]:
    """The JSON that a call answers with when all is well; empty where it is something else."""
    good = next(response for status, response in sorted(operation["responses"].items()) if status.startswith("2"))
    schema = good.get("content", {}).get("application/json", {}).get("schema", {})
    return resolved(schema)


def request_fields(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Parameters, and fields of the body."""
    found = {parameter["name"]: resolved(parameter["schema"]) for parameter in operation.get("parameters", [])}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    return found | {name: resolved(schema) for name, schema in resolved(body).get("properties", {}).items()}


def test_names_are_written_alike() -> None:
    assert [(place, name) for place, name, _ in properties() if not re.fullmatch(r"[a-z][a-z0-9_]*", name)] == []
    assert [name for name, _ in operations() if not re.fullmatch(r"[a-z]+([A-Z][a-z]+)*", name)] == []


def test_a_name_means_the_same_everywhere() -> None:
    told = {(place, name): schema.get("type", "object" if "properties" in schema else None) for place, name, schema in properties()}
    wrong = {key: kind for key, kind in told.items() if key[1] in ONE_TYPE and kind != ONE_TYPE[key[1]]}
    assert wrong == {}
    assert {name for _, name in told} >= set(ONE_TYPE), "a name that nobody has any more"


def test_lists_have_pages_in_one_way() -> None:
    for name, operation in operations():
        asked, answered = request_fields(operation), answer_of(operation).get("properties", {})
        assert asked.keys() & PAGES_OF_OTHERS == set(), name
        assert ("cursor" in asked) == ("next_cursor" in answered) or name in UNPAGED or not answered, name
        if "limit" in asked:
            assert {"minimum", "maximum", "default"} <= asked["limit"].keys(), name
            assert "cursor" in asked or name in UNPAGED, name
        if "cursor" in asked and name not in UNPAGED:
            assert "limit" in asked, name
            assert "410" in operation["responses"], name
            assert not answered or "index" in answered, f"{name}: pages are of one generation, and say of which"
    known = {name for name, _ in operations()}
    assert set(UNPAGED) <= known


def test_answers_are_objects_and_totals_look_alike() -> None:
    for name, operation in operations():
        answer = answer_of(operation)
        assert answer == {} or "properties" in answer or "anyOf" in answer, f"{name}: a list has no place for what is said beside it"
    totals = [schema for _, name, schema in properties() if name == "total"]
    assert len(totals) >= 4
    for total in totals:
        assert total["properties"]["results"]["type"] == "integer"
        assert total["properties"]["relation"]["enum"] == ["exact", "lower_bound"]


def test_times_and_durations_look_alike() -> None:
    for place, name, schema in properties():
        assert (schema.get("format") == "date-time") == name.endswith("_at"), (place, name)
        if match := TIMED.search(name):
            assert schema.get("type") in (("string",) if match[1] == "at" else ("integer", "number")), (place, name)


def test_every_error_is_the_same_problem() -> None:
    seen: dict[tuple[str, str], set[str]] = {}
    kinds: dict[str, set[str]] = {}
    for name, operation in operations():
        for status, response in operation["responses"].items():
            if status >= "400":
                assert list(response["content"]) == ["application/problem+json"], (name, status)
                content = response["content"]["application/problem+json"]
                assert content["schema"] == {"$ref": "#/components/schemas/Problem"}, (name, status)
                example = content["example"]
                seen.setdefault((status, example["type"]), set()).add(json.dumps(example, sort_keys=True))
                kinds.setdefault(status, set()).add(example["type"].rpartition(":")[2])
    assert {key: len(examples) for key, examples in seen.items() if len(examples) > 1} == {}
    assert {status: of for status, of in kinds.items() if len(of) > 1} == {"401": {"not_authenticated", "not_signed"}}
