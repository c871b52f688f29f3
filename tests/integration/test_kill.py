"""kill -9 at any moment of an index run: the old index answers, the run resumes, nothing is left behind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.kills import Moment, Running, own_state_directory, processes_of, survive

FILES = 120


@pytest.fixture
def state_dir() -> Iterator[Path]:
    with own_state_directory() as path:
        yield path


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("source", "run", "victim"),
    [
        ("directory", "full", "postgres"),
        ("directory", "incremental", "service"),
        ("git", "incremental", "worker"),
        ("archive", "incremental", "parser"),
    ],
)
def test_kill_during_an_index_run(source: str, run: str, victim: str, state_dir: Path, tmp_path: Path) -> None:
    chance = random.Random()
    running = Running(state_dir)
    survived = survive(running, Moment(source, run, victim, chance.uniform(0.0, 3.0)), tmp_path, FILES, chance)
    assert survived.faults == []
    assert survived.answers["new"]
    running.stop()
    running.wait_until(lambda: not processes_of(state_dir))
    assert not [path for path in state_dir.glob("sources/**/*") if path.is_file() and path.name.startswith(("upload-", "tmp"))]
    assert not list(state_dir.glob("sources/*/spool/*"))
