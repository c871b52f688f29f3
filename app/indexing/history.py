"""Tells whether a revision is part of another one's history, as far as the source keeps its history."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Final

from app.domain.errors import InvalidRequest
from app.domain.index import Repository, SourceKind
from app.indexing.git_tree import GitFailed, GitTree
from app.ports import RepositoryStore
from app.sources.git import GitError
from app.sources.mirrors import Mirrors

SHORTEST: Final = 7
_COMMIT: Final = re.compile("[0-9a-f]{7,64}")
_OF_A_DIRECTORY: Final = re.compile(r"[0-9a-f]{7,64}(\+[0-9a-f]{1,8})?|tree-[0-9a-f]+")
_POSSIBLE: Final = {
    SourceKind.GIT: (_COMMIT, "the id of a commit, of which at least 7 characters are needed"),
    SourceKind.DIRECTORY: (
        _OF_A_DIRECTORY,
        "the id of a commit, of which at least 7 characters are needed, or the revision that an answer has",
    ),
}
"""What a revision looks like; that of an archive is what its sender called it."""


class GitHistory:
    """The History of directories with git, and of remotes as deep as they are fetched."""

    def __init__(self, repositories: RepositoryStore, mirrors: Mirrors) -> None:
        self._repositories = repositories
        self._mirrors = mirrors

    async def contains(self, repository: str, revision: str, wanted: str) -> bool:
        """See ports.History."""
        if revision == wanted or (len(wanted) >= SHORTEST and revision.startswith(wanted)):
            return True
        stored = await self._repositories.get(repository)
        shape, described = _POSSIBLE.get(stored.source.kind, (None, ""))
        if shape is not None and not shape.fullmatch(wanted):
            raise InvalidRequest(f"no revision of {repository} can be called so: it is {described}", field="min_revision")
        commit = revision.partition("+")[0]
        if not _COMMIT.fullmatch(wanted) or not _COMMIT.fullmatch(commit):
            return False
        return await asyncio.to_thread(self._is_ancestor, stored, wanted, commit)

    def _is_ancestor(self, repository: Repository, wanted: str, commit: str) -> bool:
        try:
            if repository.source.kind is SourceKind.DIRECTORY:
                return GitTree(Path(repository.source.path)).is_ancestor(wanted, commit)
            self._mirrors.git(repository).run("merge-base", "--is-ancestor", wanted, commit)
        except (GitFailed, GitError):  # not an ancestor, or a commit that is not here
            return False
        return True
