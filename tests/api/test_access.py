"""Who is let in, how much, and what is written down: the application on twins of the stores."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from fastapi import APIRouter
from starlette.testclient import TestClient

from app.config import AccessSettings, Settings
from app.domain.access import ApiKey, KeyScope, Reach, name_regex
from app.domain.errors import ConfigurationError, StoreUnavailable, TooManyRequests
from app.http.access import Needs, check_complete, needs_of
from app.http.app import create_app
from app.http.limits import Limits
from app.http.serve import require_keys

from .twins import NOW, MemoryService, factory

pytestmark = pytest.mark.anyio

ADMIN = "000000000000000a"


def with_key(service: MemoryService, scope: KeyScope = KeyScope.ADMIN, *repositories: str) -> dict[str, str]:
    service.keys.stored[ADMIN] = ApiKey(ADMIN, "me", scope, repositories, NOW)
    return {"Authorization": f"Bearer {ADMIN}"}


def client_of(service: MemoryService, **settings: Any) -> TestClient:
    return TestClient(create_app(factory(service), Settings(**settings)), base_url="http://localhost")


def test_the_first_key_closes_the_service(service: MemoryService, client: TestClient) -> None:
    assert client.get("/v1/repositories").status_code == 200
    made = client.post("/v1/keys", json={"name": "first", "scope": "admin"})
    assert made.status_code == 201
    assert made.headers["location"] == f"/v1/keys/{made.json()['id']}"
    refused = client.get("/v1/repositories")
    assert (refused.status_code, refused.json()["type"]) == (401, "urn:fourfold:problem:not_authenticated")
    assert refused.headers["www-authenticate"] == 'Bearer realm="fourfold"'
    headers = {"Authorization": f"bearer {made.json()['token']}"}  # the scheme is written in any case
    assert client.get("/v1/repositories", headers=headers).status_code == 200
    assert client.delete(f"/v1/keys/{made.json()['id']}", headers=headers).json()["state"] == "revoked"
    assert client.get("/v1/repositories", headers=headers).status_code == 401
    assert client.get("/v1/repositories").status_code == 401, "a revoked key counts as one that was made"


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic bWU6c2VjcmV0", "ff_x", "Bearer a b", "Bearer \xe9"])
def test_a_header_that_is_no_key_is_refused_even_by_an_open_service(client: TestClient, header: str) -> None:
    refused = client.get("/v1/repositories", headers=[(b"Authorization", header.encode("latin-1"))])
    assert refused.status_code == 401
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/docs", "/openapi.json", "/"])
def test_pages_for_everybody_need_no_key(service: MemoryService, client: TestClient, path: str) -> None:
    with_key(service)
    assert client.get(path).status_code == 200


def test_a_call_that_nobody_thought_about_stops_the_start() -> None:
    router = APIRouter()
    router.add_api_route("/v1/new", lambda: None, operation_id="new")
    with pytest.raises(KeyError, match="new"):
        check_complete(router.routes)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "a", "scope": "root"}, "scope"),
        ({"name": "a", "repositories": ["a/b"]}, "repositories.0"),
        ({"name": "a", "repositories": ["(.*)"]}, "repositories.0"),
        ({"name": "a", "expires_at": "2099-01-01T00:00:00"}, "expires_at"),
        ({"name": "a", "scope": "admin", "repositories": ["x"]}, "repositories"),
        ({"name": "a", "secret": "mine"}, "secret"),
    ],
)
def test_a_key_that_cannot_be_is_refused(client: TestClient, body: dict[str, Any], field: str) -> None:
    refused = client.post("/v1/keys", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)


def test_a_key_that_would_never_count_is_a_conflict(client: TestClient) -> None:
    refused = client.post("/v1/keys", json={"name": "a", "expires_at": "2020-01-01T00:00:00Z"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (409, "expires_at")
    assert client.get("/v1/keys").json()["keys"] == []


def test_a_key_of_an_unlimited_scope_is_unlimited_by_its_repositories_alone() -> None:
    reach = Reach(("acme-*", "sh?red"))
    assert [name for name in ("acme-api", "acme-", "acme", "xacme-api", "shared", "shred", "sh.red", "gone") if reach.allows(name)] == [
        "acme-api",
        "acme-",
        "shared",
        "sh.red",
    ]
    assert name_regex("a.b*?") == r"a\.b.*."
    assert KeyScope.ADMIN.includes(KeyScope.SEARCH)
    assert not KeyScope.SEARCH.includes(KeyScope.INDEX)


def test_nothing_of_a_request_is_read_before_its_key(service: MemoryService) -> None:
    headers = with_key(service)
    app = create_app(factory(service), Settings())
    bodies: list[dict[str, Any]] = [
        {"content": b"{", "headers": {"Content-Type": "application/json"}},
        {"content": b"x", "headers": {"Content-Type": "text/plain"}},
        {"content": b"{}", "headers": {"Content-Type": "application/json", "Content-Length": "99999999999"}},
        {"content": b"{}", "headers": {"Content-Type": "application/json", "If-None-Match": "*"}},
    ]
    with TestClient(app, base_url="http://localhost") as client:
        for route in app.state.routes:
            if needs_of(route) in (Needs.NOTHING, Needs.SIGNED):
                continue
            path = f"{route.path}?unknown=%ff".replace("{", "-").replace("}", "-")  # neither names nor ids are valid
            for method, request in itertools.product(route.methods, bodies):
                refused = client.request(method, path, **request)
                assert (refused.status_code, refused.json()["type"]) == (401, "urn:fourfold:problem:not_authenticated"), (method, path)
                known = client.request(method, path, **(request | {"headers": request["headers"] | headers}))
                assert known.status_code not in (401, 403, 500), (method, path)


@pytest.mark.parametrize("state", [{"revoked_at": NOW}, {"expires_at": NOW}])
async def test_a_stream_ends_with_its_key(service: MemoryService, state: dict[str, Any]) -> None:
    headers = with_key(service)
    service.search.block = asyncio.Event()
    app = create_app(factory(service), Settings())
    transport = httpx2.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        job = (await client.post("/v1/repositories/api/index", headers=headers)).json()["id"]
        watched = asyncio.create_task(client.get(f"/v1/jobs/{job}/events", headers=headers))
        asked = {"query": "long", "repositories": ["api"], "timeout_ms": 10_000}
        streamed = asyncio.create_task(client.post("/v1/search/stream", headers=headers, json=asked))
        await service.search.entered.wait()
        service.keys.stored[ADMIN] = replace(service.keys.stored[ADMIN], **state)
        for ended, first in ((watched, "progress"), (streamed, "routing")):
            events = (await asyncio.wait_for(ended, 30)).text
            assert events.startswith(f"event: {first}\n")
            name, data = events.strip().rpartition("\n\n")[2].splitlines()
            assert (name, json.loads(data.removeprefix("data: "))["type"]) == ("event: error", "urn:fourfold:problem:not_authenticated")
    assert service.search.cancelled == 1


# ---- Limits


def limits(**settings: int) -> Limits:
    return Limits(AccessSettings(**settings))


def test_a_share_is_used_up_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("app.http.limits.monotonic", lambda: now[0])
    share = limits(requests_per_minute=60)
    for _ in range(60):
        share.take("a")
    with pytest.raises(TooManyRequests) as refused:
        share.take("a")
    assert refused.value.retry_after == 1
    assert share.headers("a") == {"RateLimit-Policy": '"key";q=60;w=60', "RateLimit": '"key";r=0;t=60'}
    share.take("b")  # another key has a share of its own
    now[0] += 10
    assert share.headers("a")["RateLimit"] == '"key";r=10;t=50'
    with pytest.raises(TooManyRequests) as refused:
        share.take("a", 15)
    assert refused.value.retry_after == 5
    share.take("a", 10)
    now[0] += 1_000
    assert share.headers("a")["RateLimit"] == '"key";r=60;t=0'
    with pytest.raises(TooManyRequests) as refused:
        share.take("a", 61)  # more than there ever is
    assert refused.value.retry_after == 1


def test_nothing_is_limited_by_zero() -> None:
    share = limits(requests_per_minute=0, concurrency=0)
    share.take("a", 1_000_000)
    assert share.headers("a") == {}
    with share.place("a"), share.place("a"):
        pass


def test_requests_beyond_the_share_are_refused_and_told_of(service: MemoryService) -> None:
    headers = with_key(service)
    with client_of(service, access=AccessSettings(requests_per_minute=3)) as client:
        left = [client.get("/v1/repositories", headers=headers).headers["ratelimit"] for _ in range(3)]
        assert [value.partition(";t=")[0] for value in left] == ['"key";r=2', '"key";r=1', '"key";r=0']
        refused = client.get("/v1/repositories", headers=headers)
        assert (refused.status_code, refused.json()["type"]) == (429, "urn:fourfold:problem:too_many_requests")
        assert int(refused.headers["retry-after"]) in range(1, 21)
        assert refused.headers["ratelimit-policy"] == '"key";q=3;w=60'
        assert client.get("/livez").status_code == 200


def test_a_batch_takes_what_its_searches_take(service: MemoryService) -> None:
    headers = with_key(service)
    body = {"searches": [{"query": "x", "repositories": ["api"]}] * 3}
    with client_of(service, access=AccessSettings(requests_per_minute=4)) as client:
        answered = client.post("/v1/search/batch", json=body, headers=headers)
        assert (answered.status_code, answered.headers["ratelimit"].partition(";t=")[0]) == (200, '"key";r=1')
        refused = client.post("/v1/search/batch", json=body, headers=headers)
        assert refused.status_code == 429


async def test_so_many_requests_of_a_key_at_the_same_time(service: MemoryService) -> None:
    headers = with_key(service)
    service.search.block = asyncio.Event()
    app = create_app(factory(service), Settings(access=AccessSettings(concurrency=1)))
    transport = httpx2.ASGITransport(app)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        first = asyncio.create_task(client.get("/v1/search?q=x&repositories=api", headers=headers))
        await service.search.entered.wait()
        refused = await client.get("/v1/repositories", headers=headers)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        service.search.block.set()
        assert (await first).status_code == 200
        assert (await client.get("/v1/repositories", headers=headers)).status_code == 200


# ---- Audit


@pytest.fixture
def recorded(service: MemoryService) -> Iterator[tuple[TestClient, MemoryService]]:
    with client_of(service) as client:
        yield client, service


def entries(service: MemoryService) -> list[tuple[str, str, str | None, int]]:
    return [(entry.actor, entry.action, entry.target, entry.status) for entry in service.audit.entries]


def test_index_and_admin_calls_are_written_down(recorded: tuple[TestClient, MemoryService]) -> None:
    client, service = recorded
    client.post("/v1/repositories/api/index")
    headers = with_key(service)
    made = client.post("/v1/keys", json={"name": "ci"}, headers=headers).json()
    client.post("/v1/repositories/gone/index", headers=headers)
    client.delete("/v1/repositories/%00x", headers=headers)
    client.get("/v1/repositories/api", headers=headers)
    client.get("/metrics", headers=headers)
    client.get("/v1/audit?limit=1", headers=headers)
    client.post("/v1/keys", json={"name": "more"}, headers={"Authorization": f"Bearer {made['id']}"})
    client.post("/v1/keys", json={"name": "more"}, headers={"Authorization": "Bearer invented"})
    assert entries(service) == [
        ("anyone", "indexRepository", "api", 202),
        ("me", "createKey", f"{made['id']} ci", 201),
        ("me", "indexRepository", "gone", 404),
        ("me", "deleteRepository", "\\x00x", 422),
        ("me", "listAudit", None, 200),
        ("ci", "createKey", None, 403),
    ]
    assert all(made["token"] not in str(entry) or made["token"] == made["id"] for entry in service.audit.entries)
    assert {entry.address for entry in service.audit.entries} == {"testclient"}
    assert all(entry.request_id for entry in service.audit.entries)


def test_the_log_is_read_in_pages(recorded: tuple[TestClient, MemoryService]) -> None:
    client, _ = recorded
    for name in ("api", "fresh", "api"):
        client.post(f"/v1/repositories/{name}/index")
    page = client.get("/v1/audit?limit=2&action=indexRepository").json()
    assert [entry["target"] for entry in page["entries"]] == ["api", "fresh"]
    rest = client.get(f"/v1/audit?limit=2&action=indexRepository&cursor={page['next_cursor']}").json()
    assert ([entry["target"] for entry in rest["entries"]], rest["next_cursor"]) == (["api"], None)
    assert client.get("/v1/audit?key_id=" + "0" * 16).json()["entries"] == []


def test_an_entry_that_is_not_stored_is_logged_and_counted(
    recorded: tuple[TestClient, MemoryService], caplog: pytest.LogCaptureFixture
) -> None:
    client, service = recorded
    before = _metric(client, "fourfold_audit_failures_total")
    service.audit.failure = StoreUnavailable("no database")
    assert client.post("/v1/repositories/api/index").status_code == 202
    assert _metric(client, "fourfold_audit_failures_total") == before + 1
    assert "audit_not_stored" in caplog.text


def _metric(client: TestClient, name: str) -> float:
    lines = [line for line in client.get("/metrics").text.splitlines() if line.startswith(f"{name} ")]
    return float(lines[0].split()[1]) if lines else 0.0


# ---- The start


async def test_the_start_needs_a_key_beyond_loopback(service: MemoryService) -> None:
    await require_keys(service, Settings(host="127.0.0.1"))
    await require_keys(service, Settings(host="0.0.0.0", access=AccessSettings(open=True)))
    with pytest.raises(ConfigurationError, match=r"no key to call with.*keys create.*--open"):
        await require_keys(service, Settings(host="0.0.0.0"))
    key, _ = await service.keys.create("old", KeyScope.ADMIN, expires_at=datetime.now(UTC) - timedelta(days=1))
    for opened in (False, True):  # open only as long as no key was ever made
        with pytest.raises(ConfigurationError, match="every key is revoked or has expired"):
            await require_keys(service, Settings(host="0.0.0.0", access=AccessSettings(open=opened)))
    await service.keys.create("new", KeyScope.SEARCH)
    await require_keys(service, Settings(host="0.0.0.0"))
    await service.keys.revoke(key.id)


@pytest.mark.parametrize(("host", "opened", "status"), [("127.0.0.1", False, 200), ("0.0.0.0", False, 401), ("0.0.0.0", True, 200)])
def test_beyond_loopback_nobody_is_let_in_without_a_word(service: MemoryService, host: str, opened: bool, status: int) -> None:
    with client_of(service, host=host, access=AccessSettings(open=opened)) as client:
        assert client.get("/v1/repositories").status_code == status
        with_key(service)
        assert client.get("/v1/repositories").status_code == 401
