"""Dockerfile and docker-compose.yml keep their promises, as far as can be told without a container engine."""

from __future__ import annotations

import json
import re
import subprocess
import sysconfig
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from app import __version__
from app.bootstrap import CONNECTIONS_BESIDE_SEARCHES, CONNECTIONS_PER_SEARCH
from app.config import Settings
from app.storage.checks import LEAST_EXTENSIONS, LEAST_SERVER
from app.storage.cluster import INITDB_LOCALE
from tests.contract.markdown import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
SPARE_CONNECTIONS = 10  # for superusers, migrations and people


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
    return loaded


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = compose["services"]
    return found


def instructions(name: str) -> list[str]:
    """The arguments of every instruction of a kind, continued lines joined."""
    joined = re.sub(r"\\\n\s*", " ", DOCKERFILE)
    return re.findall(rf"^{name} (.*)$", joined, re.MULTILINE)


def test_hadolint_has_nothing_to_say() -> None:
    hadolint = Path(sysconfig.get_path("scripts")) / "hadolint"
    done = subprocess.run([hadolint, "--failure-threshold", "style", ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_does_not_run_as_root() -> None:
    (user,) = instructions("USER")
    assert int(user) > 0
    assert f"--uid {user} " in DOCKERFILE
    assert DOCKERFILE.index("USER ") < DOCKERFILE.index("ENTRYPOINT ")


def test_base_images_and_packages_are_pinned() -> None:
    images = [line.split()[0] for line in instructions("FROM")]
    assert len(set(images)) == 1
    assert re.fullmatch(r"python:3\.\d+-slim-\w+", images[0])
    installs = [step for line in instructions("RUN") for step in line.split("&&") if " install " in step and "apt-get" not in step]
    assert len(installs) == 3
    assert [("--require-hashes" in step, "--no-deps" in step) for step in installs] == [(True, False), (True, False), (False, True)]


def test_everything_that_is_copied_is_in_the_build_context() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    sources = {source.rstrip("/") for line in instructions("COPY") if "--from" not in line for source in line.split()[:-1]}
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert [source for source in sources if not any(fnmatch(source, f"{entry}*") for entry in allowed)] == []
    assert not {".git", ".venv", "tests", "benchmarks"} & allowed


def test_the_health_check_and_the_command_are_known() -> None:
    (entry,), (command,) = instructions("ENTRYPOINT"), instructions("CMD")
    assert (json.loads(entry), json.loads(command)) == (["fourfold"], ["serve", "--no-worker"])
    assert f":{Settings().port}/readyz" in DOCKERFILE


def test_the_database_has_the_locale_of_the_embedded_server(services: dict[str, dict[str, Any]]) -> None:
    assert services["postgres"]["environment"]["POSTGRES_INITDB_ARGS"].split() == list(INITDB_LOCALE)


def test_the_database_image_is_new_enough(services: dict[str, dict[str, Any]]) -> None:
    match = re.fullmatch(r"pgvector/pgvector:(\d+)\.(\d+)\.\d+-pg(\d+)", services["postgres"]["image"])
    assert match
    vector = (int(match[1]), int(match[2]))
    assert vector >= LEAST_EXTENSIONS["vector"]
    assert int(match[3]) * 10_000 >= LEAST_SERVER


def test_the_database_keeps_its_data_and_has_shared_memory(compose: dict[str, Any], services: dict[str, dict[str, Any]]) -> None:
    """From PostgreSQL 18 on, the image's data directory is a versioned one below the volume."""
    postgres = services["postgres"]
    (volume,) = postgres["volumes"]
    name, _, place = volume.partition(":")
    assert (name in compose["volumes"], place) == (True, "/var/lib/postgresql")
    assert postgres["shm_size"] == "1gb"
    assert postgres["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]


def test_the_order_of_the_start(services: dict[str, dict[str, Any]]) -> None:
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("api", "worker"):
        assert services[name]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
    assert [services[name]["command"] for name in ("migrate", "api", "worker")] == [["migrate"], ["serve", "--no-worker"], ["worker"]]


def test_only_this_machine_reaches_the_service(services: dict[str, dict[str, Any]]) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"api": [f"127.0.0.1:{Settings().port}:{Settings().port}"]}
    assert services["api"]["environment"]["FOURFOLD_ACCESS__OPEN"] == "${FOURFOLD_ACCESS__OPEN:-true}"  # and so needs no key to start


def test_sources_are_read_only_and_the_only_root(services: dict[str, dict[str, Any]]) -> None:
    for name in ("migrate", "api", "worker"):
        sources, state = services[name]["volumes"]
        assert sources.endswith(":/sources:ro")
        assert state == "state:/var/lib/fourfold"
        assert services[name]["environment"]["FOURFOLD_ALLOWED_ROOTS"] == "/sources"
        assert services[name]["image"] == f"fourfold:{__version__}"


def test_connections_suffice(services: dict[str, dict[str, Any]]) -> None:
    """An API, which has one pool for the owner and one for limited keys, and three workers at the default settings."""
    (most,) = [part.partition("=")[2] for part in services["postgres"]["command"] if part.startswith("max_connections=")]
    api = 2 * (Settings().search.concurrency * CONNECTIONS_PER_SEARCH + CONNECTIONS_BESIDE_SEARCHES)
    assert api + 3 * (CONNECTIONS_BESIDE_SEARCHES + 1) + SPARE_CONNECTIONS <= int(most)


def test_what_the_image_runs_is_compiled() -> None:
    installs = [line for line in DOCKERFILE.splitlines() if "uv pip install" in line]
    assert len(installs) == 2
    assert all("--compile-bytecode" in line for line in installs)
