"""The rankings are those that were written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.relevance.golden import CORPUS, GOLDEN, files, questions, rankings

pytestmark = pytest.mark.anyio


async def test_rankings_are_the_golden_ones(database_url: str, tmp_path: Path) -> None:
    found = files(await rankings(database_url, tmp_path))
    golden = {path.name: path.read_text("utf-8") for path in GOLDEN.glob("*.txt")}
    changed = sorted(name for name in found.keys() | golden.keys() if found.get(name) != golden.get(name))
    shown = "\n".join(f"--- {name}\n{golden.get(name, '(none)')}+++\n{found.get(name, '(none)')}" for name in changed)
    assert not changed, f"{len(changed)} rankings changed; if for the better, run `make golden`\n{shown}"


def test_every_target_is_in_the_corpus() -> None:
    assert [question.target for question in questions() if not (CORPUS / question.target).is_file()] == []
