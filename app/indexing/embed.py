"""The embedding stage: gives every published chunk its vector, batch by batch, beside the searches that already run.

It is durable without a record of its own: what is stored is done, what has no row is still to do. A kill costs one batch.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.embeddings.document import document_text, text_hash
from app.observability import metrics
from app.ports import Embedder, EmbeddingFailed
from app.storage import vectors
from app.storage.engine import Connection

ConnectionFactory: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]

_BATCHES_PER_READ: Final = 16  # finding the chunks that wait reads every live chunk's key
_COUNT_SECONDS: Final = 2.0  # so does counting them: not sooner than this, and at most a twentieth of the time
_COUNT_SHARE: Final = 1 / 20
_HARMLESS: Final = "a"

Vector: TypeAlias = NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class EmbedProgress:
    """Chunks settled by this run; those that still wait and those that failed are the repository's."""

    done: int
    pending: int
    failed: int


async def embed_pending(
    connection_factory: ConnectionFactory,
    embedder: Embedder,
    repository_id: int,
    *,
    batch: int = 32,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
) -> int:
    """Embed until no chunk of the repository waits or ``should_stop`` says so; returns how many were settled, failures included.

    Does nothing when another worker embeds this repository. Holds one connection throughout, and commits each batch. Raises
    EmbeddingFailed when the model fails for any text, ConfigurationError when it cannot be loaded.
    """
    async with connection_factory() as connection:
        if not await vectors.try_lock(connection, repository_id):
            return 0
        try:
            return await _Run(connection, embedder, repository_id, on_progress).until_done(batch, should_stop)
        finally:
            if not connection.is_closed():
                await vectors.unlock(connection, repository_id)


class _Run:
    def __init__(
        self, connection: Connection, embedder: Embedder, repository_id: int, on_progress: Callable[[EmbedProgress], None]
    ) -> None:
        self._connection = connection
        self._embedder = embedder
        self._repository_id = repository_id
        self._on_progress = on_progress
        self._done = 0
        self._count_at = 0.0

    async def until_done(self, batch: int, should_stop: Callable[[], bool]) -> int:
        await self._count()
        try:
            while not should_stop():
                chunks = await vectors.pending(self._connection, self._repository_id, self._embedder.name, batch * _BATCHES_PER_READ)
                if not chunks:
                    break
                for part in _batches(chunks, batch):
                    if should_stop():
                        break
                    await self._settle(part)
                    if time.monotonic() >= self._count_at:
                        await self._count()
        finally:
            if not self._connection.is_closed():
                await self._count()
        return self._done

    async def _settle(self, chunks: Sequence[vectors.PendingChunk]) -> None:
        """Give each chunk its vector or its failure."""
        vector_set = self._embedder.name
        texts: dict[bytes, str] = {}
        chunk_ids: dict[bytes, list[int]] = {}
        for chunk in chunks:
            text = document_text(chunk.path, chunk.symbol, chunk.text)
            key = text_hash(text)
            texts[key] = text
            chunk_ids.setdefault(key, []).append(chunk.chunk_id)
        known = await vectors.cached(self._connection, vector_set, texts)
        missing = [key for key in texts if key not in known]
        outcomes = await asyncio.to_thread(_embed_or_explain, self._embedder, [texts[key] for key in missing])
        computed = {key: outcome for key, outcome in zip(missing, outcomes, strict=True) if not isinstance(outcome, str)}
        failed = {key: outcome for key, outcome in zip(missing, outcomes, strict=True) if isinstance(outcome, str)}
        vector_of = known | computed
        rows = [(chunk_id, vector) for key, vector in vector_of.items() for chunk_id in chunk_ids[key]]
        async with self._connection.transaction():
            if computed:
                await vectors.remember(self._connection, vector_set, computed)
            if rows:
                ids, bits = zip(*rows, strict=True)
                await vectors.store(self._connection, self._repository_id, vector_set, ids, np.stack(bits))
            for key, reason in failed.items():
                await vectors.record_failure(self._connection, self._repository_id, vector_set, chunk_ids[key], reason)
        self._done += len(chunks)
        metrics.count_embeddings("computed", len(computed))
        metrics.count_embeddings("cached", len(chunks) - len(missing))
        metrics.count_embeddings("failed", len(failed))

    async def _count(self) -> None:
        started = time.monotonic()
        counts = await vectors.refresh_counts(self._connection, self._repository_id, self._embedder.name)
        took = time.monotonic() - started
        self._count_at = started + max(_COUNT_SECONDS, took / _COUNT_SHARE)
        self._on_progress(EmbedProgress(self._done, counts.pending, counts.failed))


def _batches(chunks: Sequence[vectors.PendingChunk], size: int) -> Iterator[Sequence[vectors.PendingChunk]]:
    for start in range(0, len(chunks), size):
        yield chunks[start : start + size]


def _embed_or_explain(embedder: Embedder, texts: Sequence[str]) -> list[Vector | str]:
    """Each text's vector, or why it has none. Raises EmbeddingFailed when the model, not a text, is at fault."""
    outcomes = list(_isolate(embedder, texts))
    if any(isinstance(outcome, str) for outcome in outcomes):
        embedder.embed_documents([_HARMLESS])
    return outcomes


def _isolate(embedder: Embedder, texts: Sequence[str]) -> Iterator[Vector | str]:
    """Halve what fails until the text at fault stands alone."""
    if not texts:
        return
    try:
        yield from embedder.embed_documents(texts)
    except EmbeddingFailed as error:
        if len(texts) == 1:
            yield str(error)
            return
        middle = len(texts) // 2
        yield from _isolate(embedder, texts[:middle])
        yield from _isolate(embedder, texts[middle:])
