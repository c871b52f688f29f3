"""Answers with the source of a file as it is indexed, and its outline."""

from __future__ import annotations

from app.domain.errors import FileNotIndexed, InvalidRequest
from app.domain.files import FileRequest, SourceFile
from app.ports import FileStore, SnapshotStore, SymbolStore


class SourceService:
    """Reads files of one published generation. Holds no state between calls."""

    def __init__(self, snapshots: SnapshotStore, files: FileStore, symbols: SymbolStore) -> None:
        self._snapshots = snapshots
        self._files = files
        self._symbols = symbols

    async def read(self, request: FileRequest) -> SourceFile:
        """Raises FileNotIndexed with the reason, InvalidRequest for lines that the file does not have, and what ``resolve`` raises."""
        scope = await self._snapshots.resolve((request.repository,), request.revision)
        snapshot = scope.snapshots[0]
        entry = await self._files.entry(snapshot, request.path)
        if entry is None:
            raise FileNotIndexed(f"{snapshot.repository} has no file {request.path!r}", field="path")
        if entry.skipped is not None:
            raise FileNotIndexed(f"{request.path!r} was left out of the index: {entry.skipped.replace('_', ' ')}", field="path")
        indexed = (await self._symbols.files(snapshot, [request.path]))[request.path]
        last = min(request.last_line or len(indexed.lines), len(indexed.lines))
        if request.first_line > max(1, len(indexed.lines)):
            raise InvalidRequest(f"the file has {len(indexed.lines):,} lines", field="lines")
        reaching = [
            symbol
            for symbol in indexed.symbols
            if symbol.place is not None and symbol.place.start_line <= last and symbol.place.end_line >= request.first_line
        ]
        return SourceFile(entry, snapshot, request.first_line, indexed.lines[request.first_line - 1 : last], reaching)
