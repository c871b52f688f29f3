"""The import contracts of ``pyproject.toml`` hold, and they cover everything."""

from __future__ import annotations

import ast
import subprocess
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DATA_FOLDERS = {"intents", "glossaries"}  # tables without code


def contracts() -> list[dict[str, Any]]:
    table: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return table


def test_the_contracts_are_kept() -> None:
    lint = Path(sysconfig.get_path("scripts")) / "lint-imports"
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_breach_is_seen(tmp_path: Path) -> None:
    """The same contracts refuse a core that reaches for the database."""
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text("utf-8"))
    for name in ("app", "migrations"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "app").unlink()
    (tmp_path / "app").mkdir()
    for entry in (ROOT / "app").iterdir():
        if entry.name != "search":
            (tmp_path / "app" / entry.name).symlink_to(entry)
    (tmp_path / "app" / "search").mkdir()
    for entry in (ROOT / "app" / "search").glob("*.py"):
        (tmp_path / "app" / "search" / entry.name).write_text(entry.read_text("utf-8"))
    with (tmp_path / "app" / "search" / "fuse.py").open("a") as module:
        module.write("\nimport app.retrievers.text\nimport asyncpg\n")
    lint = Path(sysconfig.get_path("scripts")) / "lint-imports"
    done = subprocess.run([lint, "--no-cache"], cwd=tmp_path, capture_output=True, text=True, check=False)
    broken = [line for line in done.stdout.splitlines() if line.endswith(" BROKEN")]
    assert (done.returncode, len(broken)) == (1, 2), done.stdout


def test_every_package_has_its_layer() -> None:
    layers = {
        name.strip() for contract in contracts() if contract["type"] == "layers" for line in contract["layers"] for name in line.split("|")
    }
    packages = {f"app.{path.stem}" for path in (ROOT / "app").iterdir() if path.is_dir() or path.suffix == ".py"}
    without = packages - layers - {"app.__init__", "app.__main__", "app.__pycache__"} - {f"app.{name}" for name in DATA_FOLDERS}
    assert without == set()


@pytest.mark.parametrize("name", sorted(DATA_FOLDERS))
def test_data_folders_hold_no_code(name: str) -> None:
    for path in (ROOT / "app" / name).rglob("*.py"):
        assert [node for node in ast.parse(path.read_text("utf-8")).body if not isinstance(node, ast.Expr)] == [], path
