"""Every list that has pages: all of one generation while the source moves on, and a clear end when that generation is gone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from app.bootstrap import Service
from app.config import SearchSettings, Settings
from app.http.app import create_app, openapi_document
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

USERS: Final = 7
TREE: Final = {"hub.py": "def hub():\n    pass\n"} | {
    f"a{n}.py": f"from hub import hub\n\n\ndef use_{n}():\n    hub()\n" for n in range(USERS)
}
CHANGED: Final = {f"a{n}.py": "def nothing():\n    pass\n" for n in range(3, USERS)}
TREE_OF_CALLS: Final = {"main.py": "".join(f"def part_{n}():\n    pass\n\n\n" for n in range(USERS))} | {
    "all.py": "from main import *\n\n\ndef every():\n" + "".join(f"    part_{n}()\n" for n in range(USERS))
}

OF_NO_GENERATION: Final = {
    "/v1/why-not",  # takes every parameter of a search, and has no pages
    "/v1/audit",  # entries are only added
    "/v1/jobs",  # likewise
}
LISTS: Final[dict[str, dict[str, str]]] = {
    "/v1/search": {"q": "hub"},
    "/v1/symbols": {"name": "use_*"},
    "/v1/symbols/{id}/references": {},
    "/v1/symbols/{id}/callers": {},
    "/v1/symbols/{id}/callees": {},
    "/v1/repositories/{name}/coverage": {},
}
MORE_SEARCHES: Final = ({"q": "hub", "literal": "true", "dedupe": "none"}, {"q": "hub or nothing_else"}, {"q": "lang:python"})


@pytest.fixture
async def client(bench: Bench, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Service]:
        yield bench.service

    app = create_app(opened, Settings(search=SearchSettings(concurrency=4)))
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        yield client


def test_every_call_with_a_cursor_is_tried() -> None:
    paths: dict[str, Any] = json.loads(openapi_document())["paths"]
    paged = {
        path
        for path, methods in paths.items()
        for parameter in methods.get("get", {}).get("parameters", [])
        if parameter["name"] == "cursor" and path not in OF_NO_GENERATION
    }
    assert paged == set(LISTS)


async def page(client: httpx2.AsyncClient, path: str, **parameters: Any) -> tuple[list[Any], str | None]:
    answer = await client.get(
        path, params={"limit": 2, "timeout_ms": 10_000} | parameters if "search" in path else {"limit": 2} | parameters
    )
    assert answer.status_code == 200, answer.text
    body = answer.json()
    assert [shown["generation"] for shown in body["index"]] == [1]
    entries = [
        entry for name in ("results", "symbols", "references", "callers", "callees", "possible", "files") for entry in body.get(name, [])
    ]
    assert len(entries) <= 2
    return [strip(entry) for entry in entries], body["next_cursor"]


def strip(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry without scores: how rare a word is, is counted over all that is stored, of newer generations too."""
    kept = {name: value for name, value in entry.items() if name not in ("score", "centrality")}
    return kept | {"evidence": [{**item, "score": None} for item in entry["evidence"]]} if "evidence" in entry else kept


async def every_page(client: httpx2.AsyncClient, path: str, parameters: dict[str, str]) -> list[list[Any]]:
    pages, cursor = [], None
    while True:
        entries, cursor = await page(client, path, **parameters, **({"cursor": cursor} if cursor else {}))
        pages.append(entries)
        if cursor is None:
            return pages


async def test_pages_stay_in_their_generation_and_end_with_it(bench: Bench, client: httpx2.AsyncClient, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "t", TREE | TREE_OF_CALLS)
    await bench.index(root, "t")
    hub, every = [(await client.get("/v1/symbols", params={"name": name})).json()["symbols"][0]["id"] for name in ("hub", "every")]
    lists = [(path, parameters) for path, parameters in LISTS.items()] + [("/v1/search", parameters) for parameters in MORE_SEARCHES]
    asked = [(path.replace("{id}", every if "callees" in path else hub).replace("{name}", "t"), parameters) for path, parameters in lists]
    before = [await every_page(client, path, parameters) for path, parameters in asked]
    assert all(len(pages) > 2 for pages in before), [len(pages) for pages in before]
    begun = [(await page(client, path, **parameters))[1] for path, parameters in asked]

    write_tree(root, CHANGED)
    (root / "all.py").unlink()
    await bench.index(root, "t")
    for (path, parameters), pages, cursor in zip(asked, before, begun, strict=True):
        seen = [pages[0]]
        following: str | None = cursor
        while following:
            entries, following = await page(client, path, **parameters, cursor=following)
            seen.append(entries)
        assert seen == pages, path

    async with bench.backend.connect() as connection:
        await connection.execute("DELETE FROM generation WHERE generation = 1")
    for (path, parameters), cursor in zip(asked, begun, strict=True):
        gone = await client.get(path, params=parameters | {"cursor": cursor, "limit": 2})
        assert gone.status_code == 410, (path, gone.text)
        problem = gone.json()
        assert (problem["type"], problem["errors"][0]["field"]) == ("urn:fourfold:problem:cursor_expired", "cursor")
        assert "without the cursor" in problem["detail"]
