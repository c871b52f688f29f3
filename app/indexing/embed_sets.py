"""Keeps the vector sets: fills the one that serves and the one that is built, lets it take over, tidies up what is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Final

import structlog

from app.config import EmbeddingSettings
from app.domain.errors import ConfigurationError, EmbedderUnavailable
from app.domain.vectors import VectorSet
from app.embeddings.choice import Choice
from app.embeddings.factory import Embedders
from app.indexing.embed import ConnectionFactory, embed_pending
from app.observability import metrics
from app.ports import EmbeddingFailed
from app.storage import vector_index, vector_sets, vectors
from app.storage.engine import Connection

TIDY_SECONDS: Final = 30.0
GRACE_SECONDS: Final = 60.0
"""How long a set that was replaced stays readable: longer than any search takes."""

_log = structlog.get_logger(__name__)


class VectorSets:
    """What a worker does for the vector sets, round by round."""

    def __init__(self, connect: ConnectionFactory, embedders: Embedders, settings: EmbeddingSettings) -> None:
        self._connect = connect
        self._embedders = embedders
        self._settings = settings
        self._begun = asyncio.Lock()
        self._active = False
        self._tidy_at = 0.0

    async def serving(self, connection: Connection) -> VectorSet | None:
        """The set that serves; the first call makes the set of this process's embedder the one that does, or will."""
        async with self._begun:
            if not self._active and self._embedders.target is not None:
                await self._activate(connection, self._embedders.target)
                self._active = True
        return await vector_sets.serving(connection)

    async def _activate(self, connection: Connection, target: Choice) -> None:
        """A set that serves is counted in the same transaction: no search is told that nothing is pending in it before that is so."""
        async with connection.transaction():
            active = await vector_sets.activate(connection, target.embedder.name, target.kind, target.model)
            serving = await vector_sets.serving(connection)
            if serving is None or serving.id == active.id:
                await self._count_all(connection, active)
        if serving is not None and serving.id != active.id:
            _log.info("vector_set_building", name=active.name, serving=serving.name)

    async def round(self, connection: Connection, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Embed what waits in either set until ``should_stop``; returns how many chunks were settled.

        The connection must not be in a transaction. Raises EmbedderUnavailable, EmbeddingFailed and ConfigurationError when nothing can
        be done for a set at present.
        """
        serving = await self.serving(connection)
        if serving is None:
            return 0
        building = await vector_sets.building(connection)
        done = await self._fill_serving(connection, serving, building, should_stop)
        if building is not None and not should_stop():
            done += await self._build(connection, building, should_stop)
        if not should_stop():
            await self._tidy(connection)
        return done

    async def _fill_serving(
        self, connection: Connection, serving: VectorSet, building: VectorSet | None, should_stop: Callable[[], bool]
    ) -> int:
        """Keep the set that serves up to date; while it is being replaced, what hinders that is told and no more."""
        waiting = await vectors.known_to_wait(connection, serving.id)
        if not waiting and building is None:
            return 0
        try:
            choice = self._embedders.for_set(serving)
            return await self._fill(choice, serving, waiting, should_stop, serves=True)
        except ConfigurationError as error:
            if building is None:
                raise
            # Its questions cannot be embedded any more, so it serves nobody.
            _log.warning("vector_set_unusable", name=serving.name, error=error.message)
            await self._take_over(connection, building)
        except (EmbedderUnavailable, EmbeddingFailed) as error:
            if building is None:
                raise
            _log.warning("embedding_waits", name=serving.name, error=str(error))
        return 0

    async def _fill(
        self, choice: Choice, vector_set: VectorSet, repositories: list[int], should_stop: Callable[[], bool], *, serves: bool
    ) -> int:
        done = 0
        for repository_id in repositories:
            if should_stop():
                break
            done += await embed_pending(self._connect, choice, vector_set, repository_id, serves=serves, should_stop=should_stop)
        return done

    async def _build(self, connection: Connection, building: VectorSet, should_stop: Callable[[], bool]) -> int:
        """Go on with the set that is built; when every published chunk is settled in it, it takes over."""
        choice = self._embedders.for_set(building)
        waiting = await vectors.waiting(connection, building.id)
        done = await self._fill(choice, building, waiting, should_stop, serves=False)
        complete = not should_stop() and not await vectors.waiting(connection, building.id)
        if complete and await self._index(connection, building):
            await self._take_over(connection, building)
        return done

    async def _take_over(self, connection: Connection, building: VectorSet) -> None:
        async with connection.transaction():
            promoted = await vector_sets.promote(connection, building.id)
            if promoted:
                await self._count_all(connection, building)
        if promoted:
            _log.info("vector_set_serving", name=building.name)

    async def _count_all(self, connection: Connection, serving: VectorSet) -> None:
        for repository_id in await vectors.repositories(connection):
            await vectors.refresh_counts(connection, repository_id, serving.id)

    async def _tidy(self, connection: Connection) -> None:
        """Build the index again where it is outgrown; remove sets that were replaced and cached vectors that nobody wants."""
        if monotonic() < self._tidy_at:
            return
        self._tidy_at = monotonic() + TIDY_SECONDS
        serving = await vector_sets.serving(connection)
        if serving is not None:
            await self._index(connection, serving)
        for retired in await vector_sets.retired(connection, GRACE_SECONDS):
            await vector_index.drop(connection, retired)
            removed, gone = await vector_sets.remove_some(connection, retired)
            metrics.count_removed("vector", removed)
            if gone:
                metrics.count_removed("vector_set", 1)
                _log.info("vector_set_removed", name=retired.name)
            else:
                self._tidy_at = 0.0
        metrics.count_removed("cached_vector", await vector_sets.forget_cached(connection, self._settings.cache_days))

    async def _index(self, connection: Connection, vector_set: VectorSet) -> bool:
        """Whether the set has the index it needs; False while another worker builds it."""
        if not await vector_index.is_outgrown(connection, vector_set, self._settings.exact_chunks):
            return True
        started = monotonic()
        built = await vector_index.build(connection, vector_set)
        if built:
            _log.info("vector_index_built", name=vector_set.name, seconds=round(monotonic() - started, 1))
        return built
