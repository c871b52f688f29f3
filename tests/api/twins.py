"""In-memory twins of the ports: they keep the ports' promises without a database."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from app.domain.access import ApiKey, AuditEntry, Caller, KeyScope, Reach
from app.domain.code import PathClass
from app.domain.errors import (
    Conflict,
    FileNotIndexed,
    FourfoldError,
    InvalidRequest,
    JobNotFound,
    KeyNotFound,
    NotAuthenticated,
    NotIndexed,
    RepositoryNotFound,
    ScopeNotFound,
    StoreUnavailable,
    SymbolNotFound,
)
from app.domain.files import FileRequest, Gate, SourceFile, WhyNot
from app.domain.index import Coverage, CoveragePage, CoverageRequest, Job, JobPlace, JobState, Priority, Repository, RepositorySource
from app.domain.position import PositionAnswer, PositionRequest
from app.domain.query import Classification, Filters, Intent, Modality, QueryTerms, RetrievalQuery, Scope, SearchRequest, Snapshot, Strategy
from app.domain.ranking import (
    Degradation,
    Evidence,
    Highlight,
    LineSpan,
    ModalityRun,
    Notice,
    RankedList,
    Routing,
    SearchAnswer,
    SearchResult,
    SymbolSummary,
    Total,
)
from app.domain.scopes import SavedScope
from app.domain.symbols import (
    Impact,
    ImpactAnswer,
    ImpactRequest,
    Interval,
    Relative,
    SymbolAnswer,
    SymbolPage,
    SymbolsRequest,
    Use,
    UsesPage,
    UsesRequest,
)
from app.ports import Readiness
from app.search.progress import SILENT, Progress
from app.sources.address import Address, parse_address
from app.sources.archive import Imported

NOW = datetime(2025, 1, 31, 12, 0, tzinfo=UTC)


@dataclass
class MemoryRepositories:
    stored: dict[str, Repository] = field(default_factory=dict)

    async def put(self, name: str, source: RepositorySource) -> tuple[Repository, bool]:
        old = self.stored.get(name)
        if old is not None and old.source.path != source.path:
            raise Conflict(f"the name {name!r} belongs to another source", field="source")
        if old is None:
            new = Repository(len(self.stored) + 1, name, source, NOW, 0, None, None, None, Coverage())
        else:
            new = replace(old, source=source)
        self.stored[name] = new
        return new, old is None

    async def get(self, name: str) -> Repository:
        if name not in self.stored:
            raise RepositoryNotFound(f"there is no repository named {name!r}")
        return self.stored[name]

    async def list(self) -> Sequence[Repository]:
        return sorted(self.stored.values(), key=lambda stored: stored.name)

    async def delete(self, name: str) -> None:
        await self.get(name)
        del self.stored[name]


@dataclass
class MemoryJobs:
    repositories: MemoryRepositories
    stored: dict[str, Job] = field(default_factory=dict)

    async def enqueue(self, repository: str, revision: str | None = None, priority: Priority = Priority.INTERACTIVE) -> tuple[Job, bool]:
        await self.repositories.get(repository)
        for job in self.stored.values():
            if job.repository == repository and job.state is JobState.QUEUED:
                return job, True
        job = Job(str(uuid.uuid4()), repository, JobState.QUEUED, None, 0, None, None, 0, None, NOW, None, None, priority=priority)
        self.stored[job.id] = job
        return job, False

    async def get(self, job_id: str) -> Job:
        if job_id not in self.stored:
            raise JobNotFound(f"there is no job {job_id!r}")
        return self.stored[job_id]

    async def cancel(self, job_id: str) -> Job:
        job = await self.get(job_id)
        if job.state is not JobState.QUEUED:
            raise Conflict(f"job {job_id} is already {job.state}")
        self.stored[job_id] = replace(job, state=JobState.CANCELLED, finished_at=NOW)
        return self.stored[job_id]

    async def list(
        self, repository: str | None = None, limit: int = 50, state: JobState | None = None, after: JobPlace | None = None
    ) -> Sequence[Job]:
        jobs = [job for job in self.stored.values() if repository in (None, job.repository) and state in (None, job.state)]
        begin = 0 if after is None else [job.id for job in jobs[::-1]].index(after.id) + 1
        return jobs[::-1][begin:][:limit]


@dataclass
class MemorySearch:
    """Finds the query text in a single file of every repository; ``block`` keeps searches waiting until it is set."""

    repositories: MemoryRepositories
    asked: list[SearchRequest] = field(default_factory=list)
    block: asyncio.Event | None = None
    entered: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: int = 0
    failure: Exception | None = None

    def classify(self, request: SearchRequest) -> Routing:
        classification = Classification(Intent.FIND_REFERENCES, 0.9, "who_calls", ("parse_config",))
        return Routing(classification, Strategy.DIRECT, request.preset, (ModalityRun(Modality.GRAPH, 0.5, 7, 2.1),))

    async def scope(self, request: SearchRequest) -> Scope:
        stored = [await self.repositories.get(name) for name in request.repositories] or list(await self.repositories.list())
        if any(entry.generation == 0 for entry in stored):
            raise NotIndexed(retry_after=2)
        return Scope(tuple(snapshot(entry.name) for entry in stored))

    async def search(self, request: SearchRequest, progress: Progress = SILENT) -> SearchAnswer:
        self.asked.append(request)
        self.entered.set()
        if "long" in request.query:
            progress.routed(self.classify(request))
        if self.block is not None:
            try:
                await self.block.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.failure is not None:
            raise self.failure
        scope = await self.scope(request)
        found = () if "nothing" in request.query else (result(),)
        progress.routed(self.classify(request))
        if "break" in request.query:
            raise StoreUnavailable(retry_after=1)
        if "crash" in request.query:
            raise ZeroDivisionError
        progress.answered(Degradation(Modality.SEMANTIC, "timeout"), _retrieval(scope))
        progress.answered(RankedList(Modality.GRAPH, (), total_files=0), _retrieval(scope))
        return answer(request, self.classify(request), scope, found)


def _retrieval(scope: Scope) -> RetrievalQuery:
    terms = QueryTerms(single=False, terms={}, words=(), identifiers=(), wholes=frozenset())
    return RetrievalQuery("q", Classification(Intent.FIND_REFERENCES, 0.9, "who_calls"), terms, Filters(), scope, None, 1_000)


def snapshot(name: str) -> Snapshot:
    return Snapshot(1, name, 1, 12, "9f2c", NOW, False, 412, 3, 900, 5, {"indexed": 400, "text_only": 12})


def result() -> SearchResult:
    return SearchResult(
        chunk_id="c7-1234",
        repository="api",
        revision="9f2c",
        path="app/boot.py",
        language="python",
        path_class=PathClass.SOURCE,
        start_line=41,
        end_line=58,
        symbol=SymbolSummary("5d41402abc4b2a76", "boot", "App.boot", "function", "def boot(path: Path) -> App", 41, 58),
        snippet="def boot(path: Path) -> App:\n    return parse_config(path)\n" * 60,
        snippet_start_line=41,
        snippet_truncated=False,
        highlights=(Highlight(44, 11, 23),),
        score=0.0183,
        evidence=(Evidence(Modality.GRAPH, 1.0, relation="calls", edge_class="exact", line=44, distance=1),),
        more_in_file=(LineSpan(90, 97),),
    )


def answer(request: SearchRequest, routing: Routing, scope: Scope, found: tuple[SearchResult, ...]) -> SearchAnswer:
    degraded = (Degradation(Modality.SEMANTIC, "store_unavailable"),)
    return SearchAnswer(
        query=request.query,
        text=request.query,
        filters=request.filters,
        routing=replace(routing, degraded=degraded),
        results=found,
        total=Total(len(found), None, True),
        relevance="strong" if found else "none",
        partial=True,
        next_cursor=None,
        scope=scope,
        warnings=(Notice("semantic_degraded", "semantic search ran out of time"),),
        absence=None if found else {"proven": True, "files": 412},
        took_ms=3.4,
    )


@dataclass
class MemoryHealth:
    checks: list[Readiness] = field(default_factory=lambda: [Readiness("store", True, "PostgreSQL 18.6")])

    async def check(self) -> Sequence[Readiness]:
        return self.checks


class MemorySymbols:
    """Knows no symbol; ``tests/integration`` asks a real index."""

    async def find(self, request: SymbolsRequest) -> SymbolPage:
        return SymbolPage((), 0, False, None, Scope((snapshot("api"),)), (), 0.1)

    async def get(self, symbol_id: str, repository: str | None = None, revision: str | None = None) -> SymbolAnswer:
        raise SymbolNotFound

    async def references(self, request: UsesRequest) -> UsesPage[Use]:
        raise SymbolNotFound

    async def callers(self, request: UsesRequest) -> UsesPage[Relative]:
        raise SymbolNotFound

    async def callees(self, request: UsesRequest) -> UsesPage[Relative]:
        raise SymbolNotFound


class MemoryPositions:
    """Finds no name anywhere."""

    async def definition(self, request: PositionRequest) -> PositionAnswer:
        return PositionAnswer(request.path, None, {}, snapshot("api"), (), 0.1)


class MemoryRemotes:
    """Allows every address."""

    def check(self, url: str, credential: str | None) -> Address:
        return parse_address(url)


class MemoryHistory:
    """Every revision contains only itself."""

    async def contains(self, repository: str, revision: str, wanted: str) -> bool:
        return revision == wanted


class MemoryCoverage:
    """Knows no file."""

    async def read(self, request: CoverageRequest) -> CoveragePage:
        return CoveragePage((), None, snapshot(request.repository))


class MemoryArchives:
    """Takes no archive; ``tests/integration`` uploads real ones."""

    async def put(self, name: str, body: AsyncIterator[bytes], revision: str, strip: int) -> tuple[Job, bool, Imported]:
        raise InvalidRequest("the body is neither a tar.gz nor a zip", field="body")


@dataclass
class MemoryDeliveries:
    known: set[tuple[str, str]] = field(default_factory=set)

    async def seen(self, forge: str, digest: str) -> bool:
        return (forge, digest) in self.known

    async def remember(self, forge: str, digest: str) -> None:
        self.known.add((forge, digest))


class MemoryImpact:
    """Knows no symbol, and differences that touch nothing."""

    async def of_symbol(self, request: ImpactRequest) -> ImpactAnswer:
        raise SymbolNotFound

    async def of_diff(self, request: ImpactRequest) -> ImpactAnswer:
        none = Interval(0, 0)
        return ImpactAnswer((), Impact((), (), (), (), none, none, none, (), ()), request.depth, snapshot("api"), (), 0.1)


class MemorySource:
    """Knows no file; ``tests/integration`` asks a real index."""

    async def read(self, request: FileRequest) -> SourceFile:
        raise FileNotIndexed


class MemoryWhyNot:
    """Says of every file that it is shown."""

    async def explain(self, request: SearchRequest, repository: str, path: str) -> WhyNot:
        return WhyNot(request, repository, path, Gate.SHOWN, "the answer shows it at rank 1", 1, snapshot=snapshot(repository))


@dataclass
class MemoryScopes:
    stored: dict[str, SavedScope] = field(default_factory=dict)

    async def put(self, scope: SavedScope) -> bool:
        created = scope.name not in self.stored
        self.stored[scope.name] = replace(scope, changed_at=NOW)
        return created

    async def get(self, name: str) -> SavedScope:
        if name not in self.stored:
            raise ScopeNotFound(f"there is no saved scope named {name!r}")
        return self.stored[name]

    async def list(self) -> Sequence[SavedScope]:
        return [self.stored[name] for name in sorted(self.stored)]

    async def delete(self, name: str) -> None:
        await self.get(name)
        del self.stored[name]


@dataclass
class MemoryKeys:
    """Tokens are the ids of their keys."""

    stored: dict[str, ApiKey] = field(default_factory=dict)

    async def create(
        self, name: str, scope: KeyScope, repositories: Sequence[str] = (), expires_at: datetime | None = None
    ) -> tuple[ApiKey, str]:
        key = ApiKey(f"{len(self.stored) + 1:016x}", name, scope, tuple(repositories), NOW, expires_at)
        self.stored[key.id] = key
        return key, key.id

    async def get(self, key_id: str) -> ApiKey:
        if key_id not in self.stored:
            raise KeyNotFound(f"there is no key {key_id!r}")
        return self.stored[key_id]

    async def list(self) -> Sequence[ApiKey]:
        return list(self.stored.values())

    async def revoke(self, key_id: str) -> ApiKey:
        self.stored[key_id] = replace(await self.get(key_id), revoked_at=NOW)
        return self.stored[key_id]

    async def exist(self) -> bool:
        return bool(self.stored)

    async def authenticate(self, token: str) -> Caller:
        key = self.stored.get(token)
        if key is None or not key.is_usable(datetime.now(UTC)):
            raise NotAuthenticated("the key is not one of this service")
        return Caller(key.name, key.scope, key.id, Reach(key.repositories) if key.repositories else None)


@dataclass
class MemoryAudit:
    entries: list[AuditEntry] = field(default_factory=list)
    failure: FourfoldError | None = None

    async def record(self, entry: AuditEntry) -> None:
        if self.failure is not None:
            raise self.failure
        self.entries.append(replace(entry, id=len(self.entries) + 1, at=NOW))

    async def list(self, before: int | None, key_id: str | None, action: str | None, limit: int) -> Sequence[AuditEntry]:
        wanted = [
            entry
            for entry in reversed(self.entries)
            if (before is None or entry.id < before) and key_id in (None, entry.key_id) and action in (None, entry.action)
        ]
        return wanted[:limit]


@dataclass
class MemoryService:
    repositories: MemoryRepositories
    jobs: MemoryJobs
    search: MemorySearch
    health: MemoryHealth
    remotes: MemoryRemotes = field(default_factory=MemoryRemotes)
    history: MemoryHistory = field(default_factory=MemoryHistory)
    coverage: MemoryCoverage = field(default_factory=MemoryCoverage)
    archives: MemoryArchives = field(default_factory=MemoryArchives)
    deliveries: MemoryDeliveries = field(default_factory=MemoryDeliveries)
    symbols: MemorySymbols = field(default_factory=MemorySymbols)
    impact: MemoryImpact = field(default_factory=MemoryImpact)
    source: MemorySource = field(default_factory=MemorySource)
    why_not: MemoryWhyNot = field(default_factory=MemoryWhyNot)
    scopes: MemoryScopes = field(default_factory=MemoryScopes)
    positions: MemoryPositions = field(default_factory=MemoryPositions)
    keys: MemoryKeys = field(default_factory=MemoryKeys)
    audit: MemoryAudit = field(default_factory=MemoryAudit)


def memory_service() -> MemoryService:
    repositories = MemoryRepositories()
    return MemoryService(repositories, MemoryJobs(repositories), MemorySearch(repositories), MemoryHealth())


def factory(service: MemoryService) -> Callable[[], AbstractAsyncContextManager[MemoryService]]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[MemoryService]:
        yield service

    return opened
