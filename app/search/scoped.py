"""Searches within saved scopes: the name of a scope becomes its repositories and filters before anything else is read."""

from __future__ import annotations

from dataclasses import replace

from app.domain.query import Scope, SearchRequest
from app.domain.ranking import Routing, SearchAnswer
from app.domain.scopes import SavedScope
from app.ports import ScopeStore
from app.search.answer import Ranking
from app.search.pipeline import SearchService
from app.search.progress import SILENT, Progress


class ScopedSearch:
    """The read path as callers see it. Holds no state between calls."""

    def __init__(self, search: SearchService, scopes: ScopeStore) -> None:
        self._search = search
        self._scopes = scopes

    def classify(self, request: SearchRequest) -> Routing:
        """See SearchService.classify; a scope has no say in it."""
        return self._search.classify(request)

    async def search(self, request: SearchRequest, progress: Progress = SILENT) -> SearchAnswer:
        """See SearchService.search. Raises ScopeNotFound too."""
        return await self._search.search(await self.within_scope(request), progress)

    async def scope(self, request: SearchRequest) -> Scope:
        """See SearchService.scope. Raises ScopeNotFound too."""
        return await self._search.scope(await self.within_scope(request))

    async def rank(self, request: SearchRequest, progress: Progress = SILENT) -> Ranking:
        """See SearchService.rank. Raises ScopeNotFound too."""
        return await self._search.rank(await self.within_scope(request), progress)

    async def within_scope(self, request: SearchRequest) -> SearchRequest:
        """The request with what its saved scope says. Raises ScopeNotFound, and InvalidRequest for a repository outside of it."""
        if request.scope is None:
            return request
        scope: SavedScope = await self._scopes.get(request.scope)
        return replace(scope.applied(request), scope=None)
