"""What an answer tells of its age, and reads of one's own writes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app import bootstrap
from app.bootstrap import Service
from app.config import Settings
from app.domain.permalink import permalink
from app.http.app import create_app
from app.indexing.parse import ParsePool
from tests.integration.conftest import SHOP, Bench
from tests.integration.git_remotes import Remote
from tests.unit.search_doubles import snapshot

pytestmark = pytest.mark.anyio

COMMIT = "9f2c4e1a7b3d5f60718293a4b5c6d7e8f9012345"


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(database_url=database_url, embedder="none", state_dir=tmp_path / "state")


@pytest.fixture
async def bench(settings: Settings, parse_pool: ParsePool, anyio_backend: str) -> AsyncIterator[Bench]:
    async with bootstrap.backend(settings) as backend:
        yield Bench(backend, bootstrap.compose(backend), parse_pool)


@pytest.fixture
async def client(bench: Bench, settings: Settings) -> AsyncIterator[httpx2.AsyncClient]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Service]:
        yield bench.service

    app = create_app(opened, settings)
    async with app.router.lifespan_context(app), httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://test") as client:
        yield client


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(tmp_path / "remotes")


async def index(client: httpx2.AsyncClient, bench: Bench, body: dict[str, Any]) -> None:
    answer = await client.put("/v1/repositories/shop", json=body)
    assert answer.status_code in (200, 201), answer.text
    assert (await client.post("/v1/repositories/shop/index")).status_code == 202
    while await bench.worker.step(bench.pool):
        pass


async def search(client: httpx2.AsyncClient, **parameters: Any) -> httpx2.Response:
    return await client.get("/v1/search", params={"q": "add_tax", "repositories": "shop", **parameters})


@pytest.mark.parametrize("kind", ["path", "url"])
async def test_a_write_is_read_or_425(client: httpx2.AsyncClient, bench: Bench, remote: Remote, kind: str) -> None:
    body = {"source": {"path": str(remote.work)} if kind == "path" else {"url": remote.url}}
    first = remote.commit(SHOP)
    await index(client, bench, body)
    assert (await search(client, min_revision=first)).status_code == 200
    second = remote.commit({"n.py": "N = add_tax(1)\n"})
    third = remote.commit({"m.py": "M = 1\n"})
    early = await search(client, min_revision=second)
    assert (early.status_code, early.headers["retry-after"]) == (425, "5")
    assert early.json()["errors"][0]["field"] == "min_revision"

    waiting = asyncio.create_task(search(client, min_revision=second, wait=60))
    await asyncio.sleep(0.6)
    assert not waiting.done()
    await index(client, bench, body)
    answer = await waiting
    assert answer.status_code == 200, answer.text
    assert answer.json()["index"][0]["revision"] == third
    assert (await search(client, min_revision=first[:10])).status_code == 200, "what lies before is contained"
    posted = await client.post("/v1/search", json={"query": "add_tax", "repositories": ["shop"], "min_revision": "f" * 40, "wait": 0.3})
    assert posted.status_code == 425
    batch = await client.post("/v1/search/batch", json={"searches": [{"query": "x", "repositories": ["shop"], "min_revision": "f" * 40}]})
    assert batch.json()["answers"][0]["status"] == 425


async def test_min_revision_belongs_to_one_repository(client: httpx2.AsyncClient, bench: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    await index(client, bench, {"source": {"url": remote.url}})
    await bench.index(remote.work, "other")
    answer = await client.get("/v1/search", params={"q": "x", "min_revision": "f" * 40})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "min_revision")


async def test_an_answer_that_did_not_change_is_not_sent_again(client: httpx2.AsyncClient, bench: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    await index(client, bench, {"source": {"url": remote.url}})
    for path in ("/v1/search?q=add_tax&repositories=shop", "/v1/repositories/shop"):
        tag = (await client.get(path)).headers["etag"]
        again = await client.get(path, headers={"If-None-Match": tag})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert (await client.get(path, headers={"If-None-Match": '"other"'})).status_code == 200
    tags = {
        path: (await client.get(path)).headers["etag"]
        for path in ("/v1/search?q=add_tax", "/v1/search?q=add_levy", "/v1/repositories/shop")
    }
    assert len(set(tags.values())) == 3
    remote.commit({"n.py": "N = 1\n"})
    await index(client, bench, {"source": {"url": remote.url}})
    for path, tag in tags.items():
        assert (await client.get(path, headers={"If-None-Match": tag})).status_code == 200, path


async def test_coverage_says_why_a_file_is_or_is_not_searchable(client: httpx2.AsyncClient, bench: Bench, remote: Remote) -> None:
    (remote.work / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(50))
    (remote.work / "link.py").symlink_to("shop/cart.py")
    remote.commit(SHOP | {"data.csv": "a,b\n1,2\n", "secret/key.py": "K = 1\n"})
    await index(client, bench, {"source": {"url": remote.url}, "exclude": ["secret/**"]})

    async def why(path: str) -> tuple[str, str | None]:
        (file,) = (await client.get("/v1/repositories/shop/coverage", params={"path": path})).json()["files"]
        return file["outcome"], file["reason"]

    assert await why("shop/cart.py") == ("indexed", None)
    assert await why("data.csv") == ("text_only", "no_parser")
    assert await why("logo.png") == ("skipped", "binary")
    assert await why("link.py") == ("skipped", "symlink")
    assert await why("secret/key.py") == ("absent", "excluded")
    assert await why("nowhere.py") == ("absent", "not_in_revision_or_ignored")

    pages, cursor = [], None
    while True:
        page = (await client.get("/v1/repositories/shop/coverage", params={"limit": 3} | ({"cursor": cursor} if cursor else {}))).json()
        pages += [file["path"] for file in page["files"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert pages == sorted([*SHOP, "data.csv", "logo.png", "link.py"])
    skipped = (await client.get("/v1/repositories/shop/coverage", params={"outcome": "skipped"})).json()["files"]
    assert {file["path"] for file in skipped} == {"logo.png", "link.py"}
    assert (await client.get("/v1/repositories/shop/coverage", params={"cursor": "x"})).status_code == 422
    first = (await client.get("/v1/repositories/shop/coverage", params={"limit": 3})).json()
    other = await client.get("/v1/repositories/shop/coverage", params={"cursor": first["next_cursor"], "outcome": "skipped"})
    assert (other.status_code, other.json()["errors"][0]["field"]) == (422, "cursor")


async def test_every_hit_has_a_permalink_that_shows_it(client: httpx2.AsyncClient, bench: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    await index(client, bench, {"source": {"url": remote.url}})
    results = (await search(client)).json()["results"]
    assert results
    for result in results:
        file = await client.get(result["permalink"])
        assert file.status_code == 200, file.text
        assert file.json()["path"] == result["path"]


async def test_two_commits_of_a_remote_are_compared(client: httpx2.AsyncClient, bench: Bench, remote: Remote) -> None:
    remote.commit(SHOP)
    remote.commit({"shop/money.py": SHOP["shop/money.py"].replace("125", "124")}, branch="dev")
    remote.commit({"n.py": "N = 1\n"})
    await index(client, bench, {"source": {"url": remote.url, "refs": ["*"]}})
    answer = await client.post("/v1/impact", json={"repository": "shop", "base": "main", "head": "dev"})
    assert answer.status_code == 200, answer.text
    assert [change["symbol"]["qualified"] for change in answer.json()["changed"]] == ["add_tax"]
    unknown = await client.post("/v1/impact", json={"repository": "shop", "base": "main", "head": "nope"})
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (422, "head")


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://github.com/a/b.git", f"https://github.com/a/b/blob/{COMMIT}/x%20y/z.py#L4-L9"),
        ("ssh://git@gitlab.example.org/g/s/b.git", f"https://gitlab.example.org/g/s/b/-/blob/{COMMIT}/x%20y/z.py#L4-9"),
        ("https://codeberg.org/a/b", f"https://codeberg.org/a/b/src/commit/{COMMIT}/x%20y/z.py#L4-L9"),
        ("https://forge.example/a/b", f"/v1/files?repository=shop&path=x+y%2Fz.py&revision={COMMIT}&lines=4-9"),
        (None, f"/v1/files?repository=shop&path=x+y%2Fz.py&revision={COMMIT}&lines=4-9"),
    ],
)
def test_permalinks_of_forges(url: str | None, link: str) -> None:
    from dataclasses import replace

    shown = replace(snapshot(), repository="shop", revision=COMMIT, url=url)
    assert permalink(shown, "x y/z.py", 4, 9) == link
