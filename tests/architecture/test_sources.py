"""Rules that hold for every module."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
SQL_FOLDERS: Final = ("storage", "retrievers")
SQL: Final = re.compile(
    r"^\s*(SELECT\s.+\sFROM\s|INSERT\s+INTO\s|UPDATE\s+\w+\s+SET\s|DELETE\s+FROM\s|WITH\s+(RECURSIVE\s+)?\w+\s+AS\s|(CREATE|ALTER|DROP|TRUNCATE)\s+\w+\s)",
    re.DOTALL,
)
VAGUE_NAMES: Final = frozenset({"utils", "util", "helpers", "helper", "common", "manager", "misc"})
MODULES: Final = sorted((ROOT / "app").rglob("*.py"))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def statements(tree: ast.Module) -> list[str]:
    """String constants that are SQL, and the constant beginnings of f-strings; no docstrings."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [str(node.value) for node in constants if id(node) not in documentation and SQL.match(str(node.value))]


def test_sql_stands_in_storage_and_retrievers_alone() -> None:
    inside, outside = 0, {}
    for path in MODULES:
        found = statements(tree_of(path))
        if path.relative_to(ROOT / "app").parts[0] in SQL_FOLDERS:
            inside += len(found)
        elif found:
            outside[str(path)] = found
    assert outside == {}
    assert inside > 50  # the pattern knows SQL when it sees it


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(tree_of(path))
    assert path.stem not in VAGUE_NAMES


def test_no_error_is_swallowed() -> None:
    """A broad ``except`` raises, or tells somebody: it calls something."""
    silent = []
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ExceptHandler) and (node.type is None or names(node.type) & {"Exception", "BaseException"}):
                acts = any(isinstance(inner, ast.Raise | ast.Call) for statement in node.body for inner in ast.walk(statement))
                silent += [] if acts else [f"{path}:{node.lineno}"]
    assert silent == []


def names(node: ast.expr) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def test_only_the_registry_knows_the_grammars() -> None:
    importers = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if re.search(r"^\s*(from|import) tree_sitter_language_pack", path.read_text("utf-8"), re.M)
    ]
    assert importers == ["app/languages/registry.py"]


def test_entry_points_get_concrete_classes_from_the_composition_root() -> None:
    """``cli`` and ``http`` name no retriever, store or embedder."""
    concrete = re.compile(r"^\s*(?:from|import) app\.(retrievers|storage|embeddings)\b", re.M)
    offenders = [
        str(path.relative_to(ROOT))
        for folder in ("cli", "http")
        for path in (ROOT / "app" / folder).rglob("*.py")
        if concrete.search(path.read_text("utf-8"))
    ]
    assert offenders == []
