"""Every text field of the interface takes what would end a string, a statement, a line or a path elsewhere, and takes it as text."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
import pytest

from app.bootstrap import Service
from app.config import SearchSettings, Settings
from app.http.app import create_app, openapi_document
from tests.integration.conftest import SHOP, Bench, write_tree

pytestmark = pytest.mark.anyio

PAYLOADS: Final = (
    "'; DROP TABLE chunk; --",
    "' OR '1'='1",
    "x' UNION SELECT version() --",
    "$1 $2 $$;$$ $tag$",
    "\\'; SELECT pg_sleep(9); --",
    "%_%\\_%%",
    "{}{0}%s%(x)s:name",
    "\x1b]0;title\x07\x1b[31m\r\nSet-Cookie: a=b\r\n\r\n",
    "<script>alert(1)</script>",
    "../../../../etc/passwd",
    "-oProxyCommand=id",
    "\x00",
    "\ud800",
    "\u202e\u2066\ufeff",
    "9" * 400,
    "'" * 1_000,
)
SPEC: Final = json.loads(openapi_document())
OPERATIONS: Final = [(method, path) for path, methods in SPEC["paths"].items() for method in methods if not path.endswith("/archive")]
KNOWN: Final[dict[str, Any]] = {"repository": "shop", "repositories": "shop", "q": "add_tax", "name": "shop", "path": "shop/money.py"}
SPECIAL: Final = "SELECT 'it''s' -- $1 %s \\' %_% <script>alert(\"1\")</script>"


@pytest.fixture
async def client(bench: Bench, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Service]:
        yield bench.service

    await bench.index(write_tree(tmp_path / "shop", SHOP | {"sql.py": f"QUERY = 1  # {SPECIAL}\n"}))
    app = create_app(opened, Settings(search=SearchSettings(concurrency=4)))
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        yield client


def texts(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Where the strings of an example stand."""
    if isinstance(value, str):
        yield at
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from texts(inner, (*at, key))


def with_text(value: Any, at: tuple[str | int, ...], text: str) -> Any:
    changed = copy.deepcopy(value)
    inner = changed
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = text
    return changed


def plain(parameter: dict[str, Any], identifier: str) -> Any:
    if parameter["name"] == "id":
        return identifier
    kinds = json.dumps(parameter["schema"])
    return KNOWN.get(parameter["name"], 1 if '"integer"' in kinds and '"string"' not in kinds else "x")


def requests(method: str, path: str, payload: str, identifier: str) -> Iterator[tuple[str, str, bytes | None]]:
    """(what is attacked, address, body) for each text field of a call."""
    operation = SPEC["paths"][path][method]
    parameters = operation.get("parameters", [])
    valid = {p["name"]: plain(p, identifier) for p in parameters if p.get("required") or p["name"] in ("q", "repository")}
    encoded = payload.encode("utf-8", "surrogatepass")
    for attacked in parameters:
        values = {**valid, attacked["name"]: encoded}
        address = path
        pairs = []
        for parameter in parameters:
            if (value := values.get(parameter["name"])) is None:
                continue
            if parameter["in"] == "path":
                address = address.replace("{" + parameter["name"] + "}", quote(value if isinstance(value, bytes) else str(value), safe=""))
            else:
                pairs.append(f"{parameter['name']}={quote(value if isinstance(value, bytes) else str(value), safe='')}")
        yield attacked["name"], f"{address}?{'&'.join(pairs)}", None
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    address = path
    for name, value in valid.items():
        address = address.replace("{" + name + "}", str(value))
    example = content["example"]
    for at in texts(example):
        yield ".".join(map(str, at)), address, json.dumps(with_text(example, at, payload)).encode()


async def counts(bench: Bench) -> dict[str, int]:
    async with bench.backend.connect() as connection:
        tables = [row["tablename"] for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        return {table: await connection.fetchval(f'SELECT count(*) FROM "{table}"') for table in tables}


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_no_text_of_a_call_is_more_than_text(client: httpx2.AsyncClient, bench: Bench, method: str, path: str) -> None:
    symbol = (await client.get("/v1/symbols", params={"name": "add_tax"})).json()["symbols"][0]["id"]
    before = await counts(bench)
    for payload in PAYLOADS:
        for attacked, address, body in requests(method, path, payload, symbol):
            headers = {"content-type": "application/json", "x-request-id": "set\x01"} if body is not None else {}
            answer = await client.request(method.upper(), address, content=body, headers=headers)
            said = f"{attacked} = {payload!r}: {answer.status_code} {answer.text[:300]}"
            assert answer.status_code < 500 or answer.json()["type"].endswith(":source_unavailable"), said
            assert "syntax error" not in answer.text, said
            assert "set-cookie" not in answer.headers, said
            assert not any(character in "".join(answer.headers.values()) for character in "\r\n\x1b"), said
            assert "\x1b" not in answer.text, said
    after = await counts(bench)
    changeable = {"saved_scope", "job", "webhook_delivery", "repository", "branch", "api_key", "audit"}
    assert {table: n for table, n in after.items() if table not in changeable} == {t: n for t, n in before.items() if t not in changeable}
    assert after["repository"] >= 1


async def test_signs_of_other_languages_are_found_as_they_are(client: httpx2.AsyncClient) -> None:
    for part in (SPECIAL, "'it''s'", "$1 %s", "\\' %_%", '<script>alert("1")</script>', "-- $1"):
        found = (await client.post("/v1/search", json={"query": part, "literal": True})).json()
        assert [result["path"] for result in found["results"]] == ["sql.py"], part
    for part in ("' %_% <script", "SELECT _it", "%", "it'%'s"):
        found = (await client.post("/v1/search", json={"query": f"{part}§", "literal": True})).json()
        assert found["results"] == [], part
