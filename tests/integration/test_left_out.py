"""A gap is told: what ignore files and globs leave out, and an index that nothing came of."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.domain.index import JobState
from tests.integration.conftest import Bench, write_tree
from tests.integration.git_remotes import Remote
from tests.integration.test_freshness import bench, client, index, remote, settings

__all__ = ["bench", "client", "remote", "settings"]

pytestmark = pytest.mark.anyio

IGNORED = (
    "no file is indexed: ignore files leave out 2 folders and 2 files, most by line 1 of .gitignore (/*); "
    "respect_ignore=false (--no-ignore) indexes them too"
)
LEFT_OUT = {
    "ignored_files": 2,
    "ignored_folders": 2,
    "ignore_rules": [{"file": ".gitignore", "line": 1, "pattern": "/*", "entries": 4}],
    "excluded": 0,
    "unmatched_include": [],
}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A source package whose packager keeps everything out of his own repository."""
    files = {".gitignore": "/*\n", "Makefile": "all:\n", "mm/slab.c": "int slab(void) { return 0; }\n", "fs/inode.c": "int inode;\n"}
    return write_tree(tmp_path / "kernel", files)


async def read(client: httpx2.AsyncClient, path: str = "") -> Any:
    answer = await client.get(f"/v1/repositories/shop{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_tree_that_ignores_itself_says_so_and_can_be_indexed(client: httpx2.AsyncClient, bench: Bench, kernel: Path) -> None:
    await index(client, bench, {"source": {"path": str(kernel)}})
    coverage = (await read(client))["coverage"]
    assert (coverage["files"], coverage["left_out"], coverage["notices"]) == (0, LEFT_OUT, [IGNORED])
    assert (await read(client, "/coverage"))["left_out"] == LEFT_OUT
    found = (await client.get("/v1/search?q=slab&repositories=shop")).json()
    assert [warning["code"] for warning in found["warnings"]] == ["no_files"]
    (job,) = await bench.service.jobs.list("shop", 1, JobState.SUCCEEDED)
    assert (job.result["left_out"], job.result["notices"]) == (LEFT_OUT, [IGNORED])

    body = {"source": {"path": str(kernel)}, "respect_ignore": False}
    assert (await client.put("/v1/repositories/shop", json=body)).json()["stale"]
    await index(client, bench, body)
    shown = await read(client)
    assert (shown["respect_ignore"], shown["stale"], shown["coverage"]["files"]) == (False, False, 4)
    assert (shown["coverage"]["left_out"]["ignored_folders"], shown["coverage"]["notices"]) == (0, [])
    assert [result.path for result in (await bench.search("where is slab defined")).results] == ["mm/slab.c"]

    write_tree(kernel, {"fs/inode.c": "int renamed_inode;\n"})
    known = await bench.service.repositories.get("shop")
    await bench.service.jobs.look(known)
    assert (await read(client))["stale"], "a change of what only this index looks at is a change"


async def test_globs_that_select_nothing_are_told(client: httpx2.AsyncClient, bench: Bench, shop: Path) -> None:
    await index(client, bench, {"source": {"path": str(shop)}, "include": ["lib/**", "web/**"]})
    coverage = (await read(client))["coverage"]
    assert (coverage["files"], coverage["left_out"]["excluded"], coverage["left_out"]["unmatched_include"]) == (1, 6, ["lib/**"])
    assert coverage["notices"] == ["no path matches the include glob 'lib/**'"]
    await index(client, bench, {"source": {"path": str(shop)}, "include": ["lib/**"]})
    assert (await read(client))["coverage"]["notices"] == [
        "no file is indexed: the include and exclude globs leave out 7 files",
        "no path matches the include glob 'lib/**'",
    ]


async def test_an_empty_branch_says_that_it_is_empty(client: httpx2.AsyncClient, bench: Bench, remote: Remote) -> None:
    remote.commit({})
    await index(client, bench, {"source": {"url": remote.url}})
    assert (await read(client))["coverage"]["notices"] == ["no file is indexed: the source holds none"]
    refused = await client.put("/v1/repositories/shop", json={"source": {"url": remote.url}, "respect_ignore": False})
    assert refused.status_code == 422
    assert "respect_ignore" in refused.json()["errors"][0]["message"]


async def test_the_command_line_says_what_it_leaves_out(client: httpx2.AsyncClient, bench: Bench, kernel: Path, database_url: str) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FOURFOLD_")}
    environment |= {"DATABASE_URL": database_url, "FOURFOLD_EMBEDDER": "none"}

    async def run(*options: str) -> str:
        command = [sys.executable, "-P", "-m", "app", "index", str(kernel), "--name", "shop", *options]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=pipe, stderr=pipe)
        out, err = await asyncio.wait_for(process.communicate(), 120)
        assert process.returncode == 0, err.decode()
        return out.decode()

    said = (await run()).splitlines()
    assert said[0].startswith("shop: 0 files indexed")
    assert said[1:] == ["  left out: 2 folders and 2 files by ignore files", f"! {IGNORED}"]
    assert (await run("--no-ignore")).startswith("shop: 4 files indexed")
    assert (await read(client))["respect_ignore"] is False


def commit_main(tree: Path) -> None:
    for command in (["init", "-q"], ["add", "main.py"], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "one"]):
        subprocess.run(["git", *command], cwd=tree, check=True)


@pytest.mark.parametrize("git", [False, True])
async def test_the_rule_that_leaves_a_file_out_is_told(client: httpx2.AsyncClient, bench: Bench, tmp_path: Path, git: bool) -> None:
    files = {
        ".gitignore": "# built\nbuild/\n*.log\n!keep.log\n",
        "src/.gitignore": "secret.*\n",
        "main.py": "x = 1\n",
        "keep.log": "kept\n",
        "src/secret.py": "K = 1\n",
        "build/out/a.py": "a = 1\n",
        "vendor/b.py": "b = 1\n",
    }
    tree = write_tree(tmp_path / "tree", files)
    if git:
        commit_main(tree)
    await index(client, bench, {"source": {"path": str(tree)}, "exclude": ["vendor/**"]})

    async def why(path: str) -> tuple[str | None, Any]:
        (file,) = (await client.get("/v1/repositories/shop/coverage", params={"path": path})).json()["files"]
        return file["reason"], file["rule"]

    assert await why("build/out/a.py") == ("ignored", {"file": ".gitignore", "line": 2, "pattern": "build/"})
    assert await why("old.log") == ("ignored", {"file": ".gitignore", "line": 3, "pattern": "*.log"})
    assert await why("src/secret.py") == ("ignored", {"file": "src/.gitignore", "line": 1, "pattern": "secret.*"})
    assert await why("vendor/b.py") == ("excluded", None)
    assert await why("src/nowhere.py") == ("not_in_tree", None)
    assert await why("../main.py") == ("not_in_tree", None)
    assert await why("keep.log") == ("no_parser", None)
    assert await why("main.py") == (None, None)
    assert (await why("build"))[0] == "ignored"
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / ".gitignore").write_text("passwords\n")
    (tree / "link").symlink_to(tmp_path / "elsewhere")
    assert await why("link/passwords") == ("not_in_tree", None)
    tree.rename(tmp_path / "gone")
    assert await why("old.log") == ("not_in_revision_or_ignored", None)
