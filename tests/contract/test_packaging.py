"""The wheel and the sdist hold everything, and the wheel runs where no checkout is near."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final

import pytest

from app import __version__
from tests.contract.markdown import ROOT

DATA_SUFFIXES: Final = frozenset({".py", ".scm", ".toml", ".mako", ".npz"})


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def sources() -> Iterator[Path]:
    """Files of the two packages, relative to the root."""
    for package in ("app", "migrations"):
        for path in (ROOT / package).rglob("*"):
            if path.suffix in DATA_SUFFIXES:
                yield path.relative_to(ROOT)


def run(*command: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.defpath, "HOME": str(cwd)} | variables
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the sdist, built without a network."""
    target = tmp_path_factory.mktemp("dist")
    built = run(sys.executable, "-m", "hatchling", "build", "-d", target, cwd=ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(packages: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``fourfold`` of an empty environment: the wheel, and from this environment the dependencies alone.

    A path that a ``.pth`` file adds is not searched for further ``.pth`` files, so the checkout stays out of reach.
    """
    home = tmp_path_factory.mktemp("installed")
    run_well(sys.executable, "-m", "venv", "--without-pip", home, cwd=home)
    run_well(sys.executable, "-m", "pip", "--python", home / "bin/python", "install", "--no-deps", "--no-index", packages[0], cwd=home)
    site = home / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin" / "fourfold"


def run_well(*command: str | Path, cwd: Path, **variables: str) -> str:
    done = run(*command, cwd=cwd, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_every_source(packages: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(packages[0]) as wheel:
        names = set(wheel.namelist())
    assert {str(path) for path in sources()} - names == set()
    strange = {name for name in names if name.split("/")[0] not in ("app", "migrations", f"fourfold-{__version__}.dist-info")}
    assert strange == set()


def test_the_sdist_builds_the_same_wheel(packages: tuple[Path, Path], tmp_path: Path) -> None:
    with tarfile.open(packages[1]) as sdist:
        sdist.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    kept = {path for path in ("README.md", "LICENSE", "Makefile", "requirements/runtime.txt") if (unpacked / path).exists()}
    assert kept == {"README.md", "LICENSE", "Makefile", "requirements/runtime.txt"}
    assert not (unpacked / "benchmarks" / "corpora").exists()
    run_well(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=unpacked)
    (again,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(again) as first, zipfile.ZipFile(packages[0]) as second:
        assert set(first.namelist()) == set(second.namelist())


def test_the_installed_program_is_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    assert run_well(installed, "--version", cwd=tmp_path) == f"fourfold {__version__}\n"
    where = run_well(installed.with_name("python"), "-c", "import app, migrations; print(app.__file__, migrations.__file__)", cwd=tmp_path)
    assert [Path(name).is_relative_to(installed.parents[1]) for name in where.split()] == [True, True]


def test_the_installed_program_works_from_another_folder(installed: Path, empty_database_url: str, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "cart.py").write_text("def add_tax(amount):\n    return amount * 125 // 100\n")
    settings = {"DATABASE_URL": empty_database_url, "FOURFOLD_EMBEDDER": "none"}
    assert "up to date" in run_well(installed, "migrate", cwd=tmp_path, **settings)
    assert "1 file indexed" in run_well(installed, "index", "shop", cwd=tmp_path, **settings)
    answer = json.loads(run_well(installed, "search", "where is add_tax defined", "--json", cwd=tmp_path, **settings))
    assert [result["path"] for result in answer["results"]] == ["cart.py"]


def test_the_installed_program_finds_its_own_server_and_model(
    installed: Path, state_dir: Path, embedded_server: object, tmp_path: Path
) -> None:
    """The doctor joins the server that these tests run on, by its state directory."""
    findings = json.loads(run_well(installed, "doctor", "--json", cwd=tmp_path, FOURFOLD_STATE_DIR=str(state_dir)))
    assert {finding["name"] for finding in findings if finding["ok"]} >= {"grammars", "server", "schema", "embedder"}


def test_dependencies_are_declared_and_used() -> None:
    """What is optional is imported by name or only looked for: its module's name is a string somewhere."""
    declared = {distribution(line) for line in project()["dependencies"]}
    extras = {distribution(line) for lines in project()["optional-dependencies"].values() for line in lines}
    imported = {distribution(name) for module in imported_modules() for name in providers()[module]}
    assert imported - declared - extras == set(), "imported, but not declared"
    assert declared - imported == set(), "declared, but not imported"
    named = {distribution(name) for module in named_modules() for name in providers()[module]}
    assert extras - imported - named == set(), "declared, but not used"


def distribution(requirement: str) -> str:
    """The canonical name at the beginning of a requirement."""
    match = re.match(r"[\w.-]+", requirement)
    assert match
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def syntax() -> Iterator[ast.AST]:
    for path in sources():
        if path.suffix == ".py":
            yield from ast.walk(ast.parse((ROOT / path).read_text("utf-8")))


@cache
def providers() -> Mapping[str, list[str]]:
    """The distributions that each top-level module comes from."""
    return packages_distributions()


def imported_modules() -> set[str]:
    """Top-level modules of others that are imported, at the top of a module or inside of a function."""
    roots = set()
    for node in syntax():
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.partition(".")[0])
    return roots - sys.stdlib_module_names - {"app", "migrations"}


def named_modules() -> set[str]:
    return {str(node.value) for node in syntax() if isinstance(node, ast.Constant)} & providers().keys()


@pytest.mark.parametrize(("file", "extras"), [("runtime.txt", ("embedded",)), ("dev.txt", ("minilm",))])
def test_the_locks_have_hashes_and_every_dependency(file: str, extras: tuple[str, ...]) -> None:
    locked = (ROOT / "requirements" / file).read_text("utf-8")
    pins = re.findall(r"^([\w.-]+)==[^\n]*\\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", locked, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[\w.-]+", locked, re.MULTILINE))
    table = project()
    wanted = {
        distribution(line)
        for lines in (table["dependencies"], *(table["optional-dependencies"][extra] for extra in extras))
        for line in lines
    }
    assert wanted - {distribution(name) for name in pins} == set()


def test_the_service_is_installed_without_the_extra_model() -> None:
    locked = (ROOT / "requirements" / "runtime.txt").read_text("utf-8")
    extra = {distribution(line) for line in project()["optional-dependencies"]["minilm"]}
    assert not {distribution(line) for line in re.findall(r"^[\w.-]+", locked, re.MULTILINE)} & extra
