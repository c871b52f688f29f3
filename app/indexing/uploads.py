"""Takes uploaded archives in: to disk under a limit, into the repository's object store, and on to an index run."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from app.config import Settings
from app.domain.errors import Conflict, RepositoryNotFound, TooLarge
from app.domain.index import ARCHIVE, Job, Repository, RepositorySource, SourceKind
from app.ports import JobStore
from app.sources.archive import Imported, import_archive
from app.sources.mirrors import Mirrors
from app.storage.repositories import Repositories


class ArchiveUploads:
    """The ArchiveStore of this service."""

    def __init__(self, repositories: Repositories, jobs: JobStore, mirrors: Mirrors, settings: Settings) -> None:
        self._repositories = repositories
        self._jobs = jobs
        self._mirrors = mirrors
        self._settings = settings

    async def put(self, name: str, body: AsyncIterator[bytes], revision: str, strip: int) -> tuple[Job, bool, Imported]:
        """See ports.ArchiveStore."""
        repository = await self._repository(name)
        git = self._mirrors.git(repository)
        folder = git.directory.parent
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder) as file:  # without a name: the kernel takes it back however this process ends
            await self._receive(body, file.fileno())
            received = Path(f"/proc/self/fd/{file.fileno()}")
            imported = await asyncio.to_thread(
                import_archive, git, received, revision, strip, self._settings.index.max_file_bytes, self._settings.archive
            )
        await self._repositories.looked(repository.id, {ARCHIVE: revision})
        job, joined = await self._jobs.enqueue(name)
        return job, joined, imported

    async def _repository(self, name: str) -> Repository:
        try:
            stored = await self._repositories.get(name)
        except RepositoryNotFound:
            stored, _ = await self._repositories.put(name, RepositorySource(kind=SourceKind.ARCHIVE))
        if stored.source.kind is not SourceKind.ARCHIVE:
            raise Conflict(f"the files of {name!r} come from {stored.source.location}, not from archives", field="name")
        return stored

    async def _receive(self, body: AsyncIterator[bytes], handle: int) -> None:
        received = 0
        async for block in body:
            received += len(block)
            if received > self._settings.archive.max_bytes:
                raise TooLarge(f"the archive is larger than {self._settings.archive.max_bytes:,} bytes")
            await asyncio.to_thread(_write, handle, block)


def _write(handle: int, block: bytes) -> None:
    view = memoryview(block)
    while view:
        view = view[os.write(handle, view) :]
