"""Searches over HTTP, from a real index: what a caller is told of a request that is not quite right."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.bootstrap import Service
from app.config import SearchSettings, Settings
from app.http.app import create_app
from tests.integration.conftest import SHOP, Bench, write_tree

pytestmark = pytest.mark.anyio


@pytest.fixture
async def client(bench: Bench, tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A service with the repository ``shop`` indexed."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Service]:
        yield bench.service

    await bench.index(write_tree(tmp_path / "shop", SHOP), "shop")
    app = create_app(opened, Settings(search=SearchSettings(concurrency=4)))
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        yield client


@pytest.mark.parametrize(
    ("asked", "status", "field"),
    [
        ({"q": "regex:/(/"}, 422, "query"),
        ({"q": "(", "regex": True}, 422, "query"),
        ({"q": r"\n", "regex": True}, 422, "query"),
        ({"q": "add_tax", "revision": "nowhere"}, 404, "filters.revision"),
        ({"q": "add_tax", "modalities": ["semantic"]}, 422, "modalities"),
        ({"q": "a or b", "like": ["c1-1"]}, 422, "like"),
        ({"q": "add_tax", "min_revision": "main"}, 422, "min_revision"),
        ({"q": "add_tax", "min_revision": "abc"}, 422, "min_revision"),
        ({"q": "add_tax", "min_revision": "f" * 40}, 425, "min_revision"),
    ],
)
async def test_the_field_to_blame_has_the_callers_name(client: httpx2.AsyncClient, asked: dict[str, Any], status: int, field: str) -> None:
    link = await client.get("/v1/search", params=asked)
    why = await client.get("/v1/why-not", params=asked | {"repository": "shop", "path": "README.md"})
    filters = {name: asked.pop(name) for name in ("regex", "revision") if name in asked}
    body = {"query": asked.pop("q"), "filters": filters, **asked}
    posted = await client.post("/v1/search", json=body)
    batch = (await client.post("/v1/search/batch", json={"searches": [body]})).json()["answers"][0]
    parameter = "q" if field == "query" else field.removeprefix("filters.")
    assert (link.status_code, link.json()["errors"][0]["field"]) == (status, parameter)
    if "min_revision" not in asked and "modalities" not in asked:  # what does not matter to the question why
        assert (why.status_code, why.json()["errors"][0]["field"]) == (status, parameter)
    assert (posted.status_code, posted.json()["errors"][0]["field"]) == (status, field)
    assert (batch["status"], batch["problem"]["errors"][0]["field"]) == (status, field)


async def answer(client: httpx2.AsyncClient, **asked: Any) -> Any:
    found = await client.get("/v1/search", params=asked)
    assert found.status_code == 200, found.text
    return found.json()


def told(found: Any) -> list[str]:
    """The codes of the warnings."""
    return [warning["code"] for warning in found["warnings"]]


async def test_a_language_may_be_called_by_its_short_name(client: httpx2.AsyncClient) -> None:
    for language in ("python", "PY", "python3", ".pyi"):
        await assert_is_python(client, language)


async def assert_is_python(client: httpx2.AsyncClient, language: str) -> None:
    for asked in ({"q": f"add_tax lang:{language}"}, {"q": "add_tax", "languages": language}):
        found = await answer(client, **asked)
        assert {result["language"] for result in found["results"]} == {"python"}
        assert (found["parsed_query"]["filters"]["languages"], told(found)) == (["python"], [])
    symbols = (await client.get("/v1/symbols", params={"name": "*art", "languages": language})).json()
    assert ([symbol["name"] for symbol in symbols["symbols"]], symbols["warnings"]) == (["Cart"], [])
    others = (await client.get("/v1/symbols", params={"name": "*art", "languages": f"!{language}"})).json()
    assert [symbol["name"] for symbol in others["symbols"]] == ["renderCart"]


async def test_a_language_that_there_is_not_is_told_with_those_like_it(client: httpx2.AsyncClient) -> None:
    found = await answer(client, q="add_tax lang:pyton")
    assert (told(found), found["results"]) == (["unknown_language", "no_file_matches"], [])
    assert found["warnings"][0]["message"] == "no language is called pyton; is python meant?"
    symbols = (await client.get("/v1/symbols", params={"languages": "!nonesuch"})).json()
    assert [warning["message"] for warning in symbols["warnings"]] == ["no language is called nonesuch"]


async def test_what_looks_like_a_filter_is_text_and_told(client: httpx2.AsyncClient) -> None:
    found = await answer(client, q="add_tax language:python")
    assert found["parsed_query"]["filters"] == {}
    assert told(found) == ["unknown_filter"]
    assert found["warnings"][0]["message"].endswith("; is lang: meant?")


async def test_reading_everything_is_told_only_where_an_index_might_have_helped(client: httpx2.AsyncClient) -> None:
    for pattern in (".*", "x*", "^"):
        assert (await answer(client, q=pattern, regex=True))["warnings"] == []
    assert told(await answer(client, q="=>", literal=True)) == ["unindexed_scan"]


async def test_words_of_another_language_are_told_in_english_and_counted(client: httpx2.AsyncClient) -> None:
    def counted(text: str) -> float:
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith("fourfold_searches_in_english_total ")))

    before = counted((await client.get("/metrics")).text)
    found = await answer(client, q="hvordan fungerer tilføjelse af indkøb", repositories="shop")
    english = await answer(client, q="how does adding items work", repositories="shop")
    assert [warning["message"] for warning in found["warnings"] if warning["code"] == "also_in_english"] == [
        "also looked for in English: add"
    ]
    assert "also_in_english" not in told(english)
    assert counted((await client.get("/metrics")).text) - before == 1
