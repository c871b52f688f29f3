"""Compares two commits of a repository's source through git; nothing of either is checked out or run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

from app.domain.errors import InvalidRequest, QueryNotServable
from app.indexing.git_tree import GitFailed, GitTree
from app.ports import RepositoryStore, RevisionDiff

MOST_BYTES: Final = 10_000_000


class GitDiffs:
    """The DiffSource of git work trees."""

    def __init__(self, repositories: RepositoryStore) -> None:
        self._repositories = repositories

    async def diff(self, repository: str, base: str, head: str) -> RevisionDiff:
        """See ports.DiffSource. The base is taken where ``head`` left it: what was changed there since is no part of the difference."""
        stored = await self._repositories.get(repository)
        return await asyncio.to_thread(_diff, Path(stored.source.path), base, head)


def _diff(root: Path, base: str, head: str) -> RevisionDiff:
    try:
        tree = GitTree(root)
    except GitFailed:
        reason = "is no git work tree" if root.is_dir() else "cannot be read any more"
        raise InvalidRequest(f"the repository's source {reason}; send a diff instead", field="base") from None
    new = _commit(tree, head, "head")
    old = tree.merge_base(_commit(tree, base, "base"), new)
    try:
        text = tree.diff(old, new)
    except GitFailed as error:
        raise QueryNotServable(f"git cannot compare the commits: {error}", field="base") from None
    if len(text) > MOST_BYTES:
        raise QueryNotServable(f"the difference is larger than {MOST_BYTES:,} bytes", field="head")
    return RevisionDiff(text.decode("utf-8", "replace"), old, new)


def _commit(tree: GitTree, name: str, field: str) -> str:
    try:
        return tree.commit(name)
    except GitFailed:
        raise InvalidRequest(f"there is no commit {name!r}", field=field) from None
