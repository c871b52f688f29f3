"""Remotes, archives, webhooks and progress over HTTP, on a real store."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import io
import json
import socket
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app import bootstrap
from app.bootstrap import Service
from app.config import ArchiveSettings, GitSettings, Settings, WebhookSettings
from app.http.app import create_app
from app.indexing.parse import ParsePool
from tests.integration.conftest import SHOP, Bench, write_tree
from tests.integration.git_remotes import Remote

pytestmark = pytest.mark.anyio

SECRET = "hush"


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(
        database_url=database_url,
        embedder="none",
        state_dir=tmp_path / "state",
        git=GitSettings(allowed_hosts=("forge.example",)),
        archive=ArchiveSettings(max_bytes=2_000_000, max_files=50, max_unpacked_bytes=30_000_000, max_ratio=100),
        webhook=WebhookSettings(github_secret=SECRET, gitlab_secret=SECRET),
    )


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


async def work(bench: Bench) -> None:
    while await bench.worker.step(bench.pool):
        pass


async def found(client: httpx2.AsyncClient, query: str, **parameters: Any) -> set[str]:
    answer = await client.get("/v1/search", params={"q": query, "literal": True, "repositories": "shop", **parameters})
    assert answer.status_code == 200, answer.text
    return {result["path"] for result in answer.json()["results"]}


def tar_gz(files: Mapping[str, str | tarfile.TarInfo]) -> bytes:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, text in files.items():
            if isinstance(text, tarfile.TarInfo):
                archive.addfile(text)
            else:
                item = tarfile.TarInfo(name)
                item.size = len(text.encode())
                archive.addfile(item, io.BytesIO(text.encode()))
    return written.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    item = tarfile.TarInfo(name)
    item.type, item.linkname = kind, target
    return item


async def upload(client: httpx2.AsyncClient, body: bytes, revision: str = "r1", **parameters: Any) -> httpx2.Response:
    return await client.put("/v1/repositories/shop/archive", params={"revision": revision, **parameters}, content=body)


class TestRemotes:
    async def test_a_remote_is_put_indexed_and_asked_by_branch(self, client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
        remote = Remote(tmp_path / "remotes")
        old = remote.commit(SHOP)
        remote.commit({"dev.py": "DEV_ONLY = 1\n"}, branch="dev")
        body = {"source": {"url": remote.url, "refs": ["main", "dev"]}}
        put = await client.put("/v1/repositories/shop", json=body)
        assert put.status_code == 201, put.text
        assert (put.json()["source"]["url"], put.json()["refs"]) == (remote.url, [])
        early = await client.get("/v1/search", params={"q": "x", "repositories": "shop"})
        assert (early.status_code, early.headers["retry-after"]) == (425, "2")
        job = (await client.post("/v1/repositories/shop/index", json={"priority": "bulk"})).json()
        assert (job["state"], job["priority"]) == ("queued", "bulk")
        joined = (await client.post("/v1/repositories/shop/index")).json()
        assert (joined["id"], joined["joined"], joined["priority"]) == (job["id"], True, "interactive")
        await work(bench)
        refs = (await client.get("/v1/repositories/shop")).json()["refs"]
        assert [(ref["name"], ref["is_default"], ref["stale"]) for ref in refs] == [("main", True, False), ("dev", False, False)]
        assert await found(client, "DEV_ONLY") == set()
        assert await found(client, "DEV_ONLY", revision="dev") == {"dev.py"}
        unknown = await client.get("/v1/search", params={"q": "x", "revision": "nope"})
        assert (unknown.status_code, unknown.json()["type"]) == (404, "urn:fourfold:problem:revision_not_found")
        assert "shop has main, dev" in unknown.json()["detail"]
        short = await client.post("/v1/repositories/shop/index", json={"revision": old[:9]})
        assert (short.status_code, short.json()["errors"][0]["field"]) == (422, "revision")

    async def test_symbols_and_their_graph_are_asked_by_branch(self, client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
        remote = Remote(tmp_path / "remotes")
        old = remote.commit(SHOP)
        remote.commit(
            {"shop/report.py": None, "shop/levy.py": "from .money import add_tax\n\n\ndef levy():\n    return add_tax(1)\n"}, "dev"
        )
        await client.put("/v1/repositories/shop", json={"source": {"url": remote.url, "refs": ["main", "dev"]}})
        await client.post("/v1/repositories/shop/index")
        await work(bench)

        async def asked(route: str, **parameters: Any) -> Any:
            answer = await client.get(route, params=parameters)
            assert answer.status_code == 200, answer.text
            return answer.json()

        assert (await asked("/v1/symbols", name="levy"))["symbols"] == []
        (levy,) = (await asked("/v1/symbols", name="levy", revision="dev"))["symbols"]
        assert (levy["path"], (await asked("/v1/symbols", name="add_tax", revision=old[:8]))["symbols"][0]["path"]) == (
            "shop/levy.py",
            "shop/money.py",
        )
        (tax,) = (await asked("/v1/symbols", name="add_tax"))["symbols"]
        symbol = f"/v1/symbols/{tax['id']}"
        users = {"main": {"Cart.total", "monthly"}, "dev": {"Cart.total", "levy"}}
        for branch, expected in users.items():
            callers = await asked(f"{symbol}/callers", revision=branch)
            assert {entry["symbol"]["qualified"] for entry in callers["callers"]} == expected
            page = await asked(f"{symbol}/callers", revision=branch, limit=1)
            rest = await asked(f"{symbol}/callers", revision=branch, limit=10, cursor=page["next_cursor"])
            assert {entry["symbol"]["qualified"] for listed in (page, rest) for entry in listed["callers"]} == expected
            references = await asked(f"{symbol}/references", revision=branch)
            assert ("shop/report.py" in str(references)) is (branch == "main")
            impact = await asked(f"{symbol}/impact", revision=branch)
            assert ("monthly" in str(impact), "levy" in str(impact)) == (branch == "main", branch == "dev")
        assert (await asked(f"/v1/symbols/{levy['id']}", revision="dev"))["symbol"]["qualified"] == "levy"
        assert (await client.get(f"/v1/symbols/{levy['id']}")).status_code == 404
        callees = await asked(f"/v1/symbols/{levy['id']}/callees", revision="dev")
        assert {entry["symbol"]["qualified"] for entry in callees["callees"]} == {"add_tax"}
        place: dict[str, str | int] = {"repository": "shop", "path": "shop/levy.py", "line": 5, "column": 13}
        assert (await asked("/v1/definition", revision="dev", **place))["definitions"][0]["path"] == "shop/money.py"
        assert (await client.get("/v1/definition", params=place)).status_code == 404
        diff = "--- a/shop/levy.py\n+++ b/shop/levy.py\n@@ -4,2 +4,2 @@\n def levy():\n-    return add_tax(1)\n+    return add_tax(2)\n"
        for revision, known in (("dev", ["levy"]), ("main", [])):
            answer = await client.post("/v1/impact", json={"repository": "shop", "diff": diff, "revision": revision})
            assert [change["symbol"]["qualified"] for change in answer.json()["changed"]] == known
        for path in ("/v1/symbols", symbol, f"{symbol}/callers", f"{symbol}/impact"):
            unknown = await client.get(path, params={"revision": "nope"})
            assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (404, "revision"), path

    async def test_another_remote_under_the_same_name_is_a_conflict(self, client: httpx2.AsyncClient, tmp_path: Path) -> None:
        for place, status in (("a", 201), ("a", 200), ("b", 409)):
            put = await client.put("/v1/repositories/shop", json={"source": {"url": f"file://{tmp_path}/{place}"}})
            assert put.status_code == status, put.text

    @pytest.mark.parametrize(
        "url", ["ext::sh -c id", "https://user:pw@forge.example/x", "https://127.0.0.1/x", "http://10.0.0.1/x", "--upload-pack=x"]
    )
    async def test_addresses_that_are_never_asked(self, client: httpx2.AsyncClient, url: str) -> None:
        answer = await client.put("/v1/repositories/shop", json={"source": {"url": url}})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "source.url")


class TestArchives:
    async def test_an_archive_is_taken_in_and_replaced(self, client: httpx2.AsyncClient, bench: Bench) -> None:
        answer = await upload(client, tar_gz(SHOP | {".gitignore": "*.py\n"}))
        assert answer.status_code == 202, answer.text
        taken = answer.json()
        assert (taken["files"], taken["left_out"], taken["job"]["state"]) == (len(SHOP) + 1, {}, "queued")
        await work(bench)
        stored = (await client.get("/v1/repositories/shop")).json()
        assert (stored["revision"], stored["source"]["kind"], stored["coverage"]["files"]) == ("r1", "archive", len(SHOP) + 1)
        assert await found(client, "def add_tax") == {"shop/money.py"}, "an ignore file says nothing of what was packed on purpose"

        await upload(client, tar_gz({"only.py": "ONLY = 1\n"}), "r2")
        assert await found(client, "def add_tax") == {"shop/money.py"}, "the old index answers until the new one is published"
        assert (await client.get("/v1/repositories/shop")).json()["stale"]
        await work(bench)
        assert (await found(client, "def add_tax"), await found(client, "ONLY")) == (set(), {"only.py"})

    async def test_zips_and_leading_folders(self, client: httpx2.AsyncClient, bench: Bench) -> None:
        written = io.BytesIO()
        with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("shop-1/src/naïve.py", "NAIVE = 1\n")
            item = zipfile.ZipInfo("shop-1/link.py")
            item.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(item, "/etc/passwd")
            archive.writestr("top.py", "TOP = 1\n")
        taken = (await upload(client, written.getvalue(), strip=1)).json()
        assert (taken["files"], taken["left_out_names"]) == (2, ["top.py"])
        await work(bench)
        assert await found(client, "NAIVE") == {"src/naïve.py"}
        assert (await client.get("/v1/repositories/shop")).json()["coverage"]["by_reason"] == {"symlink": 1}

    async def test_names_and_links_that_lead_out_reach_nothing(self, client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
        bad: dict[str, str | tarfile.TarInfo] = {
            "../escape.py": "ESCAPED = 1\n",
            "/abs.py": "ABSOLUTE = 1\n",
            "a/../../up.py": "UP = 1\n",
            ".git/hooks/post-checkout": "touch pwned\n",
            "sub/.GIT/config": "[core]\n",
            "hard": link("hard", "/etc/passwd", tarfile.LNKTYPE),
            "device": link("device", "", tarfile.CHRTYPE),
            "soft": link("soft", "../../../etc/passwd"),
            "soft/through.py": "THROUGH = 1\n",
            'odd"na\nme\\.py': "ODD = 1\n",
            "good.py": "GOOD = 1\n",
        }
        taken = (await upload(client, tar_gz(bad))).json()
        assert taken["left_out"] == {"unsafe_name": 5, "hard_link": 1, "special_file": 1}
        await work(bench)
        assert await found(client, "GOOD") == {"good.py"}
        assert await found(client, "ODD") == {'odd"na\nme\\.py'}
        assert not await found(client, "ESCAPED")
        inside = {path.name for path in tmp_path.rglob("*")}
        assert not inside & {"escape.py", "up.py", "good.py", "abs.py", "pwned", "post-checkout"}, "no file of an archive is ever written"

    @pytest.mark.parametrize(
        ("body", "status", "code"),
        [
            (b"no archive", 422, "invalid_request"),
            (b"", 422, "invalid_request"),
            (b"\x1f\x8b" + b"x" * 100, 422, "invalid_request"),
            (b"PK\x03\x04" + b"x" * 100, 422, "invalid_request"),
            (tar_gz(SHOP)[:-40], 422, "invalid_request"),
            (b"\x1f\x8b" + b"x" * 2_100_000, 413, "payload_too_large"),
            (tar_gz({f"f{n}.py": "" for n in range(60)}), 413, "too_large"),
            (tar_gz({"bomb.txt": "0" * 25_000_000}), 413, "too_large"),
        ],
    )
    async def test_what_is_no_archive_or_too_large_changes_nothing(
        self, client: httpx2.AsyncClient, bench: Bench, tmp_path: Path, body: bytes, status: int, code: str
    ) -> None:
        await upload(client, tar_gz(SHOP))
        await work(bench)
        answer = await upload(client, body, "r2")
        assert (answer.status_code, answer.json()["type"]) == (status, f"urn:fourfold:problem:{code}"), answer.text
        await client.post("/v1/repositories/shop/index")
        await work(bench)
        stored = (await client.get("/v1/repositories/shop")).json()
        assert (stored["revision"], stored["coverage"]["files"]) == ("r1", len(SHOP))
        assert not [path for path in (tmp_path / "state").rglob("*") if path.name.startswith(("upload-", "fast_import_crash"))]

    async def test_a_repository_of_another_kind_takes_no_archive(self, client: httpx2.AsyncClient, tmp_path: Path) -> None:
        await client.put("/v1/repositories/shop", json={"source": {"path": str(write_tree(tmp_path / "shop", SHOP))}})
        assert (await upload(client, tar_gz(SHOP))).status_code == 409


def signed(body: bytes, secret: str = SECRET) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "X-Hub-Signature-256": f"sha256={digest}",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": "1",
        "Content-Type": "application/json",
    }


PUSH = json.dumps({"ref": "refs/heads/main", "after": "a", "repository": {"clone_url": "https://forge.example/Acme/Shop.git"}}).encode()


class TestWebhooks:
    @pytest.fixture(autouse=True)
    async def _repository(self, client: httpx2.AsyncClient, bench: Bench) -> None:
        from app.domain.index import RepositorySource, SourceKind

        source = RepositorySource(url="ssh://git@forge.example/acme/shop", kind=SourceKind.GIT)
        await bench.service.repositories.put("shop", source)

    async def test_a_signed_push_queues_one_run(self, client: httpx2.AsyncClient) -> None:
        answer = await client.post("/v1/webhooks/github", content=PUSH, headers=signed(PUSH))
        assert (answer.status_code, answer.json()["status"]) == (202, "queued")
        (job,) = (await client.get("/v1/jobs?repository=shop")).json()["jobs"]
        assert ([job["id"]], job["priority"]) == (answer.json()["jobs"], "bulk")
        again = await client.post("/v1/webhooks/github", content=PUSH, headers=signed(PUSH) | {"X-GitHub-Delivery": "2"})
        assert again.json() == {"status": "seen", "jobs": []}, "a replay under another id"
        later = PUSH.replace(b'"a"', b'"b"')
        assert (await client.post("/v1/webhooks/github", content=later, headers=signed(later))).json()["jobs"] == [job["id"]], "joined"

    @pytest.mark.parametrize(
        "headers",
        [{}, {"X-Hub-Signature-256": "sha256="}, signed(PUSH, "other"), signed(PUSH + b" "), {"X-Hub-Signature-256": "sha1=ü".encode()}],
    )
    async def test_unsigned_is_refused(self, client: httpx2.AsyncClient, headers: dict[str, Any]) -> None:
        answer = await client.post("/v1/webhooks/github", content=PUSH, headers={"X-GitHub-Event": "push"} | headers)
        assert (answer.status_code, answer.json()["type"]) == (401, "urn:fourfold:problem:not_signed")
        assert (await client.get("/v1/jobs")).json()["jobs"] == []

    async def test_a_forge_without_a_secret_is_refused(self, client: httpx2.AsyncClient) -> None:
        answer = await client.post("/v1/webhooks/gitea", content=PUSH, headers=signed(PUSH))
        assert answer.status_code == 401
        assert "FOURFOLD_WEBHOOK__GITEA_SECRET" in answer.json()["detail"]

    @pytest.mark.parametrize("forge", ["github", "gitlab", "gitea"])
    async def test_an_empty_secret_is_none(self, client: httpx2.AsyncClient, settings: Settings, forge: str) -> None:
        settings.webhook = WebhookSettings(github_secret="", gitlab_secret="", gitea_secret="")
        headers = signed(PUSH, "") | {"X-Gitlab-Token": "", "X-Gitlab-Event": "Push Hook", "X-Gitea-Event": "push"}
        assert (await client.post(f"/v1/webhooks/{forge}", content=PUSH, headers=headers)).status_code == 401

    async def test_gitlab_sends_its_token(self, client: httpx2.AsyncClient) -> None:
        body = json.dumps({"object_kind": "push", "project": {"git_ssh_url": "git@forge.example:acme/shop.git"}}).encode()
        headers = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": SECRET}
        assert (await client.post("/v1/webhooks/gitlab", content=body, headers=headers)).json()["status"] == "queued"
        wrong = await client.post("/v1/webhooks/gitlab", content=body, headers=headers | {"X-Gitlab-Token": "x"})
        assert wrong.status_code == 401

    async def test_other_events_and_other_repositories_do_nothing(self, client: httpx2.AsyncClient) -> None:
        ping = await client.post("/v1/webhooks/github", content=PUSH, headers=signed(PUSH) | {"X-GitHub-Event": "ping"})
        assert ping.json() == {"status": "ignored", "jobs": []}
        other = PUSH.replace(b"Shop", b"Other")
        assert (await client.post("/v1/webhooks/github", content=other, headers=signed(other))).json()["status"] == "unknown"
        for body in (b"payload=%7B%7D", b"[]", b"{}", b'{"repository": 1}', b'{"repository": {"clone_url": 3}}'):
            answer = await client.post("/v1/webhooks/github", content=body, headers=signed(body))
            assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body"), answer.text
        assert (await client.get("/v1/jobs")).json()["jobs"] == []

    async def test_the_answer_does_not_ask_the_remote(self, client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[object] = []
        for module, name in ((socket, "getaddrinfo"), (subprocess, "Popen")):
            monkeypatch.setattr(module, name, lambda *arguments, **_: asked.append(arguments))
        answer = await client.post("/v1/webhooks/github", content=PUSH, headers=signed(PUSH))
        assert (answer.json()["status"], asked) == ("queued", [])


class TestProgress:
    async def test_events_tell_a_job_until_its_end(self, client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
        tree = write_tree(tmp_path / "many", {f"f{n}.py": "def f():\n    return 1\n" * 50 for n in range(300)})
        await client.put("/v1/repositories/shop", json={"source": {"path": str(tree)}})
        job = (await client.post("/v1/repositories/shop/index")).json()
        working = asyncio.create_task(work(bench))
        answer = await client.get(f"/v1/jobs/{job['id']}/events")
        await working
        assert answer.headers["content-type"].startswith("text/event-stream")
        told = [event.split("\n") for event in answer.text.strip().split("\n\n") if not event.startswith(":")]
        states = [(name.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for name, data in told]
        assert [name for name, _ in states] == ["progress"] * (len(states) - 1) + ["end"]
        assert states[-1][1]["job"]["state"] == "succeeded"
        assert len(states) >= 2
        assert (await client.get("/v1/jobs/nope/events")).status_code == 404

    async def test_dead_jobs_are_visible(self, client: httpx2.AsyncClient, bench: Bench, tmp_path: Path) -> None:
        tree = write_tree(tmp_path / "gone", SHOP)
        await client.put("/v1/repositories/shop", json={"source": {"path": str(tree)}})
        tree.rename(tmp_path / "moved")
        await client.post("/v1/repositories/shop/index")
        await work(bench)
        (dead,) = (await client.get("/v1/jobs?state=failed")).json()["jobs"]
        assert "cannot read" in dead["error"]
        assert "cannot read" in (await client.get("/v1/repositories/shop")).json()["source_error"]
        assert (await client.get("/v1/jobs?state=queued")).json()["jobs"] == []
