"""Compares two commits of a repository's source through git; nothing of either is checked out or run."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.domain.errors import InvalidRequest, QueryNotServable
from app.domain.index import SourceKind
from app.indexing.git_tree import GitFailed, GitTree
from app.ports import RepositoryStore, RevisionDiff
from app.sources.git import Git, GitError, TooMuch
from app.sources.mirrors import Mirrors

MOST_BYTES: Final = 10_000_000


class GitDiffs:
    """The DiffSource of git work trees, and of remotes as deep as they are fetched."""

    def __init__(self, repositories: RepositoryStore, mirrors: Mirrors) -> None:
        self._repositories = repositories
        self._mirrors = mirrors

    async def diff(self, repository: str, base: str, head: str) -> RevisionDiff:
        """See ports.DiffSource. The base is taken where ``head`` left it: what was changed there since is no part of the difference."""
        stored = await self._repositories.get(repository)
        if stored.source.kind is SourceKind.DIRECTORY:
            return await asyncio.to_thread(_diff, Path(stored.source.path), base, head)
        return await asyncio.to_thread(_mirror_diff, self._mirrors.git(stored), base, head)


def _diff(root: Path, base: str, head: str) -> RevisionDiff:
    try:
        tree = GitTree(root)
    except GitFailed:
        reason = "is no git work tree" if root.is_dir() else "cannot be read any more"
        raise InvalidRequest(f"the repository's source {reason}; send a diff instead", field="base") from None
    new = _commit(tree, head, "head")
    old = tree.merge_base(_commit(tree, base, "base"), new)
    try:
        return _read(tree.diff(old, new, MOST_BYTES), old, new)
    except TooMuch:
        raise _too_large() from None
    except GitFailed as error:
        raise QueryNotServable(f"git cannot compare the commits: {error}", field="base") from None


def _too_large() -> QueryNotServable:
    return QueryNotServable(f"the difference is larger than {MOST_BYTES:,} bytes", field="head")


def _read(text: bytes, old: str, new: str) -> RevisionDiff:
    return RevisionDiff(text.decode("utf-8", "replace"), old, new)


def _mirror_diff(git: Git, base: str, head: str) -> RevisionDiff:
    """Only what was fetched can be compared: refs that are followed, and their history as deep as it is kept."""
    new, given = _fetched_commit(git, head, "head"), _fetched_commit(git, base, "base")
    try:
        old = git.run("merge-base", given, new).split()[0].decode()
    except GitError:
        raise QueryNotServable(
            "the history that is kept of this remote does not reach to where the commits parted; send a diff instead", field="base"
        ) from None
    plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all")
    try:
        return _read(git.output("diff", "--find-renames", "--unified=3", *plain, old, new, most_bytes=MOST_BYTES), old, new)
    except TooMuch:
        raise _too_large() from None
    except GitError as error:
        raise QueryNotServable(f"git cannot compare the commits: {error}", field="base") from None


def _fetched_commit(git: Git, name: str, field: str) -> str:
    for form in (name, f"refs/heads/{name}", f"refs/tags/{name}"):
        with suppress(GitError):
            return git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{form}^{{commit}}").strip().decode()
    raise InvalidRequest(f"there is no commit {name!r} among those that were fetched", field=field)


def _commit(tree: GitTree, name: str, field: str) -> str:
    try:
        return tree.commit(name)
    except GitFailed:
        raise InvalidRequest(f"there is no commit {name!r}", field=field) from None
