"""What holds for every call: problems, ids, sizes, kinds of body, compression."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from app.http.app import MAX_BODY_BYTES
from app.observability import logging
from app.ports import Readiness

from .test_search import problem_of
from .twins import MemoryService

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("path", "detail"),
    [
        ("/v1/search?q=x&repository=api", "'repository' is no parameter of this call; 'repositories' is"),
        ("/v1/search?query=x", "'query' is no parameter of this call; 'q' is"),
        ("/v1/search?q=x&limmit=3", "'limmit' is no parameter of this call; 'limit' is"),
        ("/v1/repositories?zzz=1", "'zzz' is no parameter of this call"),
        ("/v1/symbols/url_for", "id: Input should be an id of 16 hexadecimal digits, as a list shows it"),
        ("/v1/files?repository=api&path=a.py&lines=x", "lines: Input should be lines such as 12, 40-60 or 40-"),
    ],
)
def test_what_is_wrong_is_said_in_words(client: TestClient, path: str, detail: str) -> None:
    assert problem_of(client.get(path), 422, "invalid_request")["detail"] == detail


def test_an_unknown_address(client: TestClient) -> None:
    for path in ("/v2/search", "/v1/search/", "/v1/repositories/a/b/c", "/%00", "/favicon.ico"):
        problem_of(client.get(path), 404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/search", "GET, HEAD, POST"),
        ("POST", "/v1/repositories/api", "DELETE, GET, HEAD, PUT"),
        ("GET", "/v1/classify", "POST"),
        ("GET", "/v1/repositories/api/index", "POST"),
        ("PUT", "/v1/jobs/1", "DELETE, GET, HEAD"),
        ("POST", "/livez", "GET, HEAD"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(client: TestClient, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path)
    problem_of(answer, 405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    "path", ["/livez", "/readyz", "/v1/repositories", "/v1/search?q=x&repositories=api", "/docs", "/v1/repositories/none", "/nowhere"]
)
def test_head_is_get_without_the_body(client: TestClient, path: str) -> None:
    plain = {"accept-encoding": "identity", "x-request-id": "same"}
    head, get = client.head(path, headers=plain), client.get(path, headers=plain)
    assert (head.status_code, head.content) == (get.status_code, b"")
    assert head.headers == get.headers


def test_head_where_nothing_can_be_got(client: TestClient) -> None:
    answer = client.head("/v1/classify")
    assert (answer.status_code, answer.headers["allow"], answer.content) == (405, "POST", b"")


def test_messages_speak_of_json(client: TestClient) -> None:
    for body, field, message in (
        ({"query": "x", "repositories": "flask"}, "repositories", "Input should be a list"),
        ({"query": "x", "modalities": {}}, "modalities", "Input should be a list"),
        ({"query": "x", "filters": []}, "filters", "Input should be an object"),
        ([], "body", "Input should be an object"),
        ({"query": "x", "repositories": ["a"] * 101}, "repositories", "List should have at most 100 items"),
    ):
        problem = problem_of(client.post("/v1/search", json=body), 422, "invalid_request")
        assert problem["errors"] == [{"field": field, "message": message}]


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x", "text/json", ""])
def test_only_json_is_read(client: TestClient, kind: str) -> None:
    headers = {"content-type": kind} if kind else {}
    for method, path in (("POST", "/v1/search"), ("POST", "/v1/classify"), ("PUT", "/v1/repositories/new")):
        problem_of(client.request(method, path, content=b'{"query": "x"}', headers=headers), 415, "unsupported_media_type")


def test_json_with_parameters_is_read(client: TestClient) -> None:
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/merge-patch+json"):
        assert client.post("/v1/classify", content=b'{"query": "x"}', headers={"content-type": kind}).status_code == 200


def test_a_body_that_is_too_large_is_refused(client: TestClient) -> None:
    def streamed() -> Iterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 1_000 + 1):
            yield b" " * 1_000

    problem_of(client.post("/v1/search", content=b" " * (MAX_BODY_BYTES + 1), headers=JSON), 413, "payload_too_large")
    problem_of(client.post("/v1/search", content=streamed(), headers=JSON), 413, "payload_too_large")
    problem_of(client.post("/v1/search", content=b"{}", headers=JSON | {"content-length": "9" * 400}), 413, "payload_too_large")
    padded = b" " * (MAX_BODY_BYTES - 30) + b'{"query": "x"}'
    assert client.post("/v1/classify", content=padded, headers=JSON).status_code == 200


def test_every_answer_has_an_id(client: TestClient) -> None:
    assert client.get("/livez", headers={"x-request-id": "my-id.7"}).headers["x-request-id"] == "my-id.7"
    for unfit in ("", "a b", "x" * 65, "é", 'a"b'):
        made = client.get("/livez", headers=[(b"x-request-id", unfit.encode("latin-1"))]).headers["x-request-id"]
        assert re.fullmatch("[0-9a-f]{16}", made)
    assert client.get("/nowhere", headers={"x-request-id": "lost"}).json()["request_id"] == "lost"


def test_a_large_answer_is_compressed_and_a_small_one_is_not(client: TestClient) -> None:
    large = client.post("/v1/search", json={"query": "x", "repositories": ["api"]}, headers={"accept-encoding": "gzip"})
    assert (large.headers.get("content-encoding"), large.json()["query"]) == ("gzip", "x")
    assert "content-encoding" not in client.get("/livez", headers={"accept-encoding": "gzip"}).headers


def test_other_sites_get_no_permission(client: TestClient) -> None:
    answer = client.get("/v1/repositories", headers={"origin": "https://elsewhere.example"})
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_live_and_ready(client: TestClient, service: MemoryService) -> None:
    assert client.get("/livez").json()["status"] == "alive"
    assert client.get("/readyz").json() == {"status": "ready", "checks": [{"name": "store", "ok": True, "detail": "PostgreSQL 18.6"}]}
    service.health.checks.append(Readiness("migrations", False, "the schema is behind"))
    answer = client.get("/readyz")
    problem = problem_of(answer, 503, "not_ready")
    assert problem["errors"] == [{"field": "migrations", "message": "the schema is behind"}]
    assert "retry-after" in answer.headers
    assert client.get("/livez").status_code == 200


def test_pages_for_people(client: TestClient) -> None:
    assert client.get("/").json()["documentation"] == "/docs"
    docs = client.get("/docs")
    assert docs.headers["content-type"].startswith("text/html")
    assert docs.text.count("<section") == sum(len(path) for path in client.get("/openapi.json").json()["paths"].values())
    assert not re.findall(r"""(?:src|href|url\()\s*=?\s*["']?(?:https?:)?//""", docs.text)


async def test_a_fault_tells_nothing_and_is_logged_under_the_same_id(
    app: FastAPI, service: MemoryService, capsys: pytest.CaptureFixture[str]
) -> None:
    logging.configure("info", "json")  # to the stream that is captured here
    service.search.failure = ZeroDivisionError("secret detail")
    transport = httpx2.ASGITransport(app, raise_app_exceptions=False)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/v1/search?q=x&repositories=api", headers={"x-request-id": "find-me"})
    problem = problem_of(answer, 500, "internal")
    assert problem["request_id"] == "find-me"
    assert "secret" not in answer.text
    logged = capsys.readouterr().err
    assert "secret detail" in logged
    assert "find-me" in logged
