"""Symbols and impacts over HTTP, from a real index."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app import bootstrap
from app.bootstrap import Service
from app.config import SearchSettings, Settings
from app.http.app import create_app
from tests.integration.conftest import Bench, write_tree
from tests.integration.test_impact import CHAIN, DIFF

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(bench: Bench, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A service with the repository ``t`` indexed and ``fresh`` never indexed."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Service]:
        yield bench.service

    await bench.index(write_tree(tmp_path / "t", CHAIN), "t")
    app = create_app(opened, Settings(search=SearchSettings(concurrency=4)))
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        yield client


async def get(client: httpx2.AsyncClient, path: str, **parameters: Any) -> Any:
    answer = await client.get(path, params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def identified(client: httpx2.AsyncClient, name: str) -> str:
    (symbol,) = (await get(client, "/v1/symbols", name=name))["symbols"]
    return str(symbol["id"])


async def test_from_a_name_to_its_users(client: httpx2.AsyncClient) -> None:
    found = await get(client, "/v1/symbols", name="low", kind="function,method", repositories="t", paths="lib/**")
    assert found["total"] == {"results": 1, "relation": "exact"}
    (symbol,) = found["symbols"]
    assert (symbol["qualified"], symbol["repository"], symbol["path"], symbol["container"]) == ("low", "t", "lib/low.py", None)
    (index,) = found["index"]
    assert (index["repository"], index["generation"], index["stale"]) == ("t", 1, False)

    detail = await get(client, f"/v1/symbols/{symbol['id']}")
    assert (detail["symbol"], detail["members"]) == (symbol, [])
    callers = await get(client, f"/v1/symbols/{symbol['id']}/callers")
    ((caller, sites),) = [(entry["symbol"]["qualified"], entry["sites"]) for entry in callers["callers"]]
    assert (caller, sites) == ("mid", [{"line": 5, "relation": "calls", "class": "exact", "text": "    return low()"}])
    assert (callers["possible"], callers["total"]) == ([], {"results": 1, "exact": 1, "likely": 0, "possible": 0, "relation": "exact"})
    references = await get(client, f"/v1/symbols/{symbol['id']}/references", classes="exact")
    assert [(use["path"], use["line"], use["relation"]) for use in references["references"]] == [
        ("lib/mid.py", 1, "imports"),
        ("lib/mid.py", 5, "calls"),
    ]
    callees = await get(client, f"/v1/symbols/{await identified(client, 'high')}/callees")
    assert [entry["symbol"]["qualified"] for entry in callees["callees"] if entry["symbol"]["kind"] != "external"] == ["mid"]


async def test_from_a_place_to_its_definition(client: httpx2.AsyncClient) -> None:
    async def asked(line: int, column: int) -> Any:
        answer = await client.get("/v1/definition", params={"repository": "t", "path": "lib/mid.py", "line": line, "column": column})
        assert answer.status_code == 200, answer.text
        return answer.json()

    called = await asked(5, 13)
    assert called["name"] == {"name": "low", "line": 5, "column": 11}
    ((path, line, symbol),) = [(site["path"], site["line"], site["symbol"]) for site in called["definitions"]]
    assert called["definitions"][0]["column"] == 4
    assert (path, line, symbol["qualified"], symbol["id"]) == ("lib/low.py", symbol["start_line"], "low", await identified(client, "low"))
    nothing = await asked(3, 0)
    assert (nothing["name"], nothing["definitions"], nothing["occurrences"]) == (None, [], [])


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({"path": "lib/none.py", "line": 1, "column": 0}, 404, "path"),
        ({"path": "lib/mid.py", "line": 999, "column": 0}, 422, "line"),
        ({"path": "lib/mid.py", "line": 5, "column": 999}, 422, "column"),
        ({"path": "lib/mid.py", "line": 0, "column": 0}, 422, "line"),
    ],
)
async def test_a_place_that_is_not_there_is_named(client: httpx2.AsyncClient, asked: dict[str, Any], status: int, field: str) -> None:
    answer = await client.get("/v1/definition", params={"repository": "t"} | asked)
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (status, [field])
    assert answer.json()["type"].rpartition(":")[2] == {404: "file_not_found", 422: "invalid_request"}[status]


async def test_pages_by_cursor(client: httpx2.AsyncClient) -> None:
    low = await identified(client, "low")
    first = await get(client, f"/v1/symbols/{low}/references", limit=1)
    second = await get(client, f"/v1/symbols/{low}/references", limit=1, cursor=first["next_cursor"])
    assert [page["references"][0]["line"] for page in (first, second)] == [1, 5]
    assert second["next_cursor"] is None


async def test_a_stale_index_says_so(client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
    low = await identified(client, "low")
    (tmp_path / "t" / "new.py").write_text("x = 1\n")
    await bench.service.jobs.enqueue("t")
    for path in ("", "/callers", "/references", "/callees", "/impact"):
        body = await get(client, f"/v1/symbols/{low}{path}")
        assert (body["index"][0]["stale"], body["warnings"][0]["code"]) == (True, "repository_stale"), path
    (listed,) = (await get(client, "/v1/symbols", name="low"))["warnings"]
    assert listed["code"] == "repository_stale"


async def test_impact_of_a_symbol_in_three_formats(client: httpx2.AsyncClient) -> None:
    low = await identified(client, "low")
    body = await get(client, f"/v1/symbols/{low}/impact", depth=3)
    assert (body["depth"], body["complete"], body["indexed"]) == (3, True, None)
    assert body["summary"]["tests"] == {"certain": 1, "at_most": 1}
    assert [change["symbol"]["qualified"] for change in body["changed"]] == ["low"]

    markdown = await client.get(f"/v1/symbols/{low}/impact", params={"format": "markdown"})
    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "| 3 | `test_high` | `tests/test_high.py:5` | exact | calls `high` → calls `mid` → calls the change |" in markdown.text
    assert "- `tests/test_high.py`: `test_high`" in markdown.text

    sarif = await client.get(f"/v1/symbols/{low}/impact", params={"format": "sarif"})
    assert sarif.headers["content-type"] == "application/sarif+json"
    log = json.loads(sarif.text)
    assert log["version"] == "2.1.0"
    results = {result["message"]["text"].split()[0]: result for result in log["runs"][0]["results"]}
    assert results["test_high"]["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "tests/test_high.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 5},
    }
    assert len(results["test_high"]["codeFlows"][0]["threadFlows"][0]["locations"]) == 3


async def test_answers_are_counted_by_operation_and_never_by_symbol(client: httpx2.AsyncClient) -> None:
    low = await identified(client, "low")
    await get(client, f"/v1/symbols/{low}/callers")
    await get(client, f"/v1/symbols/{low}/impact", depth=1)
    metrics = (await client.get("/metrics")).text
    assert 'fourfold_graph_seconds_count{operation="callers"}' in metrics
    assert 'fourfold_impacts_truncated_total{reason="depth"}' in metrics
    assert 'route="/v1/symbols/{id}/callers"' in metrics
    assert low not in metrics


async def test_impact_of_a_diff(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/v1/impact", json={"repository": "t", "diff": DIFF})
    body = answer.json()
    assert (answer.status_code, body["indexed"], body["warnings"]) == (200, "base", [])
    assert [(change["symbol"]["qualified"], change["lines"]) for change in body["changed"]] == [("low", [2])]
    assert "test_high" in {entry["symbol"]["qualified"] for entry in body["certain"]}
    comment = await client.post("/v1/impact", json={"diff": DIFF, "format": "markdown", "limit": 1})
    assert comment.text.startswith("### Impact of this change\n\n**1 changed symbol reaches ")


@pytest.mark.parametrize(
    ("path", "status", "code", "field"),
    [
        ("/v1/symbols/0000000000000000", 404, "symbol_not_found", None),
        ("/v1/symbols/0000000000000000/callers", 404, "symbol_not_found", None),
        ("/v1/symbols/0000000000000000/references", 404, "symbol_not_found", None),
        ("/v1/symbols/0000000000000000/callees", 404, "symbol_not_found", None),
        ("/v1/symbols/0000000000000000/impact", 404, "symbol_not_found", None),
        ("/v1/symbols/xyz", 422, "invalid_request", "id"),
        ("/v1/symbols/0000000000000000FF/callers", 422, "invalid_request", "id"),
        ("/v1/symbols/0000000000000000?repository=nope", 404, "repository_not_found", "repository"),
        ("/v1/symbols?repositories=nope", 404, "repository_not_found", "repositories"),
        ("/v1/symbols?kind=gadget", 422, "invalid_request", "kind.0"),
        ("/v1/symbols?name=", 422, "invalid_request", "name"),
        ("/v1/symbols?limit=101", 422, "invalid_request", "limit"),
        ("/v1/symbols?cursor=x", 422, "invalid_request", "cursor"),
        ("/v1/symbols?nmae=x", 422, "invalid_request", "nmae"),
        ("/v1/symbols/0000000000000000/impact?depth=0", 422, "invalid_request", "depth"),
        ("/v1/symbols/0000000000000000/impact?depth=11", 422, "invalid_request", "depth"),
        ("/v1/symbols/0000000000000000/impact?format=pdf", 422, "invalid_request", "format"),
        ("/v1/symbols/0000000000000000/callers?classes=sure", 422, "invalid_request", "classes.0"),
    ],
)
async def test_errors_are_problems(client: httpx2.AsyncClient, path: str, status: int, code: str, field: str | None) -> None:
    answer = await client.get(path)
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert (answer.status_code, body["type"]) == (status, f"urn:fourfold:problem:{code}"), body
    assert [error["field"] for error in body["errors"]] == ([field] if field else [])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "diff"),
        ({"diff": DIFF, "base": "main", "head": "main"}, "diff"),
        ({"base": "main"}, "head"),
        ({"head": "main"}, "base"),
        ({"diff": "no diff"}, "diff"),
        ({"diff": "a\0"}, "diff"),
        ({"base": "--output=/x", "head": "main"}, "base"),
        ({"base": "main", "head": "main"}, "base"),
        ({"diff": DIFF, "depth": 11}, "depth"),
        ({"diff": DIFF, "indexed": "both"}, "indexed"),
        ({"diff": DIFF, "colour": "red"}, "colour"),
    ],
)
async def test_what_is_no_difference_is_refused(client: httpx2.AsyncClient, body: dict[str, Any], field: str) -> None:
    answer = await client.post("/v1/impact", json={"repository": "t"} | body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json"), answer.text
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_a_repository_without_an_index_is_too_early(client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
    from app.domain.index import RepositorySource

    await bench.service.repositories.put("fresh", RepositorySource(str(tmp_path)))
    answer = await client.post("/v1/impact", json={"repository": "fresh", "diff": DIFF})
    assert (answer.status_code, answer.json()["type"]) == (425, "urn:fourfold:problem:not_indexed")
    assert answer.headers["retry-after"]


async def test_a_database_that_gives_up_is_a_problem_that_says_what_to_do(client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
    low = await identified(client, "low")
    calls = [
        ("GET", "/v1/repositories", None),
        ("GET", f"/v1/symbols/{low}/callers", None),
        ("GET", "/v1/files?repository=t&path=lib/low.py", None),
        ("PUT", "/v1/repositories/other", {"source": {"path": str(tmp_path / "t")}}),
        ("DELETE", "/v1/repositories/t", None),
        ("POST", "/v1/search", {"query": "low"}),
    ]
    settings = bench.backend.settings.model_copy(update={"search": SearchSettings(max_deadline_ms=50)})
    async with bootstrap.backend(settings) as hasty:
        app = create_app(lambda: nullcontext(bootstrap.compose(hasty)), Settings())
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as caller,
            bench.backend.connect() as other,
            other.transaction(),
        ):
            await other.execute("LOCK TABLE repository")
            for method, path, body in calls:
                answer = await caller.request(method, path, json=body)
                assert (answer.status_code, answer.headers["Content-Type"]) == (503, "application/problem+json"), (path, answer.text)
                assert answer.json()["type"] == "urn:fourfold:problem:store_busy"
                assert "ask for less" in answer.json()["detail"]
                assert int(answer.headers["Retry-After"]) > 0
