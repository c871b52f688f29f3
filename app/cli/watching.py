"""Follows a directory and has every change of it indexed."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Final

from watchfiles import DefaultFilter, awatch

from app.cli.indexing import finished
from app.cli.printing import err, print_index_report
from app.domain.errors import Conflict, FourfoldError
from app.domain.index import Job, RepositorySource
from app.worker_process import running_worker

if TYPE_CHECKING:
    from app.http.service import Service

QUIET_MS: Final = 200
"""Changes are gathered until none came for so long, so that a checkout of many files is one run."""

GATHER_MS: Final = 2_000
"""But never longer than this."""


_METADATA_FOLDERS: Final = (".git", ".hg", ".svn", ".jj")
_IGNORED_FOLDERS: Final = ("node_modules", "__pycache__")


async def follow(service: Service, name: str, source: RepositorySource) -> None:
    """Index a directory after each burst of changes, until SIGINT or SIGTERM. A run that fails is shown and the next change tried.

    The kernel tells of changes where it can; directories on network drives are polled.
    """
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    err.print(f"watching {source.path}; Ctrl-C ends it", markup=False)
    async with running_worker():
        async for _ in awatch(source.path, watch_filter=_relevant(source), step=QUIET_MS, debounce=GATHER_MS, stop_event=stop):
            try:
                job = await finished(service, await _enqueued(service, name), own_worker=False)
                print_index_report(await service.repositories.get(name), job)
            except FourfoldError as error:
                err.print(f"{error.message}", markup=False, style="red")


async def _enqueued(service: Service, name: str) -> Job:
    """A job that begins after now: one that is claimed at this moment may have read the tree already."""
    while True:
        try:
            return (await service.jobs.enqueue(name))[0]
        except Conflict:
            await asyncio.sleep(QUIET_MS / 1_000)


def _relevant(source: RepositorySource) -> DefaultFilter:
    """Everything but the folders of version control, and those that are nearly always ignored: what else is ignored costs a look at
    the tree, not an index run of it."""
    ignored = _IGNORED_FOLDERS if source.respect_ignore else ()
    return DefaultFilter(ignore_dirs=(*_METADATA_FOLDERS, *ignored), ignore_entity_patterns=(), ignore_paths=())
