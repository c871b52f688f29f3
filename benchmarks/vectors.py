"""How long the nearest vectors take: all compared, by the index, and under a filter that leaves one chunk in a hundred; and what the index
misses."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from app.config import Settings
from app.domain.index import RepositorySource
from app.domain.query import Classification, Filters, Intent, QueryTerms, RetrievalQuery, Scope
from app.domain.vectors import VectorSet
from app.retrievers.nearest import nearest
from app.retrievers.semantic import CHUNKS_KEPT, SemanticRetriever
from app.storage import vector_index
from app.storage.engine import Connection
from app.storage.live_files import LiveFilesCache
from app.storage.snapshots import Snapshots
from benchmarks import machine
from benchmarks.corpora import CORPORA, Missing
from benchmarks.store import Store, open_store, say

QUERIES: Final = 200
RECALL_AT: Final = 50
SHARE: Final = 0.01
_EVERYTHING: Final = 1_000_000_000

_QUESTIONS: Final = """
    SELECT doc FROM symbol WHERE length(doc) BETWEEN 30 AND 200 ORDER BY hashint8(symbol_id), repository_id, file_id, ordinal LIMIT $1
"""

_FOLDERS: Final = """
    SELECT split_part(f.path, '/', 1) || '/' || split_part(f.path, '/', 2) AS folder, sum(v.chunks)::int AS chunks
    FROM file f JOIN file_version v ON v.repository_id = f.repository_id AND v.file_id = f.file_id
    WHERE f.path LIKE '%/%/%' GROUP BY folder ORDER BY abs(sum(v.chunks) - $1), folder LIMIT 1
"""

_INDEX_BYTES: Final = "SELECT coalesce(sum(pg_relation_size(indexrelid)), 0)::bigint FROM pg_index WHERE indexrelid::regclass::text LIKE $1"


async def run(settings: Settings, arguments: argparse.Namespace) -> dict[str, Any]:
    """Index and embed the trees, then search among all their chunks; returns the figures as plain data. Raises Missing."""
    trees = arguments.trees or sorted(path for path in CORPORA.iterdir() if path.is_dir())
    if settings.embedder == "none" or not trees:
        raise Missing("the vectors command needs an embedder and a tree")
    async with open_store(settings, "vectors") as store:
        await store.prepare({_name(tree): RepositorySource(str(tree.resolve())) for tree in trees})
        return await measure(store)


async def measure(store: Store) -> dict[str, Any]:
    """The figures of a store whose repositories are indexed and embedded."""
    embedder = store.backend.embedder
    assert embedder is not None
    snapshots = Snapshots(store.backend.pool)
    async with store.backend.connect() as connection:
        built = await _indexed(connection, await snapshots.resolve(()))
        scope = await snapshots.resolve(())
        questions = [row["doc"] for row in await connection.fetch(_QUESTIONS, QUERIES)]
        queries = [embedder.embed_query(question) for question in questions]
        rows = await _rows(connection, store, scope, questions, queries)
        size = await connection.fetchval(_INDEX_BYTES, "embedding_hnsw%")
    return {
        "kind": "vectors",
        "machine": machine.facts(),
        "embedder": embedder.name,
        "repositories": len(scope.snapshots),
        "chunks": sum(snapshot.chunks for snapshot in scope.snapshots),
        "queries": len(questions),
        "index_seconds": built,
        "index_bytes": size,
        "rows": rows,
    }


def _name(tree: Path) -> str:
    return tree.resolve().name.lower()


async def _indexed(connection: Connection, scope: Scope) -> float | None:
    """Seconds to build the approximate index, None when it was there."""
    assert scope.vectors is not None
    if not await vector_index.is_outgrown(connection, scope.vectors, 0):
        return None
    began = perf_counter()
    await vector_index.build(connection, scope.vectors)
    say(f"built the index in {perf_counter() - began:.1f} s")
    return round(perf_counter() - began, 1)


async def _rows(
    connection: Connection, store: Store, scope: Scope, questions: Sequence[str], queries: Sequence[NDArray[np.float32]]
) -> list[dict[str, Any]]:
    chunks = sum(snapshot.chunks for snapshot in scope.snapshots)
    folder = await connection.fetchrow(_FOLDERS, int(chunks * SHARE))
    assert folder is not None
    narrow = Filters(paths=(f"{folder['folder']}/**",))
    rows = []
    for label, filters, kept in (
        ("all chunks", Filters(), RECALL_AT),
        ("all chunks", Filters(), CHUNKS_KEPT),
        (f"{folder['chunks'] / chunks:.1%} of the chunks", narrow, RECALL_AT),
        (f"{folder['chunks'] / chunks:.1%} of the chunks", narrow, CHUNKS_KEPT),
    ):
        exact = await _measure(connection, scope, filters, queries, kept, _EVERYTHING)
        approximate = await _measure(connection, scope, filters, queries, kept, 0)
        rows += [
            {"what": label, "way": "exact", "kept": kept, **_times(exact.milliseconds), "recall": 1.0},
            {"what": label, "way": "index", "kept": kept, **_times(approximate.milliseconds), "recall": _recall(approximate, exact)},
        ]
        say(f"{label}, {kept}: exact {rows[-2]['p50_ms']:.1f} ms, index {rows[-1]['p50_ms']:.1f} ms, recall {rows[-1]['recall']:.3f}")
    rows.append(
        {
            "what": "the whole retriever",
            "way": "as configured",
            "kept": CHUNKS_KEPT,
            **await _retriever(store, scope, questions),
            "recall": None,
        }
    )
    return rows


class _Found:
    """Of each query: the distances found, nearest first, and the time it took."""

    def __init__(self) -> None:
        self.distances: list[list[int]] = []
        self.milliseconds: list[float] = []


async def _measure(
    connection: Connection, scope: Scope, filters: Filters, queries: Sequence[NDArray[np.float32]], kept: int, exact_chunks: int
) -> _Found:
    found = _Found()
    vectors: VectorSet | None = scope.vectors
    assert vectors is not None
    for vector in [*queries[:5], *queries]:
        packed = np.packbits(vector > 0)
        began = perf_counter()
        rows = await nearest(connection, _query("", scope, filters), vectors, packed.tobytes(), kept, exact_chunks)
        found.milliseconds.append((perf_counter() - began) * 1_000)
        bits = np.frombuffer(b"".join(row["bits"].bytes for row in rows), np.uint8).reshape(len(rows), -1)
        found.distances.append(sorted(np.bitwise_count(bits ^ packed).sum(axis=1).tolist()))
    found.milliseconds, found.distances = found.milliseconds[5:], found.distances[5:]
    return found


def _recall(approximate: _Found, exact: _Found) -> float:
    """The share of the nearest that was found; of equally distant ones any will do."""
    shares = [
        sum(distance <= right[-1] for distance in given) / len(right)
        for given, right in zip(approximate.distances, exact.distances, strict=True)
        if right
    ]
    return round(float(np.mean(shares)), 4)


async def _retriever(store: Store, scope: Scope, questions: Sequence[str]) -> dict[str, float]:
    pool = store.backend.pool
    retriever = SemanticRetriever(pool, store.backend.embedders.for_set, LiveFilesCache(pool), store.settings.embedding)
    milliseconds = []
    for question in questions:
        began = perf_counter()
        await retriever.retrieve(_query(question, scope, Filters()))
        milliseconds.append((perf_counter() - began) * 1_000)
    return _times(milliseconds)


def _query(text: str, scope: Scope, filters: Filters) -> RetrievalQuery:
    terms = QueryTerms(single=False, terms={}, words=(), identifiers=(), wholes=frozenset())
    return RetrievalQuery(text, Classification(Intent.UNDERSTAND_CODE, 0.4, "fallback"), terms, filters, scope, None, 60_000)


def _times(milliseconds: Sequence[float]) -> dict[str, float]:
    return {"p50_ms": round(median(milliseconds), 2), "p95_ms": round(quantiles(milliseconds, n=20)[-1], 2)}
