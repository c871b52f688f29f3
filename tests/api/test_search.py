from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.domain.errors import CursorExpired, Overloaded, QueryNotServable, StoreUnavailable
from app.domain.query import Dedupe, Filters, Modality, Preset, SearchRequest

from .twins import MemoryService

pytestmark = pytest.mark.anyio


def test_answer_has_the_documented_shape(client: TestClient) -> None:
    body = client.post("/v1/search", json={"query": "who calls parse_config", "repositories": ["api"]}).json()
    assert body["parsed_query"] == {"text": "who calls parse_config", "expression": None, "filters": {}}
    assert body["routing"] == {
        "intent": "find_references",
        "confidence": 0.9,
        "rule": "who_calls",
        "operands": ["parse_config"],
        "operand_missing": False,
        "relation": None,
        "outgoing": False,
        "fusion_strategy": "direct",
        "fallback_from": None,
        "rescored": False,
        "preset": "balanced",
        "modalities": [{"name": "graph", "weight": 0.5, "hits": 7, "took_ms": 2.1}],
        "degraded": [{"modality": "semantic", "reason": "store_unavailable"}],
        "unavailable": [],
    }
    (hit,) = body["results"]
    assert hit["chunk_id"] == "c7-1234"
    assert hit["symbol"] == {
        "id": "5d41402abc4b2a76",
        "name": "boot",
        "kind": "function",
        "signature": "def boot(path: Path) -> App",
        "qualified": "App.boot",
        "start_line": 41,
        "end_line": 58,
    }
    assert hit["highlights"] == [{"line": 44, "start": 11, "end": 23}]
    assert (hit["repository"], hit["revision"], hit["path"], hit["language"]) == ("api", "9f2c", "app/boot.py", "python")
    assert (hit["start_line"], hit["end_line"], hit["score"], hit["score_kind"]) == (41, 58, 0.0183, "graph")
    (evidence,) = hit["evidence"]
    assert (evidence["modality"], evidence["relation"], evidence["class"], evidence["line"], evidence["distance"]) == (
        "graph",
        "calls",
        "exact",
        44,
        1,
    )
    assert hit["more_in_file"] == [{"start_line": 90, "end_line": 97}]
    assert body["total"] == {"results": 1, "lines": None, "relation": "exact"}
    assert body["index"] == [
        {"repository": "api", "revision": "9f2c", "generation": 12, "indexed_at": "2025-01-31T12:00:00Z", "stale": False}
    ]
    assert body["coverage"] == {
        "files": 412,
        "skipped": 3,
        "embeddings_pending": 5,
        "embeddings_failed": 0,
        "embeddings_withheld": 0,
        "by_outcome": {"indexed": 400, "text_only": 12},
    }
    assert body["warnings"] == [{"code": "semantic_degraded", "message": "semantic search ran out of time"}]
    assert (body["relevance"], body["partial"], body["next_cursor"], body["absence"], body["took_ms"]) == ("strong", True, None, None, 3.4)


FULL: dict[str, Any] = {
    "query": "boot",
    "repositories": ["api"],
    "preset": "thorough",
    "modalities": ["text", "graph"],
    "literal": True,
    "filters": {
        "languages": ["python", "go"],
        "paths": ["src/**", "!src/old/**"],
        "kinds": ["class"],
        "symbols": ["App"],
        "include_tests": True,
        "include_docs": True,
        "include_vendor": True,
        "case": True,
        "regex": True,
        "word": True,
        "without": ["legacy"],
        "revision": "main",
    },
    "limit": 100,
    "cursor": "abc",
    "dedupe": "none",
    "snippet_lines": 7,
    "max_bytes": 5000,
    "timeout_ms": 900,
    "explain": True,
    "rescore": False,
    "like": ["c7-1234", "5d41402abc4b2a76"],
    "unlike": ["c7-98"],
}
FULL_REQUEST = SearchRequest(
    query="boot",
    repositories=("api",),
    preset=Preset.THOROUGH,
    modalities=(Modality.TEXT, Modality.GRAPH),
    literal=True,
    filters=Filters(
        ("python", "go"), ("src/**", "!src/old/**"), ("class",), ("App",), True, True, True, True, True, True, ("legacy",), (), "main"
    ),
    limit=100,
    cursor="abc",
    dedupe=Dedupe.NONE,
    snippet_lines=7,
    max_bytes=5000,
    timeout_ms=900,
    explain=True,
    rescore=False,
    like=("c7-1234", "5d41402abc4b2a76"),
    unlike=("c7-98",),
)


def test_examples_need_no_question(client: TestClient, service: MemoryService) -> None:
    assert client.post("/v1/search", json={"like": ["c7-1234"], "repositories": ["api"]}).status_code == 200
    assert client.get("/v1/search", params={"like": "c7-1234,c7-98", "repositories": "api"}).status_code == 200
    assert [(asked.query, asked.like) for asked in service.search.asked] == [("", ("c7-1234",)), ("", ("c7-1234", "c7-98"))]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "query"),
        ({"query": " "}, "query"),
        ({"unlike": ["c7-1"]}, "query"),
        ({"like": ["7-1"]}, "like.0"),
        ({"like": ["c7-1 "]}, "like.0"),
    ],
)
def test_a_search_for_nothing_is_refused(client: TestClient, body: dict[str, Any], field: str) -> None:
    answer = client.post("/v1/search", json=body)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (422, [field])


def test_every_field_reaches_the_search(client: TestClient, service: MemoryService) -> None:
    answer = client.post("/v1/search", json=FULL)
    assert answer.status_code == 200, answer.text
    assert service.search.asked == [FULL_REQUEST]
    assert answer.json()["parsed_query"]["filters"] == FULL["filters"]


def test_the_link_asks_the_same(client: TestClient, service: MemoryService) -> None:
    parameters = {key: value for key, value in FULL.items() if key not in ("query", "filters")} | FULL["filters"] | {"q": "boot"}
    answer = client.get("/v1/search", params=parameters)
    assert answer.status_code == 200, answer.text
    joined = {key: ",".join(value) if isinstance(value, list) else value for key, value in parameters.items()}
    assert client.get("/v1/search", params=joined).status_code == 200
    assert service.search.asked == [FULL_REQUEST, FULL_REQUEST]


def test_defaults(client: TestClient, service: MemoryService) -> None:
    client.post("/v1/search", json={"query": "boot", "repositories": ["api"]})
    client.get("/v1/search", params={"q": "boot", "repositories": "api"})
    assert service.search.asked == [SearchRequest("boot", ("api",))] * 2


BAD_BODIES: list[tuple[dict[str, Any], str]] = [
    ({}, "query"),
    ({"query": ""}, "query"),
    ({"query": " \n\t "}, "query"),
    ({"query": "x" * 10_001}, "query"),
    ({"query": "a\0b"}, "query"),
    ({"query": 7}, "query"),
    ({"query": None}, "query"),
    ({"query": "x", "preset": "fast"}, "preset"),
    ({"query": "x", "modalities": ["psychic"]}, "modalities.0"),
    ({"query": "x", "modalities": "text"}, "modalities"),
    ({"query": "x", "dedupe": "some"}, "dedupe"),
    ({"query": "x", "limit": 0}, "limit"),
    ({"query": "x", "limit": 101}, "limit"),
    ({"query": "x", "limit": 1e300}, "limit"),
    ({"query": "x", "timeout_ms": 0}, "timeout_ms"),
    ({"query": "x", "timeout_ms": 10_001}, "timeout_ms"),
    ({"query": "x", "cursor": "a\0"}, "cursor"),
    ({"query": "x", "repositories": ["a\0"]}, "repositories.0"),
    ({"query": "x", "repositories": ["api"] * 101}, "repositories"),
    ({"query": "x", "filters": {"kinds": ["verb"]}}, "filters.kinds.0"),
    ({"query": "x", "filters": {"paths": ["a\0"]}}, "filters.paths.0"),
    ({"query": "x", "filters": {"speed": 1}}, "filters.speed"),
    ({"query": "x", "k": 60}, "k"),
]


@pytest.mark.parametrize(("body", "field"), BAD_BODIES)
def test_a_bad_field_is_named(client: TestClient, body: dict[str, Any], field: str) -> None:
    problem = problem_of(client.post("/v1/search", json=body), 422, "invalid_request")
    assert [entry["field"] for entry in problem["errors"]] == [field]


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (rb'{"query": "\ud800"}', "query"),
        (rb'{"query": "a\udfffb"}', "query"),
        (rb'{"query": "x", "\ud800": 1}', "body"),
        (rb'{"query": "x", "preset": "\ud800"}', "preset"),
        (rb'{"query": "x", "filters": {"languages": ["\udc00"]}}', "filters.languages.0"),
        (b'{"query": "x", "query": "y"}', "query"),
        (b'{"query": "x", "filters": {"case": true, "regex": true, "case": false}}', "filters.case"),
        (b"[]", "body"),
        (b"null", "body"),
        (b"", "body"),
    ],
)
def test_text_that_is_no_unicode_is_refused(client: TestClient, raw: bytes, field: str) -> None:
    answer = client.post("/v1/search", content=raw, headers={"content-type": "application/json"})
    assert [entry["field"] for entry in problem_of(answer, 422, "invalid_request")["errors"]] == [field]


@pytest.mark.parametrize(
    "raw",
    [
        b"{",
        b'{"query": }',
        b"\xff\xfe",
        b'{"query": "\xff"}',
        b"[" * 100_000,
        b'{"limit": ' + b"9" * 5_000 + b"}",
        b'{"query": "x", "wait": NaN}',
    ],
)
def test_a_body_that_is_no_json_is_malformed(client: TestClient, raw: bytes) -> None:
    problem_of(client.post("/v1/search", content=raw, headers={"content-type": "application/json"}), 400, "malformed")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "q"),
        ("q=", "q"),
        ("q=%00", "q"),
        ("q=%ED%A0%80", "q"),
        ("q=%FF", "q"),
        ("q=" + "x" * 10_001, "q"),
        ("q=x&limit=ten", "limit"),
        ("q=x&preset=fast", "preset"),
        ("q=x&modalities=text,psychic", "modalities.1"),
        ("q=x&modality=text", "modality"),
        ("q=x&timeout_ms=999999", "timeout_ms"),
        ("q=x&explain=perhaps", "explain"),
    ],
)
def test_a_bad_parameter_is_named(client: TestClient, query: str, field: str) -> None:
    problem = problem_of(client.get(f"/v1/search?{query}"), 422, "invalid_request")
    assert [entry["field"] for entry in problem["errors"]] == [field]


def test_the_longest_query_is_answered(client: TestClient) -> None:
    assert client.post("/v1/search", json={"query": "𝒳" * 10_000, "repositories": ["api"]}).status_code == 200


def test_an_unknown_repository_is_named(client: TestClient) -> None:
    for answer in (
        client.post("/v1/search", json={"query": "x", "repositories": ["nope"]}),
        client.get("/v1/search?q=x&repositories=nope"),
    ):
        problem = problem_of(answer, 404, "repository_not_found")
        assert problem["errors"] == [{"field": "repositories", "message": "there is no repository named 'nope'"}]


def test_a_repository_without_an_index_asks_to_come_back(client: TestClient) -> None:
    answer = client.post("/v1/search", json={"query": "x", "repositories": ["fresh"]})
    problem_of(answer, 425, "not_indexed")
    assert answer.headers["retry-after"] == "2"


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (QueryNotServable("no trigram", field="query"), 422, "query_not_servable"),
        (CursorExpired(), 410, "cursor_expired"),
        (StoreUnavailable(retry_after=2), 503, "store_unavailable"),
        (Overloaded(retry_after=1), 503, "overloaded"),
        (ZeroDivisionError("secret detail"), 500, "internal"),
    ],
)
def test_failures_are_problems(app: FastAPI, service: MemoryService, failure: Exception, status: int, code: str) -> None:
    service.search.failure = failure
    with TestClient(app, raise_server_exceptions=False) as client:
        answer = client.post("/v1/search", json={"query": "x", "repositories": ["api"]})
        problem_of(answer, status, code)
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
        assert ("retry-after" in answer.headers) == (status == 503)


def test_a_classification_has_the_routing_fields_at_the_top(client: TestClient) -> None:
    body = client.post("/v1/classify", json={"query": "who calls parse_config"}).json()
    assert body == {
        "intent": "find_references",
        "confidence": 0.9,
        "rule": "who_calls",
        "operands": ["parse_config"],
        "operand_missing": False,
        "relation": None,
        "outgoing": False,
        "fusion_strategy": "direct",
        "fallback_from": None,
        "rescored": False,
        "preset": "balanced",
        "modalities": [{"name": "graph", "weight": 0.5, "hits": None, "took_ms": None}],
        "degraded": [],
        "unavailable": [],
    }
    problem_of(client.post("/v1/classify", json={"query": "x", "limit": 3}), 422, "invalid_request")
    problem_of(client.post("/v1/classify", json={"query": "\0"}), 422, "invalid_request")


async def test_more_searches_than_places_are_sent_away(async_client: httpx2.AsyncClient, service: MemoryService) -> None:
    service.search.block = asyncio.Event()
    body = {"query": "x", "repositories": ["api"]}
    held = [asyncio.create_task(async_client.post("/v1/search", json=body)) for _ in range(2)]
    await asyncio.wait(held, timeout=0.1)
    assert len(service.search.asked) == 2
    answer = await async_client.post("/v1/search", json=body)
    problem_of(answer, 503, "overloaded")
    assert answer.headers["retry-after"] == "1"
    assert len(service.search.asked) == 2
    service.search.block.set()
    assert [(await task).status_code for task in held] == [200, 200]
    assert (await async_client.post("/v1/search", json=body)).status_code == 200


async def test_a_client_that_leaves_cancels_its_search_and_frees_its_place(app: FastAPI, service: MemoryService) -> None:
    service.search.block = asyncio.Event()
    messages = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await service.search.entered.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/v1/search", "query_string": b"q=x&repositories=api", "headers": []}
    async with app.router.lifespan_context(app):
        for attempt in range(3):  # more than there are places
            sent: list[dict[str, Any]] = []
            await asyncio.wait_for(app(dict(scope), receive, send), 5)  # type: ignore[arg-type]
            assert service.search.cancelled == attempt + 1
            messages.append({"type": "http.request", "body": b"", "more_body": False})


def problem_of(answer: Any, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["type"] == f"urn:fourfold:problem:{code}"
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    assert problem["request_id"] == answer.headers["x-request-id"]
    return problem
