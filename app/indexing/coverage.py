"""Says why a file of a repository is, or is not, searchable."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence

from app.domain.errors import CursorExpired, InvalidRequest
from app.domain.index import CoveragePage, CoverageRequest, FileCoverage
from app.domain.query import Snapshot
from app.indexing.discover import PathGlobs
from app.ports import CoverageStore, RepositoryStore, SnapshotStore


class CoverageService:
    """Reads coverage page by page, in one generation; the pages of another one are refused."""

    def __init__(self, repositories: RepositoryStore, snapshots: SnapshotStore, store: CoverageStore) -> None:
        self._repositories = repositories
        self._snapshots = snapshots
        self._store = store

    async def read(self, request: CoverageRequest) -> CoveragePage:
        """Raises RepositoryNotFound, RevisionNotFound, NotIndexed, InvalidRequest for a bad cursor, CursorExpired."""
        snapshot = (await self._snapshots.resolve((request.repository,), request.revision)).snapshots[0]
        after = None
        if request.cursor is not None:
            generation, after = _decode(request.cursor)
            if generation != snapshot.generation:
                raise CursorExpired(field="cursor")
        found = await self._store.files(
            snapshot, path=request.path, outcome=request.outcome, reason=request.reason, after=after, limit=request.limit + 1
        )
        if request.path is not None and not found and request.outcome is None and request.reason is None:
            found = [await self._absent(request.repository, request.path)]
        page = tuple(found[: request.limit])
        return CoveragePage(page, _encode(snapshot, page) if len(found) > request.limit else None, snapshot)

    async def _absent(self, repository: str, path: str) -> FileCoverage:
        """A path that no run met: the globs leave it out, or it is not in the tree, or an ignore rule hides it."""
        source = (await self._repositories.get(repository)).source
        selected = PathGlobs(source.include, source.exclude).select(path.encode("utf-8", "surrogatepass"))
        return FileCoverage(path, "absent", "not_in_revision_or_ignored" if selected else "excluded", None, None)


def _encode(snapshot: Snapshot, page: Sequence[FileCoverage]) -> str:
    data = json.dumps([snapshot.generation, page[-1].path])
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def _decode(text: str) -> tuple[int, str]:
    try:
        generation, path = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        if not isinstance(generation, int) or not isinstance(path, str) or "\0" in path:
            raise ValueError("no position")
    except (ValueError, TypeError, RecursionError):
        raise InvalidRequest("this is not a cursor of this service", field="cursor") from None
    return generation, path
