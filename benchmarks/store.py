"""The benchmarks' own databases: one per selection of files, kept from run to run.

An index is built again only when its source, its globs or the extractor changed. A changed schema gets a new database, into which the
vectors that were already computed are copied, since embedding is what takes long.
"""

from __future__ import annotations

import hashlib
import io
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import asyncpg
from pydantic import SecretStr

import migrations
from app import bootstrap
from app.bootstrap import Backend, Service
from app.config import Settings
from app.domain.errors import RepositoryNotFound
from app.domain.index import JobState, Repository, RepositorySource
from app.domain.vectors import VectorSet
from app.embeddings.choice import Choice
from app.indexing.discover import revision
from app.indexing.embed import EmbedProgress, embed_pending
from app.indexing.parse import ParsePool, extractor_version
from app.search.profiles import Profiles
from app.storage import vector_sets, vectors
from app.storage.dsn import parse_dsn
from app.storage.engine import connection
from app.worker import Worker
from benchmarks.corpora import WORK

PREFIX: Final = "fourfold_bench"
STAGES: Final = ("discover", "analyse", "resolve", "centrality", "publish")
_CACHE_KEY: Final = "SELECT attname FROM pg_attribute WHERE attrelid = 'embedding_cache'::regclass AND attnum = 1"
_EXTRACTORS: Final = """
    SELECT DISTINCT v.extractor FROM file_version v JOIN file f USING (repository_id, file_id)
    JOIN branch b ON b.repository_id = f.repository_id AND b.branch_id = f.branch_id
        AND b.current_gen >= f.from_gen AND b.current_gen < f.to_gen
    WHERE v.repository_id = $1
"""


@dataclass(slots=True)
class Store:
    """An open database with everything that works on it."""

    backend: Backend
    url: str
    seconds: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """Of the index runs of this session: repository → stage → seconds."""

    @property
    def settings(self) -> Settings:
        return self.backend.settings

    def service(self, profiles: Profiles | None = None) -> Service:
        """The service as it is, or with other numbers."""
        return bootstrap.compose(self.backend, profiles)

    async def prepare(self, sources: Mapping[str, RepositorySource], *, fresh: bool = False, embed: bool = True) -> None:
        """Index what is not up to date under the given names, then embed what has no vector yet."""
        stale = [name for name, source in sources.items() if fresh or not await self._is_current(name, source)]
        if stale:
            with ParsePool(self.settings.index) as pool:
                for name in stale:
                    await self._index(name, sources[name], pool)
        await self.embed(tuple(sources) if embed else ())

    async def embed(self, names: Sequence[str]) -> None:
        """Embed what has no vector yet."""
        choice = self.backend.embedders.target
        if choice is not None:
            serving = await self._serve(choice)
            for name in names:
                await self._embed(await self.backend.repositories.get(name), choice, serving)

    async def index_again(self, name: str) -> None:
        """A further run over a source that is indexed already."""
        with ParsePool(self.settings.index) as pool:
            await self._run(name, pool)

    async def _is_current(self, name: str, source: RepositorySource) -> bool:
        try:
            known = await self.backend.repositories.get(name)
        except RepositoryNotFound:
            return False
        if known.source != source or known.generation == 0 or known.revision != revision(source):
            return False
        async with self.backend.connect() as opened:
            extractors = {row["extractor"] for row in await opened.fetch(_EXTRACTORS, known.id)}
        return extractors <= {extractor_version(self.settings.index)}

    async def _index(self, name: str, source: RepositorySource, pool: ParsePool) -> None:
        """From nothing: what an earlier version has left behind must not count."""
        with suppress(RepositoryNotFound):
            await self.backend.repositories.delete(name)
        await self.backend.repositories.put(name, source)
        await self._run(name, pool)

    async def _run(self, name: str, pool: ParsePool) -> None:
        jobs = self.service().jobs
        job, _ = await jobs.enqueue(name)
        worker = Worker(self.backend)
        while await worker.step(pool):
            pass
        job = await jobs.get(job.id)
        if job.state is not JobState.SUCCEEDED:
            raise RuntimeError(f"indexing {name} {job.state}: {job.error}")
        told: Any = job.result["seconds"]
        seconds = {stage: told[stage] for stage in sorted(told, key=STAGES.index)}
        self.seconds[name] = seconds
        say(f"indexed {name}: {job.result['files']} files in {sum(seconds.values()):.1f} s")

    async def _serve(self, choice: Choice) -> VectorSet:
        """Let the vectors of the embedder to be measured serve at once, complete or not."""
        async with self.backend.connect() as opened:
            active = await vector_sets.activate(opened, choice.embedder.name, choice.kind, choice.model)
            await vector_sets.promote(opened, active.id)
            for repository_id in await vectors.repositories(opened):
                await vectors.refresh_counts(opened, repository_id, active.id)
        return active

    async def _embed(self, repository: Repository, choice: Choice, serving: VectorSet) -> None:
        def tell(progress: EmbedProgress) -> None:
            if progress.done:
                say(f"embedding {repository.name}: {progress.done} chunks done, {progress.pending} left")

        await embed_pending(self.backend.connect, choice, serving, repository.id, on_progress=tell)


@asynccontextmanager
async def open_store(settings: Settings, selection: str, *, anew: bool = False) -> AsyncIterator[Store]:
    """The database of a selection (``counted``, ``whole`` …), created when it is not there, or ``anew``."""
    if settings.database_url is None and settings.state_dir is None:
        settings = settings.model_copy(update={"state_dir": WORK / "state"})
    async with bootstrap.store(settings) as (dsn, _):
        name = f"{PREFIX}_{selection}_{_schema_digest()}"
        url = parse_dsn(dsn).with_database(name).url
        await _ensure_database(dsn, name, url, anew=anew)
        async with bootstrap.backend(settings.model_copy(update={"database_url": SecretStr(url)})) as backend:
            yield Store(backend, url)


def say(text: str) -> None:
    """Progress, apart from the results."""
    print(text, file=sys.stderr, flush=True)


def _schema_digest() -> str:
    digest = hashlib.sha256()
    for file in sorted((Path(migrations.__file__).parent / "versions").glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:8]


async def _ensure_database(dsn: str, name: str, url: str, *, anew: bool) -> None:
    async with connection(dsn) as server:
        if anew:
            await server.execute(f'DROP DATABASE IF EXISTS "{name}"')
        known = [row["datname"] for row in await server.fetch("SELECT datname FROM pg_database WHERE starts_with(datname, $1)", PREFIX)]
        if name in known:
            return
        await server.execute(f'CREATE DATABASE "{name}"')
        await bootstrap.migrate(Settings(database_url=SecretStr(url)))
        for other in known if not anew else ():
            await _copy_vectors(parse_dsn(dsn).with_database(other).url, url)
            if other.rpartition("_")[0] == name.rpartition("_")[0]:  # the same selection under an older schema
                with suppress(asyncpg.ObjectInUseError):
                    await server.execute(f'DROP DATABASE "{other}"')


async def _copy_vectors(from_url: str, to_url: str) -> None:
    """Add the vectors of one database to another's cache."""
    rows = io.BytesIO()
    async with connection(from_url) as source:
        key = await source.fetchval(_CACHE_KEY)
        await source.copy_from_query(f"SELECT {key}, text_hash, bits FROM embedding_cache", output=rows, format="binary")  # noqa: S608  a name of the catalog
    rows.seek(0)
    async with connection(to_url) as target, target.transaction():
        await target.execute("CREATE TEMP TABLE arrived (LIKE embedding_cache INCLUDING DEFAULTS) ON COMMIT DROP")
        await target.copy_to_table("arrived", source=rows, format="binary", columns=["embedder", "text_hash", "bits"])
        await target.execute("INSERT INTO embedding_cache SELECT * FROM arrived ON CONFLICT DO NOTHING")
