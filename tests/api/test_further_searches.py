"""Searches in other forms: step by step, many at once, within a saved scope; files and why one is not shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.domain.query import Filters, SearchRequest

from .test_search import problem_of
from .twins import MemoryService


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_stream_tells_each_step(client: TestClient) -> None:
    answer = client.post("/v1/search/stream", json={"query": "who calls parse_config", "repositories": ["api"]})
    assert answer.headers["content-type"].startswith("text/event-stream")
    told = events(answer.text)
    assert [name for name, _ in told] == ["routing", "results", "results", "done"]
    assert told[0][1]["intent"] == "find_references"
    assert [(data["modality"], data["degraded"]) for _, data in told[1:3]] == [("semantic", "timeout"), ("graph", None)]
    plain = client.post("/v1/search", json={"query": "who calls parse_config", "repositories": ["api"]}).json()
    assert told[-1][1] == plain


def test_a_stream_that_cannot_begin_is_a_problem(client: TestClient) -> None:
    problem_of(client.post("/v1/search/stream", json={"query": "x", "repositories": ["none"]}), 404, "repository_not_found")
    problem_of(client.post("/v1/search/stream", json={"query": ""}), 422, "invalid_request")


@pytest.mark.parametrize(("query", "code"), [("break", "store_unavailable"), ("crash", "internal")])
def test_a_stream_that_fails_later_says_so(client: TestClient, query: str, code: str) -> None:
    told = events(client.post("/v1/search/stream", json={"query": query, "repositories": ["api"]}).text)
    assert [name for name, _ in told] == ["routing", "error"]
    assert told[-1][1]["type"] == f"urn:fourfold:problem:{code}"


def test_a_batch_answers_each_search(client: TestClient) -> None:
    searches = [
        {"query": "x", "repositories": ["api"]},
        {"query": "y", "repositories": ["none"]},
        {"query": "z", "repositories": ["fresh"]},
    ]
    body = client.post("/v1/search/batch", json={"searches": searches}).json()
    assert [entry["status"] for entry in body["answers"]] == [200, 404, 425]
    assert body["answers"][0]["answer"]["query"] == "x"
    assert body["answers"][1]["problem"]["errors"][0]["field"] == "repositories"
    assert body["answers"][1]["answer"] is None


@pytest.mark.parametrize(
    ("search", "field"),
    [
        ({}, "query"),
        ({"query": " "}, "query"),
        ({"query": "x", "limit": "10"}, "limit"),
        ({"query": "x", "filters": {"languages": [""]}}, "filters.languages.0"),
        ({"query": "x", "colour": "red"}, "colour"),
        ({"query": "x", "timeout_ms": 3_000_000}, "timeout_ms"),
    ],
)
def test_a_search_of_a_batch_that_is_not_valid_has_a_problem_of_its_own(client: TestClient, search: dict[str, Any], field: str) -> None:
    good = {"query": "x", "repositories": ["api"]}
    answer = client.post("/v1/search/batch", json={"searches": [good, search, good]})
    assert [entry["status"] for entry in answer.json()["answers"]] == [200, 422, 200]
    problem = answer.json()["answers"][1]["problem"]
    alone = problem_of(client.post("/v1/search", json=search), 422, "invalid_request")
    assert problem == alone | {"request_id": problem["request_id"]}
    assert [error["field"] for error in problem["errors"]] == [field]


@pytest.mark.parametrize(
    ("searches", "field"),
    [
        ([], "searches"),
        ([{"query": "x"}] * 51, "searches"),
        ([{"query": "x"}, "y"], "searches.1"),
    ],
)
def test_a_batch_that_is_wrong_is_refused(client: TestClient, searches: list[Any], field: str) -> None:
    problem = problem_of(client.post("/v1/search/batch", json={"searches": searches}), 422, "invalid_request")
    assert [error["field"] for error in problem["errors"]] == [field]


def test_a_scope_is_saved_read_listed_and_deleted(client: TestClient) -> None:
    body = {"description": "d", "repositories": ["api"], "filters": {"languages": ["python"], "paths": ["!tests/**"]}}
    created = client.put("/v1/scopes/backend", json=body)
    assert (created.status_code, created.headers["location"]) == (201, "/v1/scopes/backend")
    assert client.put("/v1/scopes/backend", json=body).status_code == 200
    saved = client.get("/v1/scopes/backend").json()
    assert saved == {"name": "backend", "changed_at": "2025-01-31T12:00:00Z", **body}
    assert client.get("/v1/scopes").json() == {"scopes": [saved]}
    assert client.delete("/v1/scopes/backend").status_code == 204
    for method in ("GET", "DELETE"):
        problem_of(client.request(method, "/v1/scopes/backend"), 404, "scope_not_found")
    problem_of(client.put("/v1/scopes/bad name", json=body), 422, "invalid_request")


def test_a_scope_reaches_the_search(client: TestClient, service: MemoryService) -> None:
    client.get("/v1/search?q=x&scope=backend&repositories=api")
    assert service.search.asked == [SearchRequest("x", ("api",), scope="backend")]


def test_the_parameters_of_a_search_explain_an_absence(client: TestClient) -> None:
    answer = client.get("/v1/why-not?q=x&repository=api&path=a.py&languages=go,rust").json()
    assert (answer["gate"], answer["rank"], answer["path"]) == ("shown", 1, "a.py")
    for query in ("q=x&repository=api", "q=x&path=a.py", "repository=api&path=a.py"):
        problem_of(client.get(f"/v1/why-not?{query}"), 422, "invalid_request")


@pytest.mark.parametrize("lines", ["0", "1-0x", "-4", "a", "5-4-3", "1,2", "9-2"])
def test_lines_that_are_none(client: TestClient, lines: str) -> None:
    problem = problem_of(client.get(f"/v1/files?repository=api&path=a.py&lines={lines}"), 422, "invalid_request")
    assert problem["errors"][0]["field"] == "lines"


def test_a_file_that_is_not_there(client: TestClient) -> None:
    problem_of(client.get("/v1/files?repository=api&path=a.py"), 404, "file_not_found")


@pytest.mark.parametrize(
    "body",
    [
        {"limit": "10"},
        {"limit": True},
        {"limit": 2.5},
        {"explain": 1},
        {"literal": "yes"},
        {"filters": {"case": "true"}},
        {"timeout_ms": "5"},
    ],
)
def test_json_is_not_converted(client: TestClient, body: dict[str, Any]) -> None:
    assert client.post("/v1/search", json={"query": "x", **body}).status_code == 422


def test_whole_numbers_may_be_written_with_a_point(client: TestClient, service: MemoryService) -> None:
    assert client.post("/v1/search", json={"query": "x", "limit": 10.0, "repositories": ["api"]}).status_code == 200
    assert service.search.asked[0].limit == 10


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/search?q=a&q=b", "q"),
        ("/v1/search?q=x&limit=1&limit=2", "limit"),
        ("/v1/jobs?limit=1&limit=2", "limit"),
        ("/v1/repositories?x=1", "x"),
        ("/v1/repositories/api?pretty", "pretty"),
        ("/v1/symbols?name=a&name=b", "name"),
    ],
)
def test_a_parameter_that_is_unknown_or_given_twice(client: TestClient, path: str, field: str) -> None:
    problem = problem_of(client.get(path), 422, "invalid_request")
    assert [error["field"] for error in problem["errors"]] == [field]


def test_lists_may_be_repeated(client: TestClient, service: MemoryService) -> None:
    client.get("/v1/search?q=x&repositories=api&languages=go&languages=rust,c&without=a&without=b")
    assert service.search.asked[0].filters == Filters(languages=("go", "rust", "c"), without=("a", "b"))
