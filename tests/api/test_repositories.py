from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.config import AccessSettings, Settings
from app.http.app import create_app

from .test_search import problem_of
from .twins import MemoryService, factory


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    path = tmp_path / "allowed" / "checkout"
    path.mkdir(parents=True)
    return path


def test_a_repository_is_created_updated_read_listed_and_deleted(client: TestClient, checkout: Path) -> None:
    body = {"source": {"path": str(checkout)}, "include": ["src/**"], "exclude": ["*.md"]}
    created = client.put("/v1/repositories/flask", json=body)
    assert (created.status_code, created.headers["location"]) == (201, "/v1/repositories/flask")
    assert created.json() == {
        "name": "flask",
        "source": {
            "kind": "directory",
            "path": str(checkout),
            "url": None,
            "refs": [],
            "credential": None,
            "submodules": False,
            "poll_seconds": None,
        },
        "refs": [],
        "source_error": None,
        "include": ["src/**"],
        "exclude": ["*.md"],
        "respect_ignore": True,
        "status": "not_indexed",
        "generation": 0,
        "revision": None,
        "known_revision": None,
        "stale": False,
        "created_at": "2025-01-31T12:00:00Z",
        "indexed_at": None,
        "coverage": {
            "files": 0,
            "skipped": 0,
            "embeddings_pending": 0,
            "embeddings_failed": 0,
            "embeddings_withheld": 0,
            "by_outcome": {},
            "by_reason": {},
            "by_language": {},
            "left_out": {"ignored_files": 0, "ignored_folders": 0, "ignore_rules": [], "excluded": 0, "unmatched_include": []},
            "notices": [],
        },
    }
    updated = client.put("/v1/repositories/flask", json={"source": {"path": str(checkout)}})
    assert (updated.status_code, updated.json()["include"]) == (200, [])
    assert client.get("/v1/repositories/flask").json() == updated.json()
    assert [entry["name"] for entry in client.get("/v1/repositories").json()["repositories"]] == ["api", "flask", "fresh"]
    deleted = client.delete("/v1/repositories/flask")
    assert (deleted.status_code, deleted.content) == (204, b"")
    problem_of(client.get("/v1/repositories/flask"), 404, "repository_not_found")
    problem_of(client.delete("/v1/repositories/flask"), 404, "repository_not_found")


def test_the_state_of_an_index_is_told(client: TestClient) -> None:
    assert [client.get(f"/v1/repositories/{name}").json()["status"] for name in ("api", "fresh")] == ["stale", "not_indexed"]


def test_a_name_that_has_another_source_is_a_conflict(client: TestClient, checkout: Path) -> None:
    problem = problem_of(client.put("/v1/repositories/api", json={"source": {"path": str(checkout)}}), 409, "conflict")
    assert problem["errors"][0]["field"] == "source"


@pytest.mark.parametrize("name", ["-x", ".x", "a b", "a%00", "x" * 101, "a%0A", "%ED%A0%80", "日本"])
def test_a_name_is_a_slug(client: TestClient, checkout: Path, name: str) -> None:
    answer = client.put(f"/v1/repositories/{name}", json={"source": {"path": str(checkout)}})
    assert problem_of(answer, 422, "invalid_request")["errors"][0]["field"] == "name"


def test_a_refused_path_is_named(client: TestClient, checkout: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (checkout / "file").write_text("x")
    (checkout / "escape").symlink_to(outside)
    (checkout / "loop").symlink_to(checkout / "loop")
    refused = {
        "relative/path": "must be absolute",
        "~": "must be absolute",
        "/": "outside the allowed roots",
        str(outside): "outside the allowed roots",
        str(outside / "no-such-thing"): "outside the allowed roots",
        str(checkout / "escape"): "outside the allowed roots",
        str(checkout / ".." / ".." / "outside"): "outside the allowed roots",
        str(tmp_path / "allowed-not"): "outside the allowed roots",
        str(checkout / "none"): "no such directory",
        str(checkout / "file"): "no such directory",
        str(checkout / "loop"): "",
        str(checkout / ("x" * 3_000)): "",
        "/a\0b": "NUL",
        "": "",
    }
    for path, reason in refused.items():
        problem = problem_of(client.put("/v1/repositories/new", json={"source": {"path": path}}), 422, "invalid_request")
        assert problem["errors"][0]["field"] == "source.path", path
        assert reason in problem["detail"], path


def test_a_link_inside_the_roots_is_resolved(client: TestClient, checkout: Path) -> None:
    (checkout.parent / "link").symlink_to(checkout)
    answer = client.put("/v1/repositories/new", json={"source": {"path": str(checkout.parent / "link")}})
    assert answer.json()["source"]["path"] == str(checkout)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_directory_that_cannot_be_read_is_refused(client: TestClient, checkout: Path) -> None:
    checkout.chmod(0)
    try:
        answer = client.put("/v1/repositories/new", json={"source": {"path": str(checkout)}})
    finally:
        checkout.chmod(stat.S_IRWXU)
    assert "cannot be read" in problem_of(answer, 422, "invalid_request")["detail"]


@pytest.mark.parametrize(("host", "status"), [("127.0.0.1", 201), ("::1", 201), ("localhost", 201), ("0.0.0.0", 422), ("10.0.0.1", 422)])
def test_without_roots_only_loopback_indexes_anything(service: MemoryService, checkout: Path, host: str, status: int) -> None:
    with TestClient(create_app(factory(service), Settings(host=host, access=AccessSettings(open=True)))) as client:
        assert client.put("/v1/repositories/new", json={"source": {"path": str(checkout)}}).status_code == status


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "source"),
        ({"source": "/x"}, "source"),
        ({"source": {}}, "source"),
        ({"source": {"path": "/x", "url": "y"}}, "source"),
        ({"source": {"path": "/x", "refs": ["main"]}}, "source"),
        ({"source": {"url": "https://h/x", "credential": "a-b"}}, "source.credential"),
        ({"source": {"path": "/x"}, "branch": "main"}, "branch"),
        ({"source": {"path": "/x"}, "include": "src"}, "include"),
        ({"source": {"path": "/x"}, "exclude": ["a\0"]}, "exclude.0"),
    ],
)
def test_a_bad_field_is_named(client: TestClient, body: dict[str, object], field: str) -> None:
    problem = problem_of(client.put("/v1/repositories/new", json=body), 422, "invalid_request")
    assert problem["errors"][0]["field"] == field


def test_jobs_are_queued_joined_read_listed_and_cancelled(client: TestClient) -> None:
    first = client.post("/v1/repositories/api/index")
    job = first.json()
    assert (first.status_code, first.headers["location"]) == (202, f"/v1/jobs/{job['id']}")
    assert (job["repository"], job["state"], job["joined"], job["files_done"], job["files_total"]) == ("api", "queued", False, 0, None)
    again = client.post("/v1/repositories/api/index").json()
    assert (again["id"], again["joined"]) == (job["id"], True)
    assert client.get(f"/v1/jobs/{job['id']}").json()["state"] == "queued"
    client.post("/v1/repositories/fresh/index")
    assert [entry["repository"] for entry in client.get("/v1/jobs").json()["jobs"]] == ["fresh", "api"]
    assert [entry["repository"] for entry in client.get("/v1/jobs?repository=api").json()["jobs"]] == ["api"]
    assert len(client.get("/v1/jobs?limit=1").json()["jobs"]) == 1
    assert client.delete(f"/v1/jobs/{job['id']}").json()["state"] == "cancelled"
    problem_of(client.delete(f"/v1/jobs/{job['id']}"), 409, "conflict")


def test_unknown_jobs_and_repositories(client: TestClient) -> None:
    problem_of(client.post("/v1/repositories/nope/index"), 404, "repository_not_found")
    problem_of(client.get("/v1/jobs?repository=nope"), 404, "repository_not_found")
    problem_of(client.get("/v1/jobs/00000000-0000-0000-0000-000000000000"), 404, "job_not_found")
    problem_of(client.get("/v1/jobs/a%00b"), 422, "invalid_request")
    problem_of(client.get("/v1/jobs?limit=0"), 422, "invalid_request")
    problem_of(client.get("/v1/jobs?repo=api"), 422, "invalid_request")


def test_jobs_have_pages(client: TestClient) -> None:
    first = client.post("/v1/repositories/api/index").json()["id"]
    whole = client.get("/v1/jobs?limit=1").json()
    assert [job["id"] for job in whole["jobs"]] == [first]
    after = client.get(f"/v1/jobs?limit=1&cursor={whole['next_cursor']}").json()
    assert after == {"jobs": [], "next_cursor": None}
    refused = client.get("/v1/jobs?cursor=1-x")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "cursor")
