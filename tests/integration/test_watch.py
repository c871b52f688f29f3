"""``fourfold index --watch`` as a person runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.integration.conftest import SHOP, Bench, write_tree

pytestmark = pytest.mark.anyio

PATIENCE_SECONDS = 90


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await condition():  # noqa: ASYNC110 - another process changes it
            await asyncio.sleep(0.1)


async def test_changes_are_indexed_while_somebody_watches(bench: Bench, tmp_path: Path, database_url: str) -> None:
    tree = write_tree(tmp_path / "shop", SHOP)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("FOURFOLD_")} | {
        "DATABASE_URL": database_url,
        "FOURFOLD_EMBEDDER": "none",
        "FOURFOLD_STATE_DIR": str(tmp_path / "state"),
    }
    command = [sys.executable, "-P", "-m", "app", "index", str(tree), "--watch"]
    process = await asyncio.create_subprocess_exec(
        *command, env=environment, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while b"watching" not in (line := await process.stderr.readline()):
                assert line, "it ended"

        async def finds(name: str, times: int = 1) -> bool:
            return len((await bench.search(name, literal=True, repositories=("shop",))).results) == times

        await asyncio.sleep(1.0)  # the kernel is asked to watch just after the line is printed
        write_tree(tree, {"shop/late.py": "def late_name(): ...\n", "shop/money.py": "def add_levy(): ...\n"})
        await until(lambda: finds("late_name"))
        assert await finds("def add_tax", 0)
        (tree / "shop/late.py").unlink()
        await until(lambda: finds("late_name", 0))
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.wait(), PATIENCE_SECONDS)
    assert process.returncode in (0, 130)
