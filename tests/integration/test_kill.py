"""kill -9 at any moment of an index run: the old index answers, the run resumes, nothing is left behind."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.integration.conftest import SHOP, write_tree

PATIENCE_SECONDS = 120.0
FILES = 400


class Running:
    """``fourfold serve`` on a state directory of its own, as a person starts it."""

    def __init__(self, state_dir: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.state_dir = state_dir
        environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL"} | {
            "FOURFOLD_STATE_DIR": str(state_dir),
            "FOURFOLD_EMBEDDER": "none",
            "FOURFOLD_MARK": str(state_dir),
        }
        with (state_dir.parent / "serve.log").open("a") as log:
            command = [sys.executable, "-m", "app", "serve", "--port", str(port)]
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.wait_until(lambda: self.get("/readyz")[0] == 200)

    def request(self, method: str, path: str, body: object | None = None) -> tuple[int, Any]:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        except OSError:
            return 0, None

    def get(self, path: str) -> tuple[int, Any]:
        return self.request("GET", path)

    def wait_until(self, condition: Any) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            assert time.monotonic() < give_up, "waited in vain"
            time.sleep(0.05)

    def job(self, job_id: str) -> dict[str, Any]:
        return self.get(f"/v1/jobs/{job_id}")[1] or {}

    def finds(self, name: str) -> bool:
        status, answer = self.request("POST", "/v1/search", {"query": f"def {name}", "repositories": ["shop"]})
        exact = [r for r in (answer or {}).get("results", []) if not any(e.get("fuzzy") for e in r["evidence"])]
        return status == 200 and bool(exact)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def processes_of(state_dir: Path) -> list[psutil.Process]:
    """Everything alive that was started for this state directory: by environment, or as its PostgreSQL."""
    found = []
    for process in psutil.process_iter():
        try:
            mine = process.environ().get("FOURFOLD_MARK") == str(state_dir) or str(state_dir) in " ".join(process.cmdline())
            if mine and process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid():
                found.append(process)
        except psutil.Error:
            continue
    return found


def worker_of(running: Running) -> psutil.Process:
    children = psutil.Process(running.process.pid).children()
    return next(child for child in children if "worker" in child.cmdline())


def postmaster_of(running: Running) -> psutil.Process:
    pid = int((running.state_dir / "server/data/postmaster.pid").read_text().splitlines()[0])
    return psutil.Process(pid)


@pytest.fixture
def state_dir() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="fourfold-kill-"))
    path.chmod(0o711)
    yield path / "state"
    for process in processes_of(path / "state"):
        process.kill()
    shutil.rmtree(path)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize("victim", ["service", "worker", "postgres"])
def test_kill_during_an_index_run(victim: str, state_dir: Path, tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "shop", SHOP)
    running = Running(state_dir, free_port())
    assert running.request("PUT", "/v1/repositories/shop", {"source": {"path": str(tree)}})[0] == 201
    first = running.request("POST", "/v1/repositories/shop/index")[1]["id"]
    running.wait_until(lambda: running.job(first)["state"] == "succeeded")
    assert running.finds("add_tax")

    body = "\n\n".join(f"def late_{{n}}_{i}(x):\n    return add_tax(x) + {i}" for i in range(40))
    write_tree(tree, {f"late/f{n}.py": body.replace("{n}", str(n)) for n in range(FILES)})
    second = running.request("POST", "/v1/repositories/shop/index")[1]["id"]
    running.wait_until(lambda: running.job(second)["state"] == "running")
    time.sleep(random.uniform(0.0, 2.0))

    if victim == "service":
        running.process.kill()
        running.process.wait()
        running.wait_until(lambda: not processes_of(state_dir))
        running = Running(state_dir, free_port())
    elif victim == "worker":
        worker_of(running).kill()
    else:
        postmaster_of(running).kill()
    running.wait_until(lambda: running.finds("add_tax"))
    running.wait_until(lambda: running.job(second).get("state") in ("succeeded", "failed", "cancelled"))
    assert running.job(second)["state"] == "succeeded"
    assert running.finds(f"late_{FILES - 1}_39")
    assert running.get("/v1/repositories/shop")[1]["coverage"]["files"] == len(SHOP) + FILES

    running.stop()
    give_up = time.monotonic() + PATIENCE_SECONDS
    while processes_of(state_dir):
        assert time.monotonic() < give_up, [process.cmdline() for process in processes_of(state_dir)]
        time.sleep(0.1)
