"""The composition root: the only module that names concrete classes together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from app.config import Settings
from app.domain.errors import FourfoldError
from app.domain.index import Job
from app.domain.query import Modality
from app.embeddings.cached import QueryVectorCache
from app.embeddings.choice import Choice
from app.embeddings.factory import Embedders
from app.indexing.discover import revision
from app.indexing.revision_diff import GitDiffs
from app.ports import EmbeddingFailed, Readiness, Retriever
from app.retrievers.graph import GraphRetriever
from app.retrievers.lexicon import Lexicon
from app.retrievers.semantic import SemanticRetriever
from app.retrievers.structural import StructuralRetriever
from app.retrievers.symbol_graph import EdgeGraph
from app.retrievers.text import TextRetriever
from app.search.classify import load_classifier, stop_words
from app.search.impact import ImpactService
from app.search.pipeline import SearchService
from app.search.profiles import Profiles
from app.search.symbols import SymbolService
from app.storage import embedded, vector_sets, vectors
from app.storage.checks import check_server
from app.storage.chunks import Chunks
from app.storage.dsn import parse_dsn
from app.storage.engine import Connection, connection
from app.storage.health import ServerExamination, StoreHealth
from app.storage.jobs import Jobs
from app.storage.pool import Pool
from app.storage.repositories import Repositories
from app.storage.schema import upgrade_if_needed
from app.storage.snapshots import Snapshots
from app.storage.symbol_rows import SymbolRows
from app.storage.symbols import Symbols

CONNECTIONS_PER_SEARCH = 4
CONNECTIONS_BESIDE_SEARCHES = 8
STATEMENT_SLACK_MS = 500

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Backend:
    """The store and what works on it; shared by the service and the worker."""

    settings: Settings
    dsn: str
    pool: Pool
    server: embedded.EmbeddedServer | None
    repositories: Repositories
    jobs: Jobs
    embedders: Embedders

    @property
    def embedder(self) -> QueryVectorCache | None:
        """The embedder that is set."""
        target = self.embedders.target
        return target.embedder if target else None

    def connect(self) -> AbstractAsyncContextManager[Connection]:
        """A connection of one's own, outside the pool and without its statement timeout."""
        return connection(self.dsn, application_name="fourfold worker")

    async def ensure_store(self) -> None:
        """Start the embedded server again if it is gone; an external one is waited for by whoever needs it."""
        if self.server is not None:
            try:
                await asyncio.to_thread(self.server.ensure)
            except FourfoldError as error:
                _log.error("embedded_server_down", error=error.message)


class IndexRequests:
    """The JobStore as callers see it: a request carries the revision that the tree has now, so that equal requests are one."""

    def __init__(self, repositories: Repositories, jobs: Jobs) -> None:
        self._repositories = repositories
        self._jobs = jobs

    async def enqueue(self, repository: str) -> tuple[Job, bool]:
        """See ports.JobStore. A tree that cannot be read is queued all the same: the run then fails with the reason."""
        known = await self._repositories.get(repository)
        try:
            now = await asyncio.to_thread(revision, Path(known.source.path))
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return await self._jobs.enqueue(repository)
        if known.generation:
            await self._repositories.set_known_revision(known.id, now)
        return await self._jobs.enqueue(repository, now)

    async def get(self, job_id: str) -> Job:
        """See ports.JobStore."""
        return await self._jobs.get(job_id)

    async def cancel(self, job_id: str) -> Job:
        """See ports.JobStore."""
        return await self._jobs.cancel(job_id)

    async def list(self, repository: str | None = None, limit: int = 50) -> Sequence[Job]:
        """See ports.JobStore."""
        return await self._jobs.list(repository, limit)


class Health:
    """The HealthProbe of the whole service."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def check(self) -> Sequence[Readiness]:
        """Store and schema; the embedded server is started again when it is gone."""
        findings = await StoreHealth(self._backend.pool).check()
        if not findings[0].ok and self._backend.server is not None:
            await self._backend.ensure_store()
            findings = await StoreHealth(self._backend.pool).check()
        return findings

    async def examine(self) -> Sequence[Readiness]:
        """``check`` and everything that is too slow to look at for every probe."""
        findings = [*await ServerExamination(self._backend.dsn).check(), *await self.check()]
        target = self._backend.embedders.target
        if target is None:
            findings.append(Readiness("embedder", True, "none: no semantic search"))
        else:
            findings.append(await asyncio.to_thread(_examine_embedder, target))
            findings += await self._examine_vector_sets() if findings[0].ok else []
        return findings

    async def _examine_vector_sets(self) -> Sequence[Readiness]:
        async with self._backend.connect() as own:
            serving, building = await vector_sets.serving(own), await vector_sets.building(own)
            waiting = await vectors.waiting(own, building.id) if building else []
        said = f"{serving.name} serves" if serving else "none yet; a worker makes one"
        said += f"; {building.name} is being built, {len(waiting)} repositories left" if building else ""
        return [Readiness("vectors", True, said)]


def _examine_embedder(choice: Choice) -> Readiness:
    """One text is embedded: a provider is asked too."""
    try:
        choice.embedder.embed_documents(["verify"])
    except (FourfoldError, EmbeddingFailed) as error:
        return Readiness("embedder", False, str(error))
    return Readiness("embedder", True, choice.embedder.name)


@dataclass(frozen=True, slots=True)
class Service:
    """Everything the entry points use."""

    settings: Settings
    search: SearchService
    repositories: Repositories
    jobs: IndexRequests
    symbols: SymbolService
    impact: ImpactService
    health: Health


def state_dir(settings: Settings) -> Path:
    """Where the embedded database and run files live."""
    return settings.state_dir or embedded.default_state_dir()


@asynccontextmanager
async def store(settings: Settings) -> AsyncIterator[tuple[str, embedded.EmbeddedServer | None]]:
    """The DSN of the server to use: the one of DATABASE_URL and no other, else the embedded one."""
    if settings.database_url is not None:
        yield settings.database_url.get_secret_value(), None
        return
    server = await asyncio.to_thread(embedded.acquire, state_dir(settings), report=lambda text: _log.info("embedded_server", message=text))
    try:
        yield server.url, server
    finally:
        await asyncio.to_thread(server.release, wait_seconds=10)


@asynccontextmanager
async def backend(settings: Settings) -> AsyncIterator[Backend]:
    """The store, checked and migrated. Raises StoreUnavailable and ConfigurationError with what to do."""
    embedders = Embedders(settings)
    async with store(settings) as (dsn, server):
        facts = await check_server(parse_dsn(dsn))
        for warning in facts.warnings:
            _log.warning("store", message=warning)
        await upgrade_if_needed(dsn)
        pool = Pool(
            dsn,
            size=settings.search.concurrency * CONNECTIONS_PER_SEARCH + CONNECTIONS_BESIDE_SEARCHES,
            statement_timeout_ms=settings.search.max_deadline_ms + STATEMENT_SLACK_MS,
        )
        await pool.open()
        try:
            yield Backend(settings, dsn, pool, server, Repositories(pool), Jobs(pool), embedders)
        finally:
            embedders.close()
            await pool.close()


@asynccontextmanager
async def service(settings: Settings, *, warm: bool = False) -> AsyncIterator[Service]:
    """The service with its store open; ``warm`` loads the embedder before the first question needs it."""
    async with backend(settings) as opened:
        if warm:
            load_classifier().warm()
        warming = asyncio.create_task(_warm(opened.embedders.target if warm else None))
        try:
            yield compose(opened)
        finally:
            await warming


async def _warm(choice: Choice | None) -> None:
    """Load the model beside everything else, so that the first question does not wait for it; a provider needs no warming."""
    if choice is not None and not choice.remote:
        try:
            await choice.embedder.query_vector("warm up")
        except (EmbeddingFailed, FourfoldError) as error:
            _log.error("embedder_unusable", error=str(error))


def compose(opened: Backend, profiles: Profiles | None = None) -> Service:
    """Wire the read path and the stores; ``profiles`` takes the place of ``profiles.toml``."""
    lexicon = Lexicon()
    retrievers: dict[Modality, Retriever] = {
        Modality.TEXT: TextRetriever(opened.pool, lexicon, opened.settings.search.unindexed_scan_chunks),
        Modality.STRUCTURAL: StructuralRetriever(opened.pool, lexicon),
        Modality.GRAPH: GraphRetriever(opened.pool),
    }
    if opened.embedders.target is not None:
        retrievers[Modality.SEMANTIC] = SemanticRetriever(opened.pool, opened.embedders.for_set, opened.settings.embedding.exact_chunks)
    search = SearchService(
        classifier=load_classifier(),
        stop_words=stop_words(),
        snapshots=Snapshots(opened.pool),
        chunks=Chunks(opened.pool),
        retrievers=retrievers,
        settings=opened.settings.search,
        profiles=profiles,
    )
    symbols, impact = _symbol_services(opened)
    return Service(
        settings=opened.settings,
        search=search,
        repositories=opened.repositories,
        jobs=IndexRequests(opened.repositories, opened.jobs),
        symbols=symbols,
        impact=impact,
        health=Health(opened),
    )


def _symbol_services(opened: Backend) -> tuple[SymbolService, ImpactService]:
    rows = SymbolRows()
    snapshots, store, graph = Snapshots(opened.pool), Symbols(opened.pool, rows), EdgeGraph(opened.pool, rows)
    symbols = SymbolService(snapshots, store, graph)
    return symbols, ImpactService(snapshots, store, graph, symbols, GitDiffs(opened.repositories))


async def migrate(settings: Settings) -> None:
    """Bring the database to the newest schema."""
    async with store(settings) as (dsn, _):
        await check_server(parse_dsn(dsn))
        await upgrade_if_needed(dsn)
