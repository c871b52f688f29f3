"""Says why a file of a repository is, or is not, searchable."""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from app.domain.index import CoveragePage, CoverageRequest, FileCoverage, RepositorySource, SourceKind
from app.domain.left_out import RulePlace
from app.domain.query import Position, Scope
from app.indexing.discover import PathGlobs, ignoring_rule
from app.indexing.git_tree import GitFailed
from app.indexing.refresh import refuse_moved
from app.ports import CoverageStore, RepositoryStore, SnapshotStore
from app.search import cursor as cursors

_log = structlog.get_logger(__name__)


class CoverageService:
    """Reads coverage page by page, all pages of a list in the same generation."""

    def __init__(self, repositories: RepositoryStore, snapshots: SnapshotStore, store: CoverageStore) -> None:
        self._repositories = repositories
        self._snapshots = snapshots
        self._store = store

    async def read(self, request: CoverageRequest) -> CoveragePage:
        """Raises RepositoryNotFound, RevisionNotFound, NotIndexed, InvalidRequest for a bad cursor, CursorExpired."""
        scope, after = await self._place(request)
        snapshot = scope.snapshots[0]
        found = await self._store.files(
            snapshot, path=request.path, outcome=request.outcome, reason=request.reason, after=after, limit=request.limit + 1
        )
        if request.path is not None and not found and request.outcome is None and request.reason is None:
            found = [await self._absent(request.repository, request.path)]
        page = tuple(found[: request.limit])
        last = Position(snapshot.repository_id, page[-1].path) if len(found) > request.limit else None
        left_out = await self._store.left_out(snapshot)
        return CoveragePage(page, cursors.encode(scope, 0, request, last) if last else None, snapshot, left_out)

    async def _place(self, request: CoverageRequest) -> tuple[Scope, str | None]:
        """The index to read, and the path behind which the page begins."""
        if request.cursor is None:
            return await self._snapshots.resolve((request.repository,), request.revision), None
        at = cursors.decode(request.cursor, request)
        return await self._snapshots.resolve_pinned(at.generations), at.after.path if at.after else None

    async def _absent(self, repository: str, path: str) -> FileCoverage:
        """A path that no run met: the globs leave it out, an ignore rule does, or it is not in the tree."""
        source = (await self._repositories.get(repository)).source
        if not PathGlobs(source.include, source.exclude).select(path.encode("utf-8", "surrogatepass")):
            return FileCoverage(path, "absent", "excluded", None, None)
        if source.kind is not SourceKind.DIRECTORY:
            return FileCoverage(path, "absent", "not_in_revision_or_ignored", None, None)
        try:
            rule = await asyncio.to_thread(_rule, source, path)
        except (OSError, GitFailed) as error:
            _log.warning("ignore_rules_not_read", repository=repository, error=str(error))
            return FileCoverage(path, "absent", "not_in_revision_or_ignored", None, None)
        return FileCoverage(path, "absent", "ignored" if rule else "not_in_tree", None, None, rule)


def _rule(source: RepositorySource, path: str) -> RulePlace | None:
    refuse_moved(Path(source.path))
    return ignoring_rule(source, path)
