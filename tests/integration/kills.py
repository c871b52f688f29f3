"""kill -9 at one moment of an index run of a real service: what readers see meanwhile, and whether the end is that of a clean build.

Used by a test with a few moments and by ``python -m benchmarks.kills`` with as many as wanted.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from app import bootstrap
from app.config import Settings
from tests.integration.git_remotes import Remote
from tests.integration.index_content import index_content

PATIENCE_SECONDS: Final = 240.0
SOURCES: Final = ("directory", "git", "archive")
RUNS: Final = ("full", "incremental")
VICTIMS: Final = ("service", "worker", "parser", "postgres")

MARK: Final = "mark_of_the_tree"
MARKED: Final = 40


@dataclass(frozen=True, slots=True)
class Moment:
    """``seconds`` after the run was asked for, ``victim`` is killed."""

    source: str
    run: str
    victim: str
    seconds: float


@dataclass(slots=True)
class Survived:
    """``faults`` is what went wrong; ``stage`` is what the run was at when it was hit, None outside of it."""

    stage: str | None = None
    faults: list[str] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    """What readers were shown meanwhile: old, new, nothing yet, or no answer."""


def tree(version: str, files: int) -> dict[str, str]:
    """Sources that call each other. The new version has other marks, moved, deleted, added and broken files; half stay as they are."""
    found = {f"marked/m{n}.py": f'{MARK} = "{version}"\n\n\ndef marked_{n}():\n    return {MARK}\n' for n in range(MARKED)}
    for n in range(files):
        own = version if n % 2 else ""
        body = "\n\n".join(
            f"def work_{n}_{i}{own}(x):\n    return work_{(n + i) % files}_{i}(x) + helper_{i}(json.dumps(x))" for i in range(12)
        )
        if n % 11 == 3 and version == "new":
            continue
        name = f"moved/w{n}.py" if n % 7 == 2 and version == "new" else f"work/w{n}.py"
        found[name] = f"import json\nfrom helpers import *\n\n\n{body}\n" + ("def broken(:\n" if n % 13 == 5 and version == "new" else "")
    found["helpers.py"] = "\n\n".join(f"def helper_{i}(x):\n    return x" for i in range(12)) + "\n"
    return found | (
        {f"added/a{n}.py": f"from helpers import helper_1\n\n\ndef added_{n}():\n    return helper_1({n})\n" for n in range(20)}
        if version == "new"
        else {}
    )


class Running:
    """``fourfold serve`` on a state directory of its own, as a person starts it."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.start()

    def start(self) -> None:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        environment = {k: v for k, v in os.environ.items() if k != "DATABASE_URL" and not k.startswith("FOURFOLD_")} | {
            "FOURFOLD_STATE_DIR": str(self.state_dir),
            "FOURFOLD_EMBEDDER": "none",
            "FOURFOLD_MARK": str(self.state_dir),
        }
        with (self.state_dir.parent / "serve.log").open("a") as log:
            command = [sys.executable, "-m", "app", "serve", "--port", str(port)]
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        self.wait_until(lambda: self.get("/readyz")[0] == 200)

    def request(self, method: str, path: str, body: object | bytes | None = None) -> tuple[int, Any]:
        """Status and answer; status 0 when there is none."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        kind = "application/gzip" if isinstance(body, bytes) else "application/json"
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())
        except (OSError, ValueError):  # cut off in the middle
            return 0, None

    def get(self, path: str) -> tuple[int, Any]:
        return self.request("GET", path)

    def wait_until(self, condition: Callable[[], object]) -> None:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > give_up:
                raise TimeoutError("waited in vain")
            time.sleep(0.05)

    def newest_job(self, name: str) -> Mapping[str, Any]:
        status, jobs = self.get(f"/v1/jobs?repository={name}")
        return jobs["jobs"][0] if status == 200 and jobs["jobs"] else {}

    def is_done(self, name: str) -> bool:
        status, jobs = self.get(f"/v1/jobs?repository={name}")
        return status == 200 and bool(jobs["jobs"]) and all(job["state"] not in ("queued", "running") for job in jobs["jobs"])

    def victims(self, victim: str) -> list[psutil.Process]:
        """Those of which one is to be killed."""
        service = psutil.Process(self.process.pid)
        if victim == "service":
            return [service]
        if victim == "postgres":
            return [psutil.Process(int((self.state_dir / "server/data/postmaster.pid").read_text().splitlines()[0]))]
        workers = [child for child in _children(service) if "worker" in child.cmdline()]
        if victim == "worker":
            return workers
        servers = [child for worker in workers for child in _children(worker)]
        return [parser for server in servers for parser in _children(server)]

    def recover(self, victim: str) -> None:
        """Start the service again when it was the victim; everything else is its own affair."""
        if victim == "service":
            self.process.wait()
            self.wait_until(lambda: not processes_of(self.state_dir))
            self.start()
        self.wait_until(lambda: self.get("/readyz")[0] == 200)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def _children(process: psutil.Process) -> list[psutil.Process]:
    """Those of one that may end meanwhile."""
    with suppress(psutil.NoSuchProcess):
        return process.children()
    return []


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def own_state_directory() -> Iterator[Path]:
    """A state directory whose parents the embedded server's account can pass; what runs in it at the end is killed."""
    path = Path(tempfile.mkdtemp(prefix="fourfold-kill-"))
    path.chmod(0o711)
    yield path / "state"
    for process in processes_of(path / "state"):
        with suppress(psutil.NoSuchProcess):
            process.kill()
    shutil.rmtree(path)


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


class Source:
    """One repository's source at the client's side: holds one version at a time."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind = kind
        self.folder = folder
        self._remote = Remote(folder / "git") if kind == "git" else None
        self._archive = b""
        self._shown: set[str] = set()

    def hold(self, files: Mapping[str, str], version: str) -> None:
        self.version = version
        if self._remote is not None:
            self._remote.commit({**dict.fromkeys(self._shown - files.keys()), **files})
        elif self.kind == "archive":
            self._archive = _tar(files)
        else:
            for gone in self._shown - files.keys():
                (self.folder / "tree" / gone).unlink()
            for name, text in files.items():
                path = self.folder / "tree" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self._shown = set(files)

    def create(self, running: Running, name: str) -> None:
        if self.kind != "archive":
            source = {"url": self._remote.url} if self._remote is not None else {"path": str(self.folder / "tree")}
            status, answer = running.request("PUT", f"/v1/repositories/{name}", {"source": source})
            assert status == 201, answer

    def ask(self, running: Running, name: str) -> bool:
        """Have it indexed; false when there was no answer to that."""
        if self.kind == "archive":
            return running.request("PUT", f"/v1/repositories/{name}/archive?revision={self.version}", self._archive)[0] == 202
        return running.request("POST", f"/v1/repositories/{name}/index")[0] == 202


def _tar(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(text.encode())
            archive.addfile(item, io.BytesIO(text.encode()))
    return packed.getvalue()


def survive(running: Running, moment: Moment, folder: Path, files: int, source: random.Random, name: str = "shop") -> Survived:
    """Have a repository indexed, kill at the moment, and look at everything afterwards."""
    outcome = Survived()
    asked = Source(moment.source, folder)
    if moment.run == "incremental":
        asked.hold(tree("old", files), "old")
        asked.create(running, name)
        assert asked.ask(running, name)
        running.wait_until(lambda: running.is_done(name))
    asked.hold(tree("new", files), "new")
    if moment.run == "full":
        asked.create(running, name)
    with _reading(running, name, outcome, moment):
        asking = threading.Thread(target=asked.ask, args=(running, name))
        asking.start()
        time.sleep(moment.seconds)
        if victims := running.victims(moment.victim):
            outcome.stage = running.newest_job(name).get("stage")
            with suppress(psutil.NoSuchProcess):  # parsers end when their files are read
                source.choice(victims).kill()
        asking.join()
        running.recover(moment.victim)
        if not asked.ask(running, name):  # the first request may have been lost; a second one joins it, or finds nothing to do
            outcome.faults.append("a request after the recovery was not taken")
        running.wait_until(lambda: running.is_done(name))
    if (job := running.newest_job(name)).get("state") != "succeeded":
        outcome.faults.append(f"the job {job.get('state')}: {job.get('error')}")
    if (shown := _version(running, name)) != "new":
        outcome.faults.append(f"in the end readers see {shown}")
    clean = f"{name}-clean"
    asked.create(running, clean)
    assert asked.ask(running, clean)
    running.wait_until(lambda: running.is_done(clean))
    outcome.faults += asyncio.run(_differences(running.state_dir, name, clean))
    for repository in (name, clean):
        assert running.request("DELETE", f"/v1/repositories/{repository}")[0] == 204
    return outcome


@contextmanager
def _reading(running: Running, name: str, outcome: Survived, moment: Moment) -> Iterator[None]:
    """A reader beside the block that asks all the time and trusts nobody."""
    stop = threading.Event()
    allowed = {"new", "no answer", "nothing yet" if moment.run == "full" else "old"}

    def read() -> None:
        seen = ""
        while not stop.wait(0.02):
            shown = _version(running, name)
            outcome.answers[shown] += 1
            if shown not in allowed:
                outcome.faults.append(f"readers saw {shown}")
            if (seen, shown) == ("new", "old"):
                outcome.faults.append("readers saw the old index after the new one")
            seen = shown if shown in ("old", "new") else seen

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _version(running: Running, name: str) -> str:
    """Which version the whole answer shows, and nothing of another."""
    body = {"query": MARK, "literal": True, "repositories": [name], "limit": 100, "timeout_ms": 10_000}
    status, answer = running.request("POST", "/v1/search", body)
    if status in (0, 500, 503):
        return "no answer" if status != 500 else f"an error {answer}"
    if status in (404, 425):
        return "nothing yet"
    if status != 200 or answer["routing"]["degraded"] or answer["partial"]:
        return "no answer" if status == 200 else f"an error {answer}"
    versions = {version for result in answer["results"] for version in ("old", "new") if f'"{version}"' in result["snippet"]}
    if len(answer["results"]) == MARKED and len(versions) == 1:
        return versions.pop()
    return f"{len(answer['results'])} of {MARKED} files, of {sorted(versions)}"


async def _differences(state_dir: Path, name: str, clean: str) -> list[str]:
    async with bootstrap.backend(Settings(database_url=None, state_dir=state_dir, embedder="none")) as backend:
        (grown, central), (fresh, fresh_central) = [await index_content(backend, repository) for repository in (name, clean)]
    found = [f"{part}: {len(set(grown[part]) ^ set(rows))} rows differ" for part, rows in fresh.items() if grown[part] != rows]
    moved = [symbol for symbol, value in fresh_central.items() if abs(central.get(symbol, 0.0) - value) > 0.06 * value]
    return found + ([f"centrality of {len(moved)} symbols"] if moved or central.keys() != fresh_central.keys() else [])
