"""The dependency graph as ranking reads it, in memory: how central the chunks of a generation are, and which of its files are linked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from app.domain.query import GenerationKey
from app.storage.engine import Connection
from app.storage.generation_memory import GenerationMemory
from app.storage.pool import Pool

MOST_ENTRIES: Final = 4_000_000
"""Chunks and links of all generations in memory, 8 and 28 bytes each; the one that was asked for longest ago goes first."""

CENTRALITIES_OF_ALL: Final = """
    SELECT string_agg(int4send(b.chunk_id), '' ORDER BY b.chunk_id) AS chunks,
           string_agg(float4send(b.value), '' ORDER BY b.chunk_id) AS centralities
    FROM (
        SELECT s.chunk_id, max(c.value) AS value
        FROM symbol s
        JOIN centrality c ON c.repository_id = s.repository_id AND c.symbol_id = s.symbol_id
        WHERE s.repository_id = $1 AND c.branch_id = $2 AND c.from_gen <= $3 AND c.to_gen > $3
        GROUP BY s.chunk_id
    ) b
"""

LINKS_OF_ALL: Final = """
    SELECT string_agg(int4send(l.file_id), '' ORDER BY l.file_id) AS sources,
           string_agg(int4send(f.file_id), '' ORDER BY l.file_id) AS targets,
           string_agg(int4send(l.edges), '' ORDER BY l.file_id) AS edges
    FROM (
        SELECT DISTINCT file_id, target, edges FROM file_link
        WHERE repository_id = $1 AND branch_id = $2 AND from_gen <= $3 AND to_gen > $3
    ) l
    JOIN file f ON f.repository_id = $1 AND f.branch_id = $2 AND f.path = l.target AND f.from_gen <= $3 AND f.to_gen > $3
"""

Numbers: TypeAlias = NDArray[np.int32]


class Graph:
    """The centralities and links of one generation."""

    def __init__(self, chunks: Numbers, centralities: NDArray[np.float32], links: Links) -> None:
        """``chunks`` are ascending ids, and those of no centrality are not among them."""
        self._chunks = chunks
        self._centralities = centralities
        self._links = links

    def __len__(self) -> int:
        return len(self._chunks) + len(self._links.sources)

    def centralities(self, chunk_ids: Sequence[int]) -> Iterator[tuple[int, float]]:
        """Those of these chunks that have one, each with it."""
        if not len(self._chunks):
            return
        at = np.searchsorted(self._chunks, chunk_ids).clip(max=len(self._chunks) - 1)
        for wanted, found, value in zip(chunk_ids, self._chunks[at].tolist(), self._centralities[at].tolist(), strict=True):
            if wanted == found:
                yield wanted, value

    def links(self, best: Sequence[int], others: Sequence[int]) -> set[tuple[int, int, int]]:
        """(source, target, edges) between files of ``best`` and files of ``others``, in either direction."""
        return {*self._links.between(best, others, forward=True), *self._links.between(best, others, forward=False)}


@dataclass(frozen=True, slots=True)
class Links:
    """The links between files by their ids: in the order of ``sources``, and ``by_target`` the places in the order of ``targets``."""

    sources: Numbers
    targets: Numbers
    edges: Numbers
    by_target: NDArray[np.int64]
    targets_in_order: Numbers

    @classmethod
    def of(cls, sources: Numbers, targets: Numbers, edges: Numbers) -> Links:
        """``sources`` are ascending."""
        by_target = np.argsort(targets, kind="stable")
        return cls(sources, targets, edges, by_target, targets[by_target])

    def between(self, best: Sequence[int], others: Sequence[int], *, forward: bool) -> Iterator[tuple[int, int, int]]:
        """Those from ``best`` to ``others``, or else from ``others`` to ``best``."""
        ends = self.sources if forward else self.targets_in_order
        spans = zip(np.searchsorted(ends, best).tolist(), np.searchsorted(ends, best, side="right").tolist(), strict=True)
        at = np.concatenate([np.arange(start, end) for start, end in spans]) if best else np.empty(0, np.int64)
        if not forward:
            at = self.by_target[at]
        at = at[np.isin((self.targets if forward else self.sources)[at], others)]
        return zip(self.sources[at].tolist(), self.targets[at].tolist(), self.edges[at].tolist(), strict=True)


class GraphMemory(GenerationMemory[Graph]):
    """Keeps the graphs of the generations that were asked for last."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, len, MOST_ENTRIES)

    async def read(self, connection: Connection, key: GenerationKey) -> Graph:
        """See GenerationMemory."""
        central = await connection.fetchrow(CENTRALITIES_OF_ALL, *key)
        linked = await connection.fetchrow(LINKS_OF_ALL, *key)
        assert central is not None
        assert linked is not None
        links = Links.of(*(_numbers(linked[name], ">i4").astype(np.int32) for name in ("sources", "targets", "edges")))
        return Graph(
            _numbers(central["chunks"], ">i4").astype(np.int32), _numbers(central["centralities"], ">f4").astype(np.float32), links
        )


def _numbers(sent: bytes | None, kind: str) -> NDArray[Any]:
    """What PostgreSQL has sent one after the other; nothing where there was no row."""
    return np.frombuffer(sent or b"", kind)
