"""What the HTTP application needs of the service behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Annotated, Final, Protocol

from fastapi import Depends, Request

from app.config import Settings
from app.domain.files import FileRequest, SourceFile, WhyNot
from app.domain.index import CoveragePage, CoverageRequest
from app.domain.position import PositionAnswer, PositionRequest
from app.domain.query import Scope, SearchRequest
from app.domain.ranking import Routing, SearchAnswer
from app.domain.symbols import (
    ImpactAnswer,
    ImpactRequest,
    Relative,
    SymbolAnswer,
    SymbolPage,
    SymbolsRequest,
    Use,
    UsesPage,
    UsesRequest,
)
from app.http.admission import Gates
from app.ports import (
    ArchiveStore,
    AuditStore,
    DeliveryStore,
    HealthProbe,
    History,
    JobStore,
    KeyStore,
    Remotes,
    RepositoryStore,
    ScopeStore,
)
from app.search.progress import SILENT, Progress


class Search(Protocol):
    """The read path."""

    async def search(self, request: SearchRequest, progress: Progress = SILENT) -> SearchAnswer: ...

    async def scope(self, request: SearchRequest) -> Scope:
        """The index that an answer would be read from."""
        ...

    def classify(self, request: SearchRequest) -> Routing:
        """The route that ``search`` would take, without any I/O."""
        ...


class CoverageReports(Protocol):
    """Says why files are, or are not, searchable."""

    async def read(self, request: CoverageRequest) -> CoveragePage: ...


class SymbolLookup(Protocol):
    """Symbols by name and by id, and the edges around them."""

    async def find(self, request: SymbolsRequest) -> SymbolPage: ...

    async def get(self, symbol_id: str, repository: str | None = None, revision: str | None = None) -> SymbolAnswer: ...

    async def references(self, request: UsesRequest) -> UsesPage[Use]: ...

    async def callers(self, request: UsesRequest) -> UsesPage[Relative]: ...

    async def callees(self, request: UsesRequest) -> UsesPage[Relative]: ...


class SourceFiles(Protocol):
    """Files as they are indexed."""

    async def read(self, request: FileRequest) -> SourceFile: ...


class WhyNotAnswers(Protocol):
    """Why a search does not show a file."""

    async def explain(self, request: SearchRequest, repository: str, path: str) -> WhyNot: ...


class ImpactAnalysis(Protocol):
    """What a change reaches."""

    async def of_symbol(self, request: ImpactRequest) -> ImpactAnswer: ...

    async def of_diff(self, request: ImpactRequest) -> ImpactAnswer: ...


class Positions(Protocol):
    """What stands at a place of a file."""

    async def definition(self, request: PositionRequest) -> PositionAnswer: ...


class Service(Protocol):
    """The parts of the running service, as the composition root hands them out."""

    @property
    def search(self) -> Search: ...

    @property
    def repositories(self) -> RepositoryStore: ...

    @property
    def remotes(self) -> Remotes: ...

    @property
    def history(self) -> History: ...

    @property
    def coverage(self) -> CoverageReports: ...

    @property
    def archives(self) -> ArchiveStore: ...

    @property
    def deliveries(self) -> DeliveryStore: ...

    @property
    def jobs(self) -> JobStore: ...

    @property
    def symbols(self) -> SymbolLookup: ...

    @property
    def impact(self) -> ImpactAnalysis: ...

    @property
    def source(self) -> SourceFiles: ...

    @property
    def why_not(self) -> WhyNotAnswers: ...

    @property
    def scopes(self) -> ScopeStore: ...

    @property
    def positions(self) -> Positions: ...

    @property
    def health(self) -> HealthProbe: ...

    @property
    def keys(self) -> KeyStore: ...

    @property
    def audit(self) -> AuditStore: ...


ServiceFactory = Callable[[], AbstractAsyncContextManager[Service]]


# The dependencies are coroutines because FastAPI would run plain functions in threads.


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def _settings(request: Request) -> Settings:
    settings: Settings = request.app.state.settings
    return settings


async def _gates(request: Request) -> Gates:
    gates: Gates = request.app.state.gates
    return gates


async def _lookup(request: Request) -> AsyncIterator[None]:
    async with (await _gates(request)).lookups.place():
        yield


async def _watcher(request: Request) -> AsyncIterator[None]:
    async with (await _gates(request)).waiting.place():
        yield


CurrentService = Annotated[Service, Depends(_service)]
CurrentSettings = Annotated[Settings, Depends(_settings)]
CurrentGates = Annotated[Gates, Depends(_gates)]

A_LOOKUP: Final = Depends(_lookup, scope="function")
"""A dependency of calls that read or write a few rows: one of the places for these, until the answer is made."""

A_WATCHER: Final = Depends(_watcher)
"""A dependency of calls that look again and again: one of the places for these, until the answer is sent."""
