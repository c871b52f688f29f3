"""Web pages cannot use a service on loopback through the browser of whoever runs it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from starlette.testclient import TestClient

from app.config import HttpSettings, Settings
from app.http.app import create_app
from app.http.own_origin import own_names
from app.http.security_headers import SECURITY_HEADERS

from .test_search import problem_of
from .twins import MemoryService, factory


def client_of(service: MemoryService, settings: Settings) -> TestClient:
    return TestClient(create_app(factory(service), settings, own_names(settings)))


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LOCALHOST:8000", "localhost.", "127.0.0.1:8000", "[::1]:8000", "[::1]", "127.0.0.1"]
)
def test_a_service_on_loopback_answers_to_its_own_names(service: MemoryService, host: str) -> None:
    with client_of(service, Settings()) as client:
        assert client.get("/livez", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["rebound.example:8000", "localhost.rebound.example", "127.0.0.1.example", "", "[::2]", "x@localhost"])
def test_a_name_that_was_led_to_loopback_is_refused(service: MemoryService, host: str) -> None:
    with client_of(service, Settings()) as client:
        for method, path in (("GET", "/v1/search?q=x"), ("GET", "/v1/repositories"), ("POST", "/v1/search"), ("GET", "/")):
            problem_of(client.request(method, path, headers={"host": host}), 421, "other_host")


def test_elsewhere_the_names_are_those_of_the_setting(service: MemoryService) -> None:
    with client_of(service, Settings(host="0.0.0.0")) as client:
        assert client.get("/livez", headers={"host": "code.example"}).status_code == 200
    for address in ("0.0.0.0", "127.0.0.1"):
        with client_of(service, Settings(host=address, http=HttpSettings(hosts=("code.example",)))) as client:
            assert client.get("/livez", headers={"host": "code.example"}).status_code == 200
            assert client.get("/livez", headers={"host": "127.0.0.1:8000"}).status_code == 200
            problem_of(client.get("/livez", headers={"host": "other.example"}), 421, "other_host")


FOREIGN: list[Mapping[str, str]] = [
    {"origin": "https://evil.example"},
    {"origin": "http://localhost:3000"},
    {"origin": "null"},
    {"origin": "http://[", "sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "cross-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_page_of_another_site_changes_nothing(service: MemoryService, headers: Mapping[str, str]) -> None:
    with client_of(service, Settings()) as client:
        for method, path in (("POST", "/v1/repositories/api/index"), ("DELETE", "/v1/repositories/api"), ("PUT", "/v1/repositories/new")):
            problem_of(client.request(method, path, headers={"host": "localhost:8000", **headers}), 403, "cross_site")
        assert service.jobs.stored == {}
        assert client.get("/livez", headers={"host": "localhost:8000", **headers}).status_code == 200


def test_programs_and_own_pages_may(service: MemoryService) -> None:
    with client_of(service, Settings(http=HttpSettings(hosts=("code.example",)))) as client:
        for headers in (
            {"host": "localhost:8000"},
            {"host": "localhost:8000", "origin": "http://localhost:8000"},
            {"host": "localhost:8000", "origin": "https://code.example"},
            {"host": "code.example", "origin": "https://code.example", "sec-fetch-site": "same-origin"},
        ):
            assert client.post("/v1/repositories/api/index", headers=headers).status_code == 202


@pytest.mark.parametrize(
    "path", ["/livez", "/v1/repositories/none", "/nowhere", "/metrics", "/v1/search?q=x&repositories=api", "/openapi.json"]
)
def test_browsers_are_told_that_no_answer_is_a_page(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "access-control-allow-origin" not in answer.headers


def test_the_only_page_runs_no_script_and_loads_nothing(client: TestClient) -> None:
    answer = client.get("/docs")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script-src" not in policy
    assert "<script" not in answer.text
    for name in SECURITY_HEADERS.keys() - {"Content-Security-Policy"}:
        assert answer.headers[name] == SECURITY_HEADERS[name]
