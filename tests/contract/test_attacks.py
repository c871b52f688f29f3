"""The document of attacks names tests that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from .markdown import table

ROOT = Path(__file__).parents[2]
ATTACKS = ROOT / "docs" / "security" / "attacks.md"


@pytest.mark.parametrize("title", ["## On the service", "## On people", "## On what is indexed"])
def test_every_attack_names_a_test_that_makes_it(title: str) -> None:
    rows = table(ATTACKS, title)
    assert rows
    for attack, defence, tests in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", tests)
        assert named, attack
        assert defence, attack
        for file, name in named:
            tree = ast.parse((ROOT / file).read_text("utf-8"))
            found = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
            assert name in found, f"{file} has no {name}"
