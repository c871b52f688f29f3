"""Answers about symbols that are named by id: what they are, who uses them, what they use. Pages are bound to one generation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Final, TypeVar

from app.domain.code import EdgeClass
from app.domain.errors import InvalidRequest, SymbolNotFound
from app.domain.language_names import LanguageNames
from app.domain.query import Filters, Scope, Snapshot
from app.domain.ranking import SymbolSummary
from app.domain.symbols import (
    ListPart,
    NameMatch,
    Relative,
    SymbolAnswer,
    SymbolDetails,
    SymbolPage,
    SymbolsRequest,
    UnresolvedCall,
    Use,
    UsesPage,
    UsesRequest,
)
from app.ports import SnapshotStore, SymbolGraph, SymbolStore
from app.search import cursor as cursors
from app.search.notices import language_notices, notice, scope_notices
from app.search.parse import MOST_TOLD

T = TypeVar("T")

MOST_MEMBERS: Final = 500

_Read = Callable[[Snapshot, SymbolDetails, Sequence[EdgeClass], int, int], Awaitable[ListPart[T]]]


class SymbolService:
    """Finds symbols and their relatives. Holds no state between calls."""

    def __init__(self, snapshots: SnapshotStore, store: SymbolStore, graph: SymbolGraph, languages: LanguageNames) -> None:
        self._snapshots = snapshots
        self._store = store
        self._graph = graph
        self._languages = languages

    async def find(self, request: SymbolsRequest) -> SymbolPage:
        """Raises InvalidRequest, RepositoryNotFound, NotIndexed, CursorExpired and StoreUnavailable."""
        began = perf_counter()
        scope, offset = await self._place(request.repositories, request)
        languages, unknown = self._languages.known_as(request.languages)
        symbols, total = await self._store.find(scope, replace(request, languages=languages), offset)
        warnings = [*language_notices(unknown[:MOST_TOLD], self._languages), *scope_notices(scope, ())]
        if not symbols and scope.snapshots and (languages or request.paths):
            filters = Filters(languages=languages, paths=request.paths)
            warnings += [notice("no_file_matches")] if await self._snapshots.count_files(scope, filters) == 0 else []
        return SymbolPage(
            symbols=tuple(symbols),
            total=total,
            fuzzy=request.name is not None and request.match is NameMatch.FUZZY,
            next_cursor=_next(scope, offset, len(symbols), total, request),
            scope=scope,
            warnings=tuple(warnings),
            took_ms=_since(began),
        )

    async def most_central(self, repository: str, limit: int) -> Sequence[SymbolSummary]:
        """The definitions in source files that most of the repository depends on."""
        return await self._store.most_central(repository, limit)

    async def get(self, symbol_id: str, repository: str | None = None, revision: str | None = None) -> SymbolAnswer:
        """Raises SymbolNotFound; RevisionNotFound; InvalidRequest when several repositories hold the symbol and none is named."""
        began = perf_counter()
        scope = await self._snapshots.resolve((repository,) if repository else (), revision)
        snapshot, symbol = await self.resolve(scope, symbol_id)
        members = await self._store.members(snapshot, symbol, MOST_MEMBERS)
        return SymbolAnswer(symbol, tuple(members), snapshot, tuple(scope_notices(Scope((snapshot,)), ())), _since(began))

    async def references(self, request: UsesRequest) -> UsesPage[Use]:
        """A page of the lines that use a symbol; raises as ``get`` does, and CursorExpired."""
        return await self._page(replace(request, listing="references"), self._graph.references)

    async def callers(self, request: UsesRequest) -> UsesPage[Relative]:
        """A page of the definitions that call a symbol; raises as ``references`` does."""
        return await self._page(replace(request, listing="callers"), self._graph.callers)

    async def callees(self, request: UsesRequest) -> UsesPage[Relative]:
        """A page of what a symbol calls, with the calls whose target is not known; raises as ``references`` does."""
        unresolved: list[UnresolvedCall] = []

        async def read(
            snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], offset: int, limit: int
        ) -> ListPart[Relative]:
            part, calls = await self._graph.callees(snapshot, symbol, classes, offset, limit)
            unresolved.extend(calls)
            return part

        page = await self._page(replace(request, listing="callees"), read)
        return UsesPage(page.symbol, page.part, page.next_cursor, page.snapshot, page.warnings, page.took_ms, tuple(unresolved))

    async def resolve(self, scope: Scope, symbol_id: str) -> tuple[Snapshot, SymbolDetails]:
        """The one symbol of that id in the scope, with the snapshot that holds it."""
        snapshots = scope.snapshots if len(scope.snapshots) == 1 else await self._store.holders(scope, symbol_id)
        if len(snapshots) > 1:
            names = ", ".join(snapshot.repository for snapshot in snapshots)
            raise InvalidRequest(f"several repositories hold this symbol; name one of {names}", field="repository")
        symbol = await self._store.get(snapshots[0], symbol_id) if snapshots else None
        if symbol is None:
            raise SymbolNotFound(f"there is no symbol {symbol_id} in the published index")
        return snapshots[0], symbol

    async def _page(self, request: UsesRequest, read: _Read[T]) -> UsesPage[T]:
        began = perf_counter()
        scope, offset = await self._place((request.repository,) if request.repository else (), request)
        snapshot, symbol = await self.resolve(scope, request.symbol_id)
        found = Scope((snapshot,))
        part = await read(snapshot, symbol, request.classes or tuple(EdgeClass), offset, request.limit)
        following = _next(found, offset, min(request.limit, part.total - offset), part.total, request)
        return UsesPage(symbol, part, following, snapshot, tuple(scope_notices(found, ())), _since(began))

    async def _place(self, repositories: Sequence[str], request: SymbolsRequest | UsesRequest) -> tuple[Scope, int]:
        """The index to read and where the page begins."""
        if request.cursor is None:
            return await self._snapshots.resolve(repositories, request.revision), 0
        at = cursors.decode(request.cursor, request)
        return await self._snapshots.resolve_pinned(at.generations), at.offset


def _next(scope: Scope, offset: int, shown: int, total: int, request: SymbolsRequest | UsesRequest) -> str | None:
    end = offset + shown
    return cursors.encode(scope, end, request) if shown > 0 and end < total else None


def _since(began: float) -> float:
    return (perf_counter() - began) * 1_000
