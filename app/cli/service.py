"""What the commands need of the running service beyond what HTTP needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from app.config import Settings
from app.domain.ranking import SymbolSummary
from app.http.service import Service, SymbolLookup


class SymbolRanking(SymbolLookup, Protocol):
    async def most_central(self, repository: str, limit: int) -> Sequence[SymbolSummary]: ...


class LocalService(Service, Protocol):
    """The service opened in this process."""

    @property
    def settings(self) -> Settings: ...

    @property
    def symbols(self) -> SymbolRanking: ...
