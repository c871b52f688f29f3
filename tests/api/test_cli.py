"""The command line on a real store."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest

from app.cli import main
from app.cli.first_run import example_questions
from app.cli.printing import one_line, safe
from app.domain.errors import InvalidRequest
from app.domain.ranking import SymbolSummary
from app.http.serve import bind

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small program whose names nothing else has."""
    path = tmp_path / "weather"
    (path / "src").mkdir(parents=True)
    (path / "src" / "station.py").write_text(
        "class Barometer:\n    def read_pressure(self) -> float:\n        return 1013.25\n\n\n"
        "def forecast(barometer: Barometer) -> str:\n    return 'rain' if barometer.read_pressure() < 1000 else 'sun'\n"
    )
    (path / "src" / "main.py").write_text(
        "from station import Barometer, forecast\n\n\ndef main() -> None:\n    print(forecast(Barometer()))\n"
    )
    (path / "notes.md").write_text("# Weather\n\nThe \x1b[31mforecast\x1b[0m is rough.\n")
    (path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\0")
    return path


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {"DATABASE_URL": database_url, "FOURFOLD_EMBEDDER": "none", "TMPDIR": str(tmp_path), "COLUMNS": "120"}


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Runs a command in this process, which has imported everything already; workers are still processes of their own."""

    def fourfold(*arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["fourfold", *arguments])
            for name, value in (environment | changes).items():
                patch.setenv(name, value)
            capsys.readouterr()
            with pytest.raises(SystemExit) as ended:
                main()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), shown.out, shown.err)

    handlers = logging.getLogger().handlers[:]
    yield fourfold
    logging.getLogger().handlers[:] = handlers


def test_from_a_directory_to_an_answer(run: Run, project: Path) -> None:
    assert run("repositories").stdout.startswith("No repositories yet")

    indexed = run("index", str(project))
    assert indexed.returncode == 0, indexed.stderr
    assert re.search(r"weather: 3 files indexed in \d+\.\d s, 1 skipped", indexed.stdout)
    assert "binary 1" in indexed.stdout
    again = run("index", str(project), "--name", "weather", "--include", "src/**")
    assert "weather: 2 files indexed" in again.stdout, again.stderr

    assert str(project) in run("repositories", COLUMNS="40").stdout, "a path is neither cut nor folded"
    (stored,) = json.loads(run("repositories", "--json").stdout)["repositories"]
    assert (stored["name"], stored["include"], stored["coverage"]["files"]) == ("weather", ["src/**"], 2)

    found = run("search", "who calls forecast", "--repo", "weather")
    assert found.returncode == 0, found.stderr
    assert "1. src/main.py" in found.stdout
    answer = json.loads(run("search", "where is Barometer defined", "--json", "--limit", "1").stdout)
    assert answer["results"][0]["path"] == "src/station.py"
    assert answer["routing"]["intent"] == "find_definition"
    assert "Nothing found in 2 of 2 files." in run("search", '"no such string anywhere"').stdout
    assert '"centrality"' in run("search", "how does the forecast work", "--explain").stdout


def test_the_terminal_is_safe(run: Run, project: Path) -> None:
    (project / "new\n1. line.py").write_text("def forged(): ...\n")
    assert run("index", str(project)).returncode == 0
    shown = run("search", "rough", "--modality", "text")
    assert "\\x1b[31mforecast" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "1. new\\n1. line.py:1-1" in run("search", "def forged").stdout


def test_no_wait_only_queues(run: Run, project: Path) -> None:
    queued = run("index", str(project), "--no-wait")
    assert re.fullmatch(r"job [0-9a-f-]{36} is queued; .*\n", queued.stdout), queued.stderr


def test_symbols_and_their_users(run: Run, project: Path) -> None:
    assert run("index", str(project)).returncode == 0
    listed = run("symbols", "read_pressure")
    symbol_id, kind, name, place = listed.stdout.split()[:4]
    assert (kind, name, place) == ("method", "Barometer.read_pressure", "src/station.py:2"), listed.stderr
    assert json.loads(run("symbols", "*", "--kind", "class", "--json").stdout)["symbols"][0]["name"] == "Barometer"
    for asked in ("Barometer.read_pressure", symbol_id):
        called = run("callers", asked)
        assert "function forecast  src/station.py:6" in called.stdout, called.stderr
        assert "7  return 'rain' if barometer.read_pressure() < 1000 else 'sun'" in called.stdout
    (caller,) = json.loads(run("callers", "forecast", "--json").stdout)["callers"]
    assert caller["symbol"]["qualified"] == "main"
    assert "src/main.py:5  calls" in run("references", "forecast", "--class", "exact").stdout
    assert "src/station.py:1" in run("callees", "main").stdout
    number = next(n for n, line in enumerate((project / "src" / "main.py").read_text().splitlines(), 1) if "forecast(" in line)
    column = (project / "src" / "main.py").read_text().splitlines()[number - 1].index("forecast") + 1
    gone_to = run("definition", f"src/main.py:{number}:{column}", "--repo", project.name)
    assert gone_to.stdout.startswith("src/station.py:6:5  function forecast\n1 definition of forecast"), gone_to.stderr
    assert "a place is written PATH:LINE:COLUMN" in run("definition", "src/main.py", "--repo", project.name).stderr
    unknown = run("callers", "nobody")
    assert (unknown.returncode, unknown.stderr) == (1, "fourfold: no definition is named 'nobody'\n")


def test_a_name_of_several_symbols_is_a_choice(run: Run, project: Path) -> None:
    (project / "src" / "more.py").write_text("class Thermometer:\n    def read_pressure(self): ...\n")
    assert run("index", str(project)).returncode == 0
    choice = run("impact", "read_pressure")
    assert choice.returncode == 1
    assert "2 definitions are named 'read_pressure'" in choice.stderr
    assert len(re.findall(r"\n  [0-9a-f]{16}  method ", choice.stderr)) == 2


def test_the_impact_of_a_difference(run: Run, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("index", str(project)).returncode == 0
    diff = "--- a/src/station.py\n+++ b/src/station.py\n@@ -3 +3 @@\n-        return 1013.25\n+        return 1000.0\n"
    (tmp_path / "change.diff").write_text(diff)
    shown = run("impact", "--diff", "change.diff")
    assert "changed  method Barometer.read_pressure" in shown.stdout, shown.stderr
    assert "src/main.py:5  main (likely)  → forecast" in shown.stdout
    assert "base of the difference is indexed" in shown.stdout

    class Piped:
        buffer = io.BytesIO(diff.encode())

    monkeypatch.setattr(sys, "stdin", Piped)
    assert "**1 changed symbol reaches " in run("impact", "--diff", "-", "--format", "markdown").stdout
    assert json.loads(run("impact", "forecast", "--format", "json").stdout)["changed"][0]["symbol"]["name"] == "forecast"
    assert json.loads(run("impact", "forecast", "--format", "sarif", "--repo", "weather").stdout)["version"] == "2.1.0"
    assert "cannot read nothing.diff" in run("impact", "--diff", "nothing.diff").stderr
    for arguments in ((), ("forecast", "--diff", "change.diff"), ("--base", "main")):
        assert run("impact", *arguments).returncode == 2


def test_classify(run: Run) -> None:
    assert "find_references" in run("classify", "who calls forecast").stdout
    assert json.loads(run("classify", "who calls forecast", "--json").stdout)["operands"] == ["forecast"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", ""), "the query is empty"),
        (("search", "x" * 10_001), "the query is longer than 10,000 characters"),
        (("search", "a\udc80b"), "the query contains half of a surrogate pair"),
        (("search", "x", "--repo", "nope"), "there is no repository named 'nope'"),
        (("index", "/no/such/directory"), "/no/such/directory is no directory"),
        (("index", "/", "--name", "-"), "'-' is no repository name"),
    ],
)
def test_an_error_is_one_line(run: Run, arguments: tuple[str, ...], message: str) -> None:
    ran = run(*arguments)
    assert ran.returncode == 1
    assert ran.stdout == ""
    (line,) = [line for line in ran.stderr.splitlines() if not line.startswith("Fourfold ")]
    assert line.startswith(f"fourfold: {message}")


def test_debug_shows_where(run: Run) -> None:
    with pytest.raises(InvalidRequest):
        run("--debug", "search", "")


@pytest.mark.parametrize("arguments", [("search", "x", "--preset", "fast"), ("search", "x", "--limit", "101"), ("search",), ("fly",)])
def test_a_wrong_call_is_a_usage_error(run: Run, arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)
    assert ran.returncode == 2
    assert "Usage:" in ran.stderr


def test_wrong_settings_are_named(run: Run) -> None:
    ran = run("repositories", FOURFOLD_PORT="high")
    assert (ran.returncode, "FOURFOLD_PORT" in ran.stderr, "Traceback" in ran.stderr) == (1, True, False)


def test_version_and_help(run: Run) -> None:
    assert re.fullmatch(r"fourfold \d+\.\d+\.\d+\n", run("--version").stdout)
    commands = ("serve", "worker", "migrate", "index", "search", "classify", "repositories", "openapi", "doctor")
    overview = run("--help").stdout
    assert all(command in overview for command in commands)


def test_migrate_an_empty_database(run: Run, empty_database_url: str) -> None:
    for _ in range(2):
        ran = run("migrate", DATABASE_URL=empty_database_url)
        assert ran.stdout == "The schema is up to date.\n", ran.stderr


def test_openapi(run: Run, tmp_path: Path) -> None:
    (tmp_path / "openapi.json").write_text(run("openapi").stdout, "utf-8")
    assert run("openapi", "--check", "openapi.json").returncode == 0
    (tmp_path / "openapi.json").write_text("{}")
    drifted = run("openapi", "--check", "openapi.json")
    assert (drifted.returncode, "out of date" in drifted.stderr) == (1, True)


def test_doctor(run: Run) -> None:
    well = run("doctor")
    assert well.returncode == 0, well.stdout
    names = {item["name"] for item in json.loads(run("doctor", "--json").stdout)}
    assert {"python", "settings", "disk", "grammars", "store", "schema", "embedder", "extension vector"} <= names
    ill = run("doctor", DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert (ill.returncode, "FAIL service" in ill.stdout) == (1, True)
    assert "FAIL settings" in run("doctor", FOURFOLD_PORT="high").stdout


def test_serve_indexes_answers_and_stops(environment: dict[str, str], project: Path, tmp_path: Path) -> None:
    with bind("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-P", "-m", "app", "serve", "--port", str(port), "--index", str(project), "--name", "weather"]
    log = tmp_path / "serve.log"
    with log.open("w") as out:
        service = subprocess.Popen(command, env=os.environ | environment, stdout=out, stderr=subprocess.STDOUT, cwd=tmp_path)
    try:
        give_up = time.monotonic() + 90
        while "until Ctrl-C" not in log.read_text():
            assert service.poll() is None, log.read_text()
            assert time.monotonic() < give_up, log.read_text()
            time.sleep(0.1)
        shown = log.read_text()
        assert "weather: 3 files indexed" in shown
        assert shown.count('$ fourfold search "') == 3
        answer = httpx2.get(f"http://127.0.0.1:{port}/v1/search", params={"q": "who calls forecast"}).json()
        assert [result["path"] for result in answer["results"]] == ["src/main.py"]
        metrics = httpx2.get(f"http://127.0.0.1:{port}/metrics").text
        assert 'fourfold_jobs_total{state="succeeded"} 1.0' in metrics  # counted by the worker
        assert 'fourfold_http_requests_total{method="GET",route="/v1/search",status="200"} 1.0' in metrics

        second = subprocess.run(
            [*command[:5], "--port", str(port)], env=os.environ | environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert (second.returncode, "is in use" in second.stderr) == (1, True)
    finally:
        service.send_signal(signal.SIGTERM)
        status = service.wait(15)
    assert status == 0, log.read_text()
    assert "Traceback" not in log.read_text()
    assert not list(tmp_path.glob("fourfold-metrics-*"))


def symbol(name: str, kind: str) -> SymbolSummary:
    return SymbolSummary("0" * 16, name, name, kind, "", 1, 1)


def test_example_questions_name_what_is_central() -> None:
    symbols = [symbol("__init__", "method"), symbol("_hidden", "function"), symbol("g", "variable"), symbol("Flask", "class")]
    assert example_questions([*symbols, symbol("url_for", "function"), symbol("Scaffold", "class")]) == [
        "where is Flask defined",
        "who calls url_for",
        "how does Scaffold work",
    ]
    assert example_questions([symbol("run", "function")]) == ["where is run defined", "who calls run", "how does it start"]
    assert example_questions([]) == ["how does it start"]


def test_one_line() -> None:
    assert one_line("a\nb\tc\x1b") == "a\\nb\\tc\\x1b"


def test_safe() -> None:
    assert safe("a\x1b[31m\u202eb\x9b\x07\r\n\t\ud800é日") == "a\\x1b[31m\\u202eb\\x9b\\x07\\r\n\t\\ud800é日"


def test_keys_and_the_log_of_them(run: Run, project: Path) -> None:
    assert run("keys", "list").stdout.startswith("No keys")
    made = run("keys", "create", "ci", "--scope", "index", "--repo", "weather*", "--days", "30")
    assert re.fullmatch(r"ff_[0-9a-f]{16}_[0-9a-f]{64}\n", made.stdout)
    assert "shown once" in made.stderr
    (listed,) = json.loads(run("keys", "list", "--json").stdout)["keys"]
    assert (listed["name"], listed["scope"], listed["repositories"], listed["state"]) == ("ci", "index", ["weather*"], "valid")
    assert re.search(rf"{listed['id']} +ci +index +valid +weather\* ", run("keys", "list").stdout)
    assert run("keys", "revoke", listed["id"]).stdout == f"key {listed['id']} is revoked\n"
    assert json.loads(run("keys", "list", "--json").stdout)["keys"][0]["state"] == "revoked"
    run("index", str(project), "--no-wait")
    shown = run("audit").stdout
    assert [line.split("–")[1].split()[:2] for line in shown.splitlines()[1:]] == [
        ["index", "weather"],
        ["keys", "revoke"],
        ["keys", "create"],
    ]
    entries = json.loads(run("audit", "--json").stdout)["entries"]
    assert {entry["actor"].split()[0] for entry in entries} == {"operator"}
    assert made.stdout.strip().split("_")[2] not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("keys", "create", "a/b"), "name: "),
        (("keys", "create", "a", "--repo", "(x)"), "repositories.0: "),
        (("keys", "create", "a", "--scope", "admin", "--repo", "x"), "a key of the scope admin reaches every repository"),
        (("keys", "revoke", "0" * 16), "there is no key '0000000000000000'"),
    ],
)
def test_a_key_that_cannot_be(run: Run, arguments: tuple[str, ...], message: str) -> None:
    refused = run(*arguments)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert message in refused.stderr
