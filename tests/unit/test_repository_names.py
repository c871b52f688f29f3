"""Which repositories ``repo:`` means."""

from __future__ import annotations

import pytest

from app.domain.query import Scope
from app.search.repository_names import within

from .search_doubles import snapshot

REPOSITORIES = (
    snapshot(1, "flask", url="https://github.com/pallets/flask"),
    snapshot(2, "fork", url="ssh://git@git.example:2222/teams/web/flask.git"),
    snapshot(3, "local-flask"),
    snapshot(4, "click", url="https://github.com/pallets/click"),
)


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        ([], ["flask", "fork", "local-flask", "click"]),
        (["flask"], ["flask"]),
        (["FLASK"], ["flask"]),
        (["*flask"], ["flask", "local-flask"]),
        (["pallets/flask"], ["flask"]),
        (["Pallets/Flask.git"], ["flask"]),
        (["pallets/*"], ["flask", "click"]),
        (["*/flask"], ["flask", "fork"]),
        (["web/flask", "pallets/click"], ["fork", "click"]),
        (["teams/web/flask"], ["fork"]),
        (["teams/flask"], []),
        (["github.com/pallets/flask"], ["flask"]),
        (["https://github.com/pallets/flask"], ["flask"]),
        (["ssh://git@git.example/teams/web/flask.git"], ["fork"]),
        (["gitlab.com/pallets/flask"], []),
        (["anyone/local-flask"], ["local-flask"]),
        (["!pallets/*"], ["fork", "local-flask"]),
        (["pallets/*", "!click"], ["flask"]),
        (["allets/flask"], []),
        (["/"], []),
        (["a/b/c/d/e/f"], []),
    ],
)
def test_a_slash_stands_for_the_owner(patterns: list[str], names: list[str]) -> None:
    assert [found.repository for found in within(Scope(REPOSITORIES), patterns).snapshots] == names


def test_a_hostile_glob_takes_no_longer_than_its_length() -> None:
    """Backtracking would try more ways than there are atoms."""
    long = (snapshot(1, "a" * 100),)
    assert within(Scope(long), ["*a" * 1_000 + "*b"]).snapshots == ()
    assert within(Scope(long), ["*a" * 90 + "*"]).snapshots == long
