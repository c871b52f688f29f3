"""Answers what the name at a place of an indexed file means."""

from __future__ import annotations

from time import perf_counter

from app.domain.errors import FileNotIndexed, InvalidRequest
from app.domain.position import PositionAnswer, PositionRequest
from app.domain.query import Scope
from app.domain.symbol_id import format_id
from app.ports import PositionReader, SnapshotStore, SymbolStore
from app.search.notices import scope_notices


class PositionService:
    """Go to definition. Holds no state between calls."""

    def __init__(self, snapshots: SnapshotStore, store: SymbolStore, positions: PositionReader) -> None:
        self._snapshots = snapshots
        self._store = store
        self._positions = positions

    async def definition(self, request: PositionRequest) -> PositionAnswer:
        """Raises RepositoryNotFound, NotIndexed, FileNotIndexed, InvalidRequest for a line or column, and QueryNotServable."""
        began = perf_counter()
        scope = await self._snapshots.resolve((request.repository,), request.revision)
        snapshot = scope.snapshots[0]
        file = (await self._store.files(snapshot, [request.path])).get(request.path)
        if file is None:
            raise FileNotIndexed(f"{request.repository} has no file {request.path!r}", field="path")
        if request.line > len(file.lines):
            raise InvalidRequest(f"the file has {len(file.lines):,} lines", field="line")
        if request.column > len(file.lines[request.line - 1]):
            raise InvalidRequest(f"the line has {len(file.lines[request.line - 1]):,} characters", field="column")
        name = await self._positions.name_at(snapshot, file, request.line, request.column)
        known = {}
        for site in name.definitions if name is not None else ():
            details = await self._store.get(snapshot, format_id(site.symbol_id)) if site.symbol_id is not None else None
            if site.symbol_id is not None and details is not None:
                known[site.symbol_id] = details
        took_ms = (perf_counter() - began) * 1_000
        return PositionAnswer(request.path, name, known, snapshot, tuple(scope_notices(Scope((snapshot,)), ())), took_ms)
