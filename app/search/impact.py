"""What a change reaches: of a symbol by id, or of a difference between two versions, whose lines are mapped on the indexed one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import Final

from app.domain.errors import InvalidRequest
from app.domain.query import Scope, Snapshot
from app.domain.ranking import Notice
from app.domain.symbols import (
    ChangedFile,
    ChangedSymbol,
    ImpactAnswer,
    ImpactRequest,
    IndexedFile,
    IndexedSide,
    SymbolDetails,
)
from app.ports import DiffSource, SnapshotStore, SymbolGraph, SymbolStore
from app.search.diff import FileDiff, parse_diff
from app.search.notices import notice, scope_notices
from app.search.symbols import SymbolService
from app.search.touched import agreement, touched

MOST_FILES: Final = 1_000
MOST_CHANGED: Final = 500
LEAST_AGREEMENT: Final = 0.8
"""Below this share of equal lines the index holds neither side of a difference."""


class ImpactService:
    """Computes impacts. Holds no state between calls."""

    def __init__(self, snapshots: SnapshotStore, store: SymbolStore, graph: SymbolGraph, symbols: SymbolService, diffs: DiffSource) -> None:
        self._snapshots = snapshots
        self._store = store
        self._graph = graph
        self._symbols = symbols
        self._diffs = diffs

    async def of_symbol(self, request: ImpactRequest) -> ImpactAnswer:
        """What a change to one symbol reaches, or to all of a file; raises SymbolNotFound, InvalidRequest, NotIndexed."""
        began = perf_counter()
        assert request.symbol_id is not None
        scope = await self._scope(request)
        snapshot, symbol = await self._symbols.resolve(scope, request.symbol_id)
        found = await self._graph.impact(snapshot, await self._parts(snapshot, symbol), request.depth, request.limit)
        warnings = tuple(scope_notices(Scope((snapshot,)), ()))
        return ImpactAnswer((ChangedSymbol(symbol, ()),), found, request.depth, snapshot, warnings, (perf_counter() - began) * 1_000)

    async def _parts(self, snapshot: Snapshot, symbol: SymbolDetails) -> Sequence[SymbolDetails]:
        """The symbol itself; of a file everything that is defined in it, too."""
        if symbol.place is None or symbol.qualified != symbol.place.path:
            return [symbol]
        files = await self._store.files(snapshot, [symbol.place.path])
        return [symbol, *(inner for file in files.values() for inner in file.symbols)]

    async def of_diff(self, request: ImpactRequest) -> ImpactAnswer:
        """What a difference touches and reaches; raises InvalidRequest for a text or commits that are none, NotFound, NotIndexed."""
        began = perf_counter()
        scope = await self._scope(request)
        if len(scope.snapshots) != 1:
            raise InvalidRequest("name the repository that the difference is of", field="repository")
        snapshot = scope.snapshots[0]
        text, side = request.diff, request.indexed
        if text is None:
            assert request.base is not None
            assert request.head is not None
            compared = await self._diffs.diff(snapshot.repository, request.base, request.head)
            text = compared.text
            side = side or {compared.head: IndexedSide.HEAD, compared.base: IndexedSide.BASE}.get(snapshot.revision)
        diffs = await asyncio.to_thread(parse_diff, text)  # a large one would hold up every other answer
        warnings = scope_notices(Scope((snapshot,)), ())
        if len(diffs) > MOST_FILES:
            warnings.append(notice("changes_cut", what="files", most=MOST_FILES))
        diffs = diffs[:MOST_FILES]
        paths = [path for diff in diffs for path in (diff.base_path, diff.head_path) if path is not None]
        files = await self._store.files(snapshot, paths)
        side, share = _indexed_side(diffs, files, side)
        changed = {id(diff): _touched(diff, files, side) for diff in diffs}
        every = _merged(change for diff in diffs for change in changed[id(diff)])
        if len(every) > MOST_CHANGED:
            warnings.append(notice("changes_cut", what="symbols", most=MOST_CHANGED))
        every = every[:MOST_CHANGED]
        found = await self._graph.impact(snapshot, [change.symbol for change in every], request.depth, request.limit)
        return ImpactAnswer(
            changed=tuple(every),
            impact=found,
            depth=request.depth,
            snapshot=snapshot,
            warnings=(*warnings, *_notices(diffs, files, side, share)),
            took_ms=(perf_counter() - began) * 1_000,
            indexed=side,
            changed_files=tuple(
                ChangedFile(diff.shown_path, diff.status, (diff.path(side) or "") in files, len(changed[id(diff)])) for diff in diffs
            ),
        )

    async def _scope(self, request: ImpactRequest) -> Scope:
        return await self._snapshots.resolve((request.repository,) if request.repository else (), request.revision)


def _indexed_side(diffs: Sequence[FileDiff], files: Mapping[str, IndexedFile], told: IndexedSide | None) -> tuple[IndexedSide, float]:
    """The side whose lines stand in the index, unless it is told, and the share of them that do."""
    shares = {side: agreement(diffs, files, side) for side in IndexedSide}
    side = told or max(IndexedSide, key=shares.__getitem__)
    return side, shares[side]


def _touched(diff: FileDiff, files: Mapping[str, IndexedFile], side: IndexedSide) -> list[ChangedSymbol]:
    file = files.get(diff.path(side) or "")
    return touched(diff, file, side) if file is not None else []


def _merged(changes: Iterable[ChangedSymbol]) -> list[ChangedSymbol]:
    """Each symbol once, though a series of patches touches it more often."""
    found: dict[str, ChangedSymbol] = {}
    for change in changes:
        known = found.setdefault(change.symbol.id, change)
        if known is not change:
            found[change.symbol.id] = ChangedSymbol(known.symbol, tuple(sorted({*known.lines, *change.lines})))
    return list(found.values())


def _notices(diffs: Sequence[FileDiff], files: Mapping[str, IndexedFile], side: IndexedSide, share: float) -> list[Notice]:
    """What a reader must know before trusting the answer."""
    notices = []
    if share < LEAST_AGREEMENT:
        notices.append(notice("diff_does_not_match", percent=round(100 * share)))
    if side is IndexedSide.HEAD and any(block.base and not block.head for diff in diffs for block in diff.blocks):
        notices.append(notice("deletions_not_seen"))
    missing = [diff.shown_path for diff in diffs if (path := diff.path(side)) is not None and path not in files]
    if missing:
        notices.append(notice("files_not_indexed", count=len(missing)))
    return notices
