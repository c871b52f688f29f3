"""The files that a generation shows, kept in memory: whose chunk an id is, without asking the database for each.

And which files have a word in their names. A published generation never changes. About 500 bytes a file, and one for each chunk id
between its first and its last.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import asyncpg
import numpy as np
from numpy.typing import NDArray

from app.domain.code import PathClass
from app.domain.query import GenerationKey, Scope, Snapshot
from app.domain.ranking import FileKey
from app.storage.generation_memory import ready_of_all
from app.storage.kept import Kept
from app.storage.pool import Pool

MOST_FILES: Final = 400_000
"""Of all generations in memory; the one that was asked for longest ago goes first. The last is kept whatever its size."""

FILES: Final = """
    SELECT f.repository_id, f.file_id, f.path, f.language, f.path_class, v.first_chunk, v.chunks, v.name_words
    FROM file f JOIN file_version v ON v.repository_id = f.repository_id AND v.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    ORDER BY v.first_chunk, v.chunks
"""


_GOLDEN: Final = (5**0.5 - 1) / 2
"""Its multiples, taken without their whole part, fill a line evenly, however many there are."""

Names: TypeAlias = tuple[str, ...]
"""The words of a file's name."""


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A file that a generation shows."""

    key: FileKey
    file_id: int
    language: str | None
    path_class: PathClass

    @property
    def columns(self) -> tuple[FileKey, int, str | None, PathClass]:
        """All of it, in order."""
        return self.key, self.file_id, self.language, self.path_class


def file_of(row: asyncpg.Record) -> LiveFile:
    """The file that a row tells of in the columns ``repository_id``, ``file_id``, ``path``, ``language`` and ``path_class``."""
    return LiveFile(FileKey(row["repository_id"], row["path"]), row["file_id"], row["language"], PathClass(row["path_class"]))


class LiveFiles:
    """The files of one generation, by id and by the ids of their chunks, which are consecutive."""

    def __init__(self, files: Mapping[int, LiveFile], spans: NDArray[np.int64], names: Mapping[int, Names]) -> None:
        """``spans``, shape (files, 3): file id, first chunk id, number of chunks; in the order of the second. ``names`` by file id; equal
        ones may be one.

        ``chunks``: how many chunks the generation shows.
        """
        self._by_id = files
        self._names = names
        self._bearing: dict[Names, list[LiveFile]] = {}
        for file_id, name in names.items():
            self._bearing.setdefault(name, []).append(files[file_id])
        self._having: dict[str, list[Names]] = {}
        for name in self._bearing:
            for word in dict.fromkeys(name):
                self._having.setdefault(word, []).append(name)
        holding = spans[spans[:, 2] > 0]
        self._ids, self._first = holding[:, 0].tolist(), np.ascontiguousarray(holding[:, 1])
        self._end = self._first + holding[:, 2]
        self._spans = {file_id: (first, first + chunks) for file_id, first, chunks in spans.tolist()}
        self._shown = np.zeros(self._end[-1] - self._first[0] if len(holding) else 0, np.bool_)
        for first, end in zip(self._first.tolist(), self._end.tolist(), strict=True):
            self._shown[first - self._first[0] : end - self._first[0]] = True
        self.chunks = int(np.count_nonzero(self._shown))

    def __len__(self) -> int:
        return len(self._by_id)

    def by_id(self, file_id: int) -> LiveFile | None:
        """The file with this id, None if the generation does not show it."""
        return self._by_id.get(file_id)

    def named(self, words: Collection[str]) -> dict[Names, Sequence[LiveFile]]:
        """The names that have one of these words in them, each with the files that bear it."""
        return {name: self._bearing[name] for word in words for name in self._having.get(word, ())}

    def name_of(self, file_id: int) -> Names:
        """The words of a file's name."""
        return self._names.get(file_id, ())

    def of_chunks(self, chunk_ids: NDArray[Any]) -> list[LiveFile | None]:
        """For each chunk its file, None if the generation does not show it."""
        return [self._by_id[self._ids[at]] if at >= 0 else None for at in self._places(chunk_ids).tolist()]

    def shows(self, chunk_ids: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of these chunks the generation shows."""
        if not len(self._shown):
            return np.zeros(len(chunk_ids), np.bool_)
        at = chunk_ids.astype(np.int64) - self._first[0]
        shown: NDArray[np.bool_] = (at >= 0) & self._shown[np.clip(at, 0, len(self._shown) - 1)] & (at < len(self._shown))
        return shown

    def scattered(self, most: int) -> NDArray[np.int64]:
        """At most so many of the chunks, evenly over all of them; always the same, ascending."""
        counted = np.cumsum(self._end - self._first)
        if not len(counted):
            return np.empty(0, np.int64)
        numbers = np.unique((np.arange(most) * _GOLDEN % 1 * counted[-1]).astype(np.int64))
        at = np.searchsorted(counted, numbers, side="right")
        chunks: NDArray[np.int64] = self._end[at] - counted[at] + numbers
        return chunks

    def chunk_span(self, file_id: int) -> tuple[int, int]:
        """The ids of a file's chunks, from the first to before the second."""
        return self._spans[file_id]

    def _places(self, chunk_ids: NDArray[Any]) -> NDArray[np.int64]:
        """Where the chunks' files are in the order of chunk ids, -1 for none."""
        if not len(self._first):
            return np.full(len(chunk_ids), -1, np.int64)
        at = np.searchsorted(self._first, chunk_ids, side="right") - 1
        return np.where((at >= 0) & (chunk_ids < self._end[at]), at, -1)


class LiveFilesCache:
    """Reads the files of generations when they are first asked for."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._known: Kept[GenerationKey, LiveFiles] = Kept(len, MOST_FILES)

    async def of(self, scope: Scope) -> Mapping[int, LiveFiles]:
        """repository id → the files of its snapshot."""
        return {snapshot.repository_id: await self._of(snapshot) for snapshot in scope.snapshots}

    def ready(self, scope: Scope) -> Mapping[int, LiveFiles] | None:
        """The same without waiting: None while one of them is not in memory, and where they are too many for it."""
        if sum(snapshot.files for snapshot in scope.snapshots) > MOST_FILES:
            return None
        return ready_of_all(scope, self._ready)

    async def _of(self, snapshot: Snapshot) -> LiveFiles:
        return await self._known.get(snapshot.key, lambda: self._read(snapshot.key))

    def _ready(self, snapshot: Snapshot) -> LiveFiles | None:
        return self._known.ready(snapshot.key, lambda: self._read(snapshot.key))

    async def _read(self, key: GenerationKey) -> LiveFiles:
        async with self._pool.connection() as connection:
            rows = await connection.fetch(FILES, *key)
        files = {row["file_id"]: file_of(row) for row in rows}
        spans = np.array([(row["file_id"], row["first_chunk"], row["chunks"]) for row in rows], np.int64).reshape(-1, 3)
        shared: dict[Names, Names] = {}  # a hundred files are called tests.py
        names = {row["file_id"]: shared.setdefault(words, words) for row in rows if (words := tuple(map(sys.intern, row["name_words"])))}
        return LiveFiles(files, spans, names)
