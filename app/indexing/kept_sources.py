"""Repositories together with what is kept of their sources on disk."""

from __future__ import annotations

import asyncio

from app.sources.mirrors import Mirrors
from app.storage.pool import Pool
from app.storage.repositories import Repositories


class KeptRepositories(Repositories):
    """The RepositoryStore that forgets a repository's bare copy with it."""

    def __init__(self, pool: Pool, mirrors: Mirrors) -> None:
        super().__init__(pool)
        self._mirrors = mirrors

    async def delete(self, name: str) -> None:
        """See ports.RepositoryStore. The rows go first: what is left of a copy after a crash only takes room."""
        stored = await self.get(name)
        await super().delete(name)
        await asyncio.to_thread(self._mirrors.remove, stored)
