"""What a file means as a whole: one bit vector per file, the majority of its chunks' bits.

The best chunks of a file say that it touches the subject, its centre that it is about it (docs/ranking.md). A version of a file never
changes, so its centre is kept in memory once all its chunks have their vectors.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.vectors import VectorSet, asymmetric_scores, stacked
from app.storage.engine import Connection

FILES_KEPT: Final = 50_000
"""Centres in memory, about 300 bytes each."""

MOST_CHUNKS: Final = 200
"""Of a longer file the beginning speaks for the rest."""

CHUNK_BITS: Final = f"""
    SELECT w.repository_id, w.file_id, c.bits
    FROM unnest($1::int[], $2::int[]) AS w(repository_id, file_id)
    CROSS JOIN LATERAL (
        SELECT e.bits
        FROM (
            SELECT k.chunk_id FROM chunk k WHERE k.repository_id = w.repository_id AND k.file_id = w.file_id
            ORDER BY k.start_line LIMIT {MOST_CHUNKS}
        ) k
        LEFT JOIN embedding e ON e.repository_id = w.repository_id AND e.vector_set = $3 AND e.chunk_id = k.chunk_id
    ) c
"""

FileId = tuple[int, int]  # repository id, file id


@dataclass(frozen=True, slots=True)
class FileBits:
    """The vectors of a file's chunks, shape (n, bits / 8); ``complete``: every chunk has one."""

    packed: NDArray[np.uint8]
    complete: bool


ReadBits = Callable[[Sequence[FileId]], Awaitable[Mapping[FileId, FileBits]]]


class FileCentres:
    """Compares questions with whole files."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[int, FileId], bytes] = OrderedDict()

    async def cosines(
        self, vectors: VectorSet, files: Sequence[FileId], vector: NDArray[np.float32], read: ReadBits
    ) -> Mapping[FileId, float]:
        """File → cosine of its centre and ``vector``; files without any embedded chunk are left out. ``read`` is asked for unknown ones."""
        centres = {file: self._known[vectors.id, file] for file in files if (vectors.id, file) in self._known}
        missing = [file for file in files if file not in centres]
        for file, chunks in (await read(missing)).items() if missing else ():
            centres[file] = majority(chunks.packed)
            if chunks.complete:
                self._keep(vectors, file, centres[file])
        if not centres:
            return {}
        return dict(zip(centres, asymmetric_scores(vector, stacked(list(centres.values()))).tolist(), strict=True))

    def _keep(self, vectors: VectorSet, file: FileId, centre: bytes) -> None:
        self._known[vectors.id, file] = centre
        while len(self._known) > FILES_KEPT:
            self._known.popitem(last=False)


async def read_bits(connection: Connection, vectors: VectorSet, files: Sequence[FileId]) -> Mapping[FileId, FileBits]:
    """The bits of the files' chunks from the database."""
    rows = await connection.fetch(CHUNK_BITS, [file[0] for file in files], [file[1] for file in files], vectors.id)
    chunks: dict[FileId, list[bytes | None]] = defaultdict(list)
    for row in rows:
        chunks[row["repository_id"], row["file_id"]].append(None if row["bits"] is None else row["bits"].bytes)
    found = {}
    for file, bits in chunks.items():
        embedded = [item for item in bits if item is not None]
        if embedded:
            found[file] = FileBits(stacked(embedded), len(embedded) == len(bits))
    return found


def majority(packed: NDArray[np.uint8]) -> bytes:
    """The bits that at least half of these bit vectors, shape (n, bits / 8), have; packed as they are."""
    bits = np.unpackbits(packed, axis=1)
    return np.packbits(2 * bits.sum(axis=0, dtype=np.int64) >= len(packed)).tobytes()
