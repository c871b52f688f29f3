"""The embedding stage: gives every published chunk its vector, batch by batch, beside the searches that already run.

It is durable without a record of its own: what is stored is done, what has no row is still to do. A kill costs one batch. What holds a
secret is not sent to a provider, but withheld and counted.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.domain.errors import ConfigurationError
from app.domain.vectors import VectorSet
from app.embeddings.choice import Choice
from app.embeddings.document import document_text, text_hash
from app.embeddings.secrets import withheld_reason
from app.observability import metrics
from app.ports import Embedder, EmbeddingFailed
from app.storage import vectors
from app.storage.engine import Connection

ConnectionFactory: TypeAlias = Callable[[], AbstractAsyncContextManager[Connection]]

_BATCHES_PER_READ: Final = 16  # finding the chunks that wait reads every live chunk's key
_CHUNKS_PER_READ: Final = 4_096  # about 6 MB of text
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
    withheld: int = 0


async def embed_pending(
    connection_factory: ConnectionFactory,
    choice: Choice,
    vector_set: VectorSet,
    repository_id: int,
    *,
    serves: bool = True,
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: Callable[[EmbedProgress], None] = lambda _: None,
) -> int:
    """Embed until no chunk of the repository waits or ``should_stop`` says so; returns how many were settled, failures included.

    ``serves``: the repository's counts are those of this set. Does nothing when another worker embeds this repository. Holds one
    connection throughout, and commits each batch. Raises EmbeddingFailed when the model fails for any text, EmbedderUnavailable when
    the provider does, ConfigurationError when the model cannot be loaded or makes the vectors of another set.
    """
    if choice.embedder.name != vector_set.name:
        raise ConfigurationError(f"{choice.embedder.name} does not make the vectors of the set {vector_set.name}")
    async with connection_factory() as connection:
        if not await vectors.try_lock(connection, repository_id):
            return 0
        try:
            return await _Run(connection, choice, vector_set.id, repository_id, serves, on_progress).until_done(should_stop)
        finally:
            if not connection.is_closed():
                await vectors.unlock(connection, repository_id)


class _Run:
    def __init__(
        self,
        connection: Connection,
        choice: Choice,
        vector_set: int,
        repository_id: int,
        serves: bool,
        on_progress: Callable[[EmbedProgress], None],
    ) -> None:
        self._connection = connection
        self._choice = choice
        self._embedder = choice.embedder
        self._vector_set = vector_set
        self._repository_id = repository_id
        self._serves = serves
        self._on_progress = on_progress
        self._done = 0
        self._counted = 0
        self._count_at = 0.0

    async def until_done(self, should_stop: Callable[[], bool]) -> int:
        await self._count()
        size = self._choice.batch
        try:
            while not should_stop():
                read = max(size, min(size * _BATCHES_PER_READ, _CHUNKS_PER_READ))
                chunks = await vectors.pending(self._connection, self._repository_id, self._vector_set, read)
                if not chunks:
                    break
                for part in _batches(chunks, size):
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
        """Give each chunk its vector, its failure, or the reason why its text is kept here."""
        withheld = await asyncio.to_thread(_withheld, chunks) if self._choice.remote else {}
        kept = {chunk_id for ids in withheld.values() for chunk_id in ids}
        texts: dict[bytes, str] = {}
        chunk_ids: dict[bytes, list[int]] = {}
        for chunk in chunks:
            if chunk.chunk_id in kept:
                continue
            text = document_text(chunk.path, chunk.symbol, chunk.text)
            key = text_hash(text)
            texts[key] = text
            chunk_ids.setdefault(key, []).append(chunk.chunk_id)
        known = await vectors.cached(self._connection, self._embedder.name, texts) if self._choice.cached else {}
        missing = [key for key in texts if key not in known]
        outcomes = await self._outcomes([texts[key] for key in missing])
        outcome_of = dict(zip(missing, outcomes, strict=True))
        computed = {key: outcome for key, outcome in outcome_of.items() if not isinstance(outcome, str)}
        failed = {key: outcome for key, outcome in outcome_of.items() if isinstance(outcome, str)}
        async with self._connection.transaction():
            if computed and self._choice.cached:
                await vectors.remember(self._connection, self._embedder.name, computed)
            await self._store(known | computed, chunk_ids)
            for key, reason in failed.items():
                await vectors.record_failure(self._connection, self._repository_id, self._vector_set, chunk_ids[key], reason)
            for reason, ids in withheld.items():
                await vectors.withhold(self._connection, self._repository_id, self._vector_set, ids, reason)
        self._done += len(chunks)
        metrics.count_embeddings("computed", len(computed))
        metrics.count_embeddings("cached", len(chunks) - len(kept) - len(missing))
        metrics.count_embeddings("failed", len(failed))
        metrics.count_embeddings("withheld", len(kept))

    async def _outcomes(self, texts: Sequence[str]) -> list[Vector | str]:
        """What became of the texts; a provider may let us wait, and the counts must be right meanwhile."""
        embedding = asyncio.create_task(asyncio.to_thread(_embed_or_explain, self._embedder, texts))
        if self._counted < self._done:
            await asyncio.wait({embedding}, timeout=max(0.0, self._count_at - time.monotonic()))
            if not embedding.done():
                await self._count()
        return await embedding

    async def _store(self, vector_of: Mapping[bytes, Vector], chunk_ids: Mapping[bytes, Sequence[int]]) -> None:
        rows = [(chunk_id, vector) for key, vector in vector_of.items() for chunk_id in chunk_ids[key]]
        if rows:
            ids, bits = zip(*rows, strict=True)
            await vectors.store(self._connection, self._repository_id, self._vector_set, ids, np.stack(bits))

    async def _count(self) -> None:
        started = time.monotonic()
        counted = vectors.refresh_counts if self._serves else vectors.count
        counts = await counted(self._connection, self._repository_id, self._vector_set)
        self._counted = self._done
        took = time.monotonic() - started
        self._count_at = started + max(_COUNT_SECONDS, took / _COUNT_SHARE)
        self._on_progress(EmbedProgress(self._done, counts.pending, counts.failed, counts.withheld))


def _batches(chunks: Sequence[vectors.PendingChunk], size: int) -> Iterator[Sequence[vectors.PendingChunk]]:
    for start in range(0, len(chunks), size):
        yield chunks[start : start + size]


def _withheld(chunks: Sequence[vectors.PendingChunk]) -> dict[str, list[int]]:
    """Reason → the chunks whose text stays here for it."""
    found: dict[str, list[int]] = {}
    for chunk in chunks:
        reason = withheld_reason(chunk.path, chunk.text)
        if reason is not None:
            found.setdefault(reason, []).append(chunk.chunk_id)
    return found


def _embed_or_explain(embedder: Embedder, texts: Sequence[str]) -> list[Vector | str]:
    """Each text's vector, or why it has none. Raises EmbeddingFailed when the model, not a text, is at fault."""
    if not texts:
        return []
    try:
        return list(embedder.embed_documents(texts))
    except EmbeddingFailed:
        embedder.embed_documents([_HARMLESS])
    return list(_isolate(embedder, texts))


def _isolate(embedder: Embedder, texts: Sequence[str]) -> Iterator[Vector | str]:
    """Halve what fails until the text at fault stands alone."""
    try:
        yield from embedder.embed_documents(texts)
    except EmbeddingFailed as error:
        if len(texts) == 1:
            yield str(error)
            return
        middle = len(texts) // 2
        yield from _isolate(embedder, texts[:middle])
        yield from _isolate(embedder, texts[middle:])
