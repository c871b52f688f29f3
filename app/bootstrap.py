"""The composition root: the only module that names concrete classes together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import structlog

from app.config import Settings
from app.domain.errors import ConfigurationError, FourfoldError
from app.domain.language_names import LanguageNames
from app.domain.query import Modality
from app.embeddings.cached import QueryVectorCache
from app.embeddings.choice import Choice
from app.embeddings.factory import Embedders
from app.indexing.coverage import CoverageService
from app.indexing.definition_lookup import DefinitionLookup
from app.indexing.history import GitHistory
from app.indexing.kept_sources import KeptRepositories
from app.indexing.requests import IndexRequests
from app.indexing.revision_diff import GitDiffs
from app.indexing.uploads import ArchiveUploads
from app.languages.registry import registry
from app.ports import EmbeddingFailed, Readiness, Retriever
from app.retrievers.graph import GraphRetriever
from app.retrievers.lexicon import Lexicon
from app.retrievers.names import NameSearch
from app.retrievers.semantic import SemanticRetriever
from app.retrievers.structural import StructuralRetriever
from app.retrievers.symbol_graph import EdgeGraph
from app.retrievers.text import TextRetriever
from app.retrievers.word_index import WordIndex
from app.search.classify import load_classifier, stop_words
from app.search.glossary import load_glossaries
from app.search.impact import ImpactService
from app.search.pipeline import SearchService
from app.search.positions import PositionService
from app.search.profiles import Profiles
from app.search.scoped import ScopedSearch
from app.search.source import SourceService
from app.search.symbols import SymbolService
from app.search.why_not import WhyNotService
from app.sources.address import is_loopback
from app.sources.mirrors import Mirrors
from app.storage import embedded, row_security, vector_sets, vectors
from app.storage.audit import Audit
from app.storage.checks import check_server
from app.storage.chunks import Chunks
from app.storage.coverage import CoverageRows
from app.storage.deliveries import Deliveries
from app.storage.dsn import parse_dsn
from app.storage.engine import Connection, connection
from app.storage.files import Files
from app.storage.health import ServerExamination, StoreHealth
from app.storage.jobs import Jobs
from app.storage.keys import Keys
from app.storage.live_files import LiveFilesCache
from app.storage.name_memory import NameMemory
from app.storage.pool import Pool
from app.storage.posting_memory import PostingMemory
from app.storage.repositories import Repositories
from app.storage.schema import upgrade_if_needed
from app.storage.scopes import Scopes
from app.storage.snapshots import Snapshots
from app.storage.symbol_rows import SymbolRows
from app.storage.symbols import Symbols

CONNECTIONS_PER_SEARCH = 4
CONNECTIONS_BESIDE_SEARCHES = 8
READY_SEARCHES = 2
"""Searches at a time whose connections are there from the start."""
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
    mirrors: Mirrors
    keys: Keys
    no_row_security: str | None
    """Why PostgreSQL does not keep limited keys apart beside the service itself; None when it does."""

    @property
    def embedder(self) -> QueryVectorCache | None:
        """The embedder that is set."""
        target = self.embedders.target
        return target.embedder if target else None

    @property
    def requests(self) -> IndexRequests:
        """The queue as callers see it."""
        return IndexRequests(self.repositories, self.jobs, self.mirrors, self.connect)

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
        findings = [*await ServerExamination(self._backend.dsn).check(), *await self.check(), _row_security_finding(self._backend)]
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


def _row_security_finding(opened: Backend) -> Readiness:
    reason = opened.no_row_security
    detail = "keeps limited keys to their repositories" if reason is None else f"off, the service alone keeps keys apart: {reason}"
    return Readiness("row security", True, detail)


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
    search: ScopedSearch
    repositories: Repositories
    remotes: Mirrors
    history: GitHistory
    coverage: CoverageService
    archives: ArchiveUploads
    deliveries: Deliveries
    jobs: IndexRequests
    symbols: SymbolService
    impact: ImpactService
    source: SourceService
    why_not: WhyNotService
    scopes: Scopes
    positions: PositionService
    health: Health
    keys: Keys
    audit: Audit


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
        no_row_security = await _without_row_security(dsn, settings)
        pool = Pool(
            dsn,
            size=settings.search.concurrency * CONNECTIONS_PER_SEARCH + CONNECTIONS_BESIDE_SEARCHES,
            statement_timeout_ms=settings.search.max_deadline_ms + STATEMENT_SLACK_MS,
            row_security=no_row_security is None,
        )
        await pool.open()
        mirrors, keys = _mirrors(settings), Keys(pool)
        try:
            yield Backend(
                settings, dsn, pool, server, KeptRepositories(pool, mirrors), Jobs(pool), embedders, mirrors, keys, no_row_security
            )
        finally:
            embedders.close()
            await keys.close()
            await pool.close()


async def _without_row_security(dsn: str, settings: Settings) -> str | None:
    """Why there is no second wall between limited keys; None when there is. Raises ConfigurationError when there must be."""
    wanted = settings.access.row_security
    async with connection(dsn) as own:
        reason = await row_security.establish(own)
    if wanted == "off":
        reason = "switched off by FOURFOLD_ACCESS__ROW_SECURITY"
    elif reason is not None:
        if wanted == "required":
            raise ConfigurationError(f"row-level security cannot be set up: {reason} (FOURFOLD_ACCESS__ROW_SECURITY is 'required')")
        _log.warning("row_security_off", reason=reason)
    return reason


def _mirrors(settings: Settings) -> Mirrors:
    """On loopback a caller may read any directory of this machine, elsewhere none but the allowed roots."""
    anywhere = not settings.allowed_roots and is_loopback(settings.host)
    return Mirrors(settings, state_dir(settings), None if anywhere else settings.allowed_roots)


@asynccontextmanager
async def service(settings: Settings, *, warm: bool = False) -> AsyncIterator[Service]:
    """The service with its store open; ``warm`` loads the embedder and makes connections before the first questions need them."""
    async with backend(settings) as opened:
        if not warm:
            yield compose(opened)
            return
        load_classifier().warm()
        warming = asyncio.create_task(_warm(opened))
        try:
            yield compose(opened)
        finally:
            await warming


async def _warm(opened: Backend) -> None:
    """Beside everything else, so that the first questions do not wait for it; a provider needs no warming."""
    choice = opened.embedders.target
    if choice is not None and not choice.remote:
        try:
            await choice.embedder.query_vector("warm up")
        except (EmbeddingFailed, FourfoldError) as error:
            _log.error("embedder_unusable", error=str(error))
    try:
        await opened.pool.prepare(READY_SEARCHES * CONNECTIONS_PER_SEARCH)
    except FourfoldError as error:
        _log.warning("connections_not_prepared", error=error.code, reason=error.message)


def compose(opened: Backend, profiles: Profiles | None = None) -> Service:
    """Wire the read path and the stores; ``profiles`` takes the place of ``profiles.toml``."""
    live = LiveFilesCache(opened.pool)
    index = WordIndex(PostingMemory(opened.pool))
    names = NameSearch(Lexicon(index), NameMemory(opened.pool), live)
    retrievers: dict[Modality, Retriever] = {
        Modality.TEXT: TextRetriever(opened.pool, index, names, live, opened.settings.search.unindexed_scan_chunks),
        Modality.STRUCTURAL: StructuralRetriever(opened.pool, names, live),
        Modality.GRAPH: GraphRetriever(opened.pool),
    }
    if opened.embedders.target is not None:
        retrievers[Modality.SEMANTIC] = SemanticRetriever(opened.pool, opened.embedders.for_set, live, opened.settings.embedding)
    languages = registry().names
    snapshots, files, scopes = Snapshots(opened.pool), Files(opened.pool), Scopes(opened.pool)
    search = SearchService(
        classifier=load_classifier(),
        stop_words=stop_words(),
        snapshots=snapshots,
        chunks=Chunks(opened.pool),
        retrievers=retrievers,
        settings=opened.settings.search,
        profiles=profiles,
        languages=languages,
        glossaries=load_glossaries(),
    )
    requests = opened.requests
    scoped = ScopedSearch(search, scopes)
    symbols, impact, positions = _symbol_services(opened, languages)
    return Service(
        settings=opened.settings,
        search=scoped,
        source=SourceService(snapshots, files, Symbols(opened.pool, SymbolRows())),
        why_not=WhyNotService(scoped, snapshots, files, tuple(retrievers), languages),
        scopes=scopes,
        repositories=opened.repositories,
        remotes=opened.mirrors,
        history=GitHistory(opened.repositories, opened.mirrors),
        coverage=CoverageService(opened.repositories, snapshots, CoverageRows(opened.pool)),
        archives=ArchiveUploads(opened.repositories, requests, opened.mirrors, opened.settings),
        deliveries=Deliveries(opened.pool),
        jobs=requests,
        symbols=symbols,
        impact=impact,
        positions=positions,
        health=Health(opened),
        keys=opened.keys,
        audit=Audit(opened.pool),
    )


def _symbol_services(opened: Backend, languages: LanguageNames) -> tuple[SymbolService, ImpactService, PositionService]:
    rows = SymbolRows()
    snapshots, store, graph = Snapshots(opened.pool), Symbols(opened.pool, rows), EdgeGraph(opened.pool, rows)
    symbols = SymbolService(snapshots, store, graph, languages)
    impact = ImpactService(snapshots, store, graph, symbols, GitDiffs(opened.repositories, opened.mirrors))
    return symbols, impact, PositionService(snapshots, store, DefinitionLookup(opened.pool))


async def migrate(settings: Settings) -> None:
    """Bring the database to the newest schema."""
    async with store(settings) as (dsn, _):
        await check_server(parse_dsn(dsn))
        await upgrade_if_needed(dsn)
