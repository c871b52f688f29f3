"""The HTTP examples of the documents are sent to a real service: as they stand, and by clients that were made from its document."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, run
from sys import executable
from typing import Any, Final
from urllib.parse import urlencode

import httpx2
import pytest

from tests.contract.made_clients import Generators, as_operations, ran
from tests.contract.markdown import ROOT, blocks

DOCUMENTS: Final = (ROOT / "README.md", ROOT / "docs" / "api.md")
CHECKOUT: Final = "/srv/checkouts/flask"
FLASK: Final = {
    "src/flask/app.py": (
        "from .helpers import url_for\n\n\nclass Flask:\n    def full_dispatch_request(self):\n        return url_for('index')\n\n"
        "    def wsgi_app(self):\n        return self.full_dispatch_request()\n\n"
        + "".join(f"    def view_{number}(self):\n        return {number}\n\n" for number in range(30))  # the rest is another chunk
        + "    def __call__(self):\n        handler = self.full_dispatch_request\n        return self.wsgi_app()\n"
    ),
    "src/flask/helpers.py": "def url_for(endpoint):\n    return '/' + endpoint\n",
}


@dataclass(frozen=True, slots=True)
class Call:
    """A line of a document that curl would run."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: str | None


def parse_curl(line: str) -> Call:
    """Knows the options that the documents use; any other fails the test."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    assert words.pop(0) == "curl", line
    method, url, headers, body = None, None, {}, None
    parameters: list[tuple[str, str]] = []
    while words:
        match words.pop(0):
            case "-X":
                method = words.pop(0)
            case "-H":
                name, _, value = words.pop(0).partition(": ")
                headers[name] = value
            case "-d":
                body = words.pop(0)
            case "-G":
                method = "GET"
            case "--data-urlencode":
                name, _, value = words.pop(0).partition("=")
                parameters.append((name, value))
            case word:
                assert url is None, line
                assert word.startswith("localhost:8000/"), line
                url = word.removeprefix("localhost:8000")
    assert url is not None, line
    url += f"?{urlencode(parameters)}" if parameters else ""
    return Call(method or ("POST" if body is not None else "GET"), url, headers, body)


def calls(document: Path) -> list[Call]:
    return [parse_curl(line) for block in blocks(document, "console") for line in block.splitlines()]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("examples") / "flask"
    for name, text in FLASK.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for arguments in (["init", "-b", "main"], ["add", "."], ["commit", "-m", "one"], ["branch", "rework"]):
        run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments], cwd=root, check=True, capture_output=True)
    return root


@pytest.fixture(scope="module")
def client(checkout: Path, module_database_url: str) -> Iterator[httpx2.Client]:
    """A service with a worker, to which ``flask`` was introduced as the documents do it."""
    environment = {"DATABASE_URL": module_database_url, "FOURFOLD_EMBEDDER": "none", "PATH": "/usr/bin:/bin", "FOURFOLD_LOG_FORMAT": "json"}
    service = Popen(
        [executable, "-P", "-m", "app", "serve", "--port", "0"], env=environment, cwd=ROOT, stdout=PIPE, stderr=STDOUT, text=True
    )
    try:
        with httpx2.Client(base_url=address(service), timeout=30) as client:
            yield client
    finally:
        service.terminate()
        with suppress(ValueError):
            service.communicate(timeout=20)


def address(service: Popen[str]) -> str:
    """The URL that the service logs when it accepts requests."""
    assert service.stdout is not None
    seen = []
    for line in service.stdout:
        seen.append(line)
        with suppress(json.JSONDecodeError):
            event = json.loads(line)
            if event.get("event") == "serving":
                return str(event["url"])
    raise AssertionError("".join(seen))


def send(client: httpx2.Client, call: Call, checkout: Path) -> httpx2.Response:
    body = call.body.replace(CHECKOUT, str(checkout)) if call.body is not None else None
    return client.request(call.method, call.url, headers=dict(call.headers), content=body)


@pytest.fixture(scope="module")
def answers(client: httpx2.Client, checkout: Path) -> dict[Path, list[tuple[Call, httpx2.Response]]]:
    """Every call of every document with its answer. Writes come first, then what was started is waited for."""
    every = [(document, call) for document in DOCUMENTS for call in calls(document)]
    is_write = [call.method != "GET" and "/repositories/" in call.url for _, call in every]
    found: dict[int, httpx2.Response] = {}
    for number, (_, call) in enumerate(every):
        if is_write[number]:
            found[number] = send(client, call, checkout)
    give_up = time.monotonic() + 60
    while any(job["state"] not in ("succeeded", "failed") for job in client.get("/v1/jobs").json()["jobs"]):
        assert time.monotonic() < give_up
        time.sleep(0.1)
    for number, (_, call) in enumerate(every):
        if number not in found:
            found[number] = send(client, call, checkout)
    by_document: dict[Path, list[tuple[Call, httpx2.Response]]] = {}
    for number, (document, call) in enumerate(every):
        by_document.setdefault(document, []).append((call, found[number]))
    return by_document


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_call_is_answered(document: Path, answers: dict[Path, list[tuple[Call, httpx2.Response]]]) -> None:
    assert len(answers[document]) >= 5
    for call, response in answers[document]:
        assert response.status_code in (200, 201, 202), (call, response.text)
        if response.headers["content-type"] != "application/json":
            assert response.text
            continue
        body = response.json()
        if call.url.startswith("/v1/symbols?"):
            assert body["symbols"], call
        if "/v1/symbols/" in call.url or call.url == "/v1/impact":
            assert body["warnings"] == [], call
        if call.url == "/v1/search/batch":
            assert all(entry["answer"]["results"] for entry in body["answers"]), body
        elif "/v1/search" in call.url:
            assert body["results"], (call, body)
            assert body["warnings"] == [], call
        if call.url.startswith("/v1/jobs"):
            assert body["jobs"][-1]["state"] == "succeeded"


def test_the_answer_in_the_readme_has_the_shape_of_a_real_one(answers: dict[Path, list[tuple[Call, httpx2.Response]]]) -> None:
    (shown,) = blocks(DOCUMENTS[0], "json")
    example = json.loads(shown)
    call, response = answers[DOCUMENTS[0]][0]
    assert "q=who+calls+full_dispatch_request" in call.url
    real = response.json()
    assert_part_of(example, real, "answer")
    decided = {key: value for key, value in example["routing"].items() if key != "modalities"}
    assert decided == {key: real["routing"][key] for key in decided}
    shown_edges, real_edges = ([(edge["relation"], edge["class"]) for edge in body["results"][0]["evidence"]] for body in (example, real))
    assert shown_edges == real_edges


@pytest.fixture(scope="module")
def generators(tmp_path_factory: pytest.TempPathFactory) -> Generators:
    return Generators.install(tmp_path_factory.mktemp("clients") / "environment")


@pytest.fixture(scope="module")
def documented(answers: dict[Path, list[tuple[Call, httpx2.Response]]], checkout: Path) -> list[dict[str, Any]]:
    """Every call of the documents with a JSON answer; the index is there, since ``answers`` are."""
    every = [call for document in DOCUMENTS for call, _ in answers[document]]
    found = as_operations((call.method, call.url, call.body.replace(CHECKOUT, str(checkout)) if call.body else None) for call in every)
    assert len(found) > len(every) * 0.8
    return found


def test_a_made_python_client_asks_every_example(
    generators: Generators, documented: list[dict[str, Any]], client: httpx2.Client, tmp_path: Path
) -> None:
    generators.python_client(tmp_path)
    program = str(ROOT / "tools" / "clients" / "examples.py")
    printed = generators.python([program, str(client.base_url).rstrip("/")], tmp_path, json.dumps(documented))
    assert printed == f"{len(documented)} calls answered\n"


def test_a_made_typescript_client_asks_every_example(
    generators: Generators, documented: list[dict[str, Any]], client: httpx2.Client, tmp_path: Path
) -> None:
    generators.typescript_client(tmp_path)
    (tmp_path / "calls.json").write_text(json.dumps(documented))
    printed = ran(generators.node(["examples.js", str(client.base_url).rstrip("/"), "calls.json"], tmp_path))
    typed = (ROOT / "tools" / "clients" / "examples.ts").read_text("utf-8").count('\nexpect("')
    assert printed == f"{len(documented) + typed} calls answered\n"


def assert_part_of(example: Any, real: Any, where: str) -> None:
    """Every key of the example is in the answer, with a value of the same type."""
    assert type(example) is type(real), where
    if isinstance(example, dict):
        assert set(example) <= set(real), where
        for key, value in example.items():
            assert_part_of(value, real[key], f"{where}.{key}")
    elif isinstance(example, list) and example:
        assert real, where
        assert_part_of(example[0], real[0], f"{where}[0]")
