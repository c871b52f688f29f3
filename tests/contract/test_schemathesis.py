"""The service accepts what its document allows, refuses what it forbids, and answers as it says: all checks, no exceptions.

``CONTRACT_CASES`` sets how many cases of each call are made (a few by default).
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import STDOUT, Popen, run
from sys import executable
from typing import Any

import httpx2
import pytest

from tests.contract.markdown import ROOT
from tests.contract.valid_requests import REPOSITORY
from tests.integration.conftest import SHOP, write_tree

CASES = int(os.environ.get("CONTRACT_CASES", "2"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tree(tmp_path_factory.mktemp("sources") / REPOSITORY, SHOP)


@pytest.fixture(scope="module")
def key(module_database_url: str) -> str:
    """A key of an administrator: the service is closed, so that what needs a key is seen to need one."""
    environment = {"DATABASE_URL": module_database_url, "FOURFOLD_EMBEDDER": "none", "PATH": "/usr/bin:/bin"}
    command = [executable, "-P", "-m", "app", "keys", "create", "contract", "--scope", "admin"]
    return run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def url(key: str, source: Path, module_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that has indexed a small repository. It logs to a file: a pipe that nobody reads would stop it."""
    environment = {"DATABASE_URL": module_database_url, "FOURFOLD_EMBEDDER": "none", "PATH": "/usr/bin:/bin", "FOURFOLD_LOG_FORMAT": "json"}
    environment |= {"FOURFOLD_ALLOWED_ROOTS": str(source.parent), "FOURFOLD_SEARCH__ADMISSION_MS": "5000"}
    environment |= {"FOURFOLD_ACCESS__REQUESTS_PER_MINUTE": "0"}
    log = tmp_path_factory.mktemp("log") / "service.log"
    with log.open("wb") as output:
        service = Popen([executable, "-P", "-m", "app", "serve", "--port", "0"], env=environment, cwd=ROOT, stdout=output, stderr=STDOUT)
    try:
        base = _address(service, log)
        with httpx2.Client(base_url=base, timeout=30, headers={"Authorization": f"Bearer {key}"}) as client:
            client.put(f"/v1/repositories/{REPOSITORY}", json={"source": {"path": str(source)}}).raise_for_status()
            client.post(f"/v1/repositories/{REPOSITORY}/index").raise_for_status()
            _wait(lambda: client.get(f"/v1/repositories/{REPOSITORY}").json()["generation"])
        yield base
    finally:
        service.terminate()
        service.wait(timeout=20)


def _address(service: Popen[bytes], log: Path) -> str:
    def told() -> str | None:
        assert service.poll() is None, log.read_text()
        events = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]
        return next((event["url"] for event in events if event["event"] == "serving"), None)

    return str(_wait(told))


def _wait(condition: Callable[[], Any]) -> Any:
    """What the condition gives once that is something."""
    give_up = time.monotonic() + 60
    while not (found := condition()):
        assert time.monotonic() < give_up
        time.sleep(0.1)
    return found


@pytest.mark.timeout(max(300, 60 * CASES))
def test_every_call_keeps_to_the_document(url: str, key: str, source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    phases = "fuzzing" if CASES < 10 else "examples,coverage,fuzzing"
    done = run(
        [
            *(executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run", f"{url}/openapi.json"),
            *("--header", f"Authorization: Bearer {key}"),
            *("--checks", "all", "--phases", phases, "-n", str(CASES), "--continue-on-failure", "--no-color", "--seed", "1"),
        ],
        env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.contract.valid_requests", "PYTHONPATH": str(ROOT), "SOURCE_PATH": str(source)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
    counted = re.search(r"([\d,]+) generated", done.stdout)
    assert counted is not None, done.stdout[-2_000:]
    if CASES > 2:  # whoever asks for many wants to know how many there were
        with capsys.disabled():
            print(f"\n{counted[1]} cases, no failure")
