"""What an index run reads: a directory of this machine, or a commit in one of the service's own bare repositories.

A directory's files are read and hashed, since only their bytes tell whether they changed. A commit names its blobs by their content, so
that blobs which are known are not read at all; the others are put on disk in windows, for the parser processes.
"""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from app.config import IndexSettings
from app.domain.analysis import SkippedFile, SourceFile
from app.domain.index import RepositorySource
from app.indexing.analyse import Unchanged, content_digest, glance
from app.indexing.discover import Discovery, discover
from app.indexing.discover_commit import CommitSource, discover_commit
from app.indexing.seen import SeenFiles
from app.indexing.sniff import unsearchable
from app.sources.commit_tree import BlobReader
from app.storage.blobs import KnownBlob, known_blobs, remember_blobs
from app.storage.engine import Connection

WINDOW_BYTES: Final = 64_000_000
WINDOW_FILES: Final = 4_096

Known = Mapping[str, frozenset[bytes]]
"""The digests that the store has of each path."""


@dataclass(slots=True)
class Sorted:
    """``changed`` are to be analysed, ``settled`` are the results for all other files."""

    changed: list[SourceFile] = field(default_factory=list)
    settled: list[Unchanged | SkippedFile] = field(default_factory=list)


class SourceTree(Protocol):
    """One state of a source."""

    def discover(self) -> Discovery:
        """List it. Blocking; raises FileNotFoundError, NotADirectoryError, PermissionError or GitError when it cannot be read."""
        ...

    async def sort_out(self, files: Sequence[SourceFile], known: Known) -> Sorted:
        """Tell the files that must be analysed from the others."""
        ...

    def windows(self, changed: Sequence[SourceFile]) -> AsyncGenerator[Sorted, None]:
        """The changed files, window after window, each readable by the parser processes until the next is asked for."""
        ...

    async def finish(self) -> None:
        """Keep what was learned for the next run."""
        ...


class DirectoryTree:
    """The work tree or folder of a repository."""

    def __init__(self, source: RepositorySource, settings: IndexSettings, memory: SeenFiles) -> None:
        self._source = source
        self._settings = settings
        self._memory = memory

    def discover(self) -> Discovery:
        """See SourceTree."""
        return discover(self._source, self._settings.max_file_bytes)

    async def sort_out(self, files: Sequence[SourceFile], known: Known) -> Sorted:
        """See SourceTree. Without waking the parser processes; a first run has nothing to compare with."""
        return await asyncio.to_thread(self._sort_out, files, known) if known else Sorted(list(files))

    def _sort_out(self, files: Sequence[SourceFile], known: Known) -> Sorted:
        found = Sorted()
        for file in files:
            result = glance(file, known.get(file.path, frozenset()), self._settings, self._memory)
            if result is None:
                found.changed.append(file)
            else:
                found.settled.append(result)
        self._memory.keep({file.path for file in files})
        return found

    async def windows(self, changed: Sequence[SourceFile]) -> AsyncGenerator[Sorted, None]:
        """See SourceTree."""
        yield Sorted(list(changed))

    async def finish(self) -> None:
        """See SourceTree."""


class CommitTree:
    """The tree of one commit. ``spool`` is a directory for blobs that are being analysed."""

    def __init__(self, commit: CommitSource, settings: IndexSettings, connection: Connection, repository_id: int, extractor: str) -> None:
        self._commit = commit
        self._settings = settings
        self._connection = connection
        self._repository_id = repository_id
        self._extractor = extractor
        self._oids: Mapping[str, str] = {}
        self._learned: dict[str, KnownBlob] = {}

    def discover(self) -> Discovery:
        """See SourceTree."""
        found, self._oids = discover_commit(self._commit, self._settings.max_file_bytes)
        return found

    async def sort_out(self, files: Sequence[SourceFile], known: Known) -> Sorted:
        """See SourceTree. By the ids of the blobs alone."""
        blobs = await known_blobs(self._connection, self._repository_id, {self._oids[file.path] for file in files}, self._extractor)
        found = Sorted()
        for file in files:
            blob = blobs.get(self._oids[file.path])
            digest = content_digest(blob.sha256, file.attributes) if blob else b""
            if blob and blob.reason:
                found.settled.append(SkippedFile(file.path, blob.reason))
            elif digest in known.get(file.path, ()):
                found.settled.append(Unchanged(file.path, digest))
            else:
                found.changed.append(file)
        return found

    async def windows(self, changed: Sequence[SourceFile]) -> AsyncGenerator[Sorted, None]:
        """See SourceTree."""
        spool = self._commit.spool
        await asyncio.to_thread(shutil.rmtree, spool, True)  # what a killed run left
        spool.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = Path(tempfile.mkdtemp(dir=spool))
        try:
            with BlobReader(self._commit.git) as reader:
                for window in _windows(changed):
                    yield await asyncio.to_thread(self._write, window, folder, reader)
                    await asyncio.to_thread(_empty, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _write(self, window: Sequence[SourceFile], folder: Path, reader: BlobReader) -> Sorted:
        found = Sorted()
        for file in window:
            oid = self._oids[file.path]
            path = folder / oid
            if oid not in self._learned or not path.exists():
                data = reader.read(oid)
                self._learned[oid] = KnownBlob(hashlib.sha256(data).digest(), unsearchable(data))
                if not self._learned[oid].reason:
                    path.write_bytes(data)
            if reason := self._learned[oid].reason:
                found.settled.append(SkippedFile(file.path, reason))
            else:
                found.changed.append(SourceFile(file.path, str(path), file.attributes, file.size))
        return found

    async def finish(self) -> None:
        """See SourceTree."""
        await remember_blobs(self._connection, self._repository_id, self._learned, self._extractor)


def _windows(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    window: list[SourceFile] = []
    size = 0
    for file in files:
        window.append(file)
        size += file.size
        if size >= WINDOW_BYTES or len(window) >= WINDOW_FILES:
            yield window
            window, size = [], 0
    if window:
        yield window


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
