"""Analyses many files at once in processes that can be lost without losing more than the file they were busy with."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Final, Self

import structlog

from app.config import IndexSettings
from app.domain.analysis import SourceFile
from app.indexing.analyse import Extractor, Result, Unchanged
from app.indexing.extract import extract
from app.indexing.parser_process import ParserProcess, ParserStopped, ParserUnavailable, Request

__all__ = ["EXTRACTOR", "ParsePool", "ParserStopped", "ParserUnavailable", "Unchanged", "extractor_version"]

BATCH_FILES: Final = 32
BATCH_BYTES: Final = 2_000_000
"""A batch ends with the file that reaches either: what is in flight is bounded."""

BATCHES_EACH: Final = 4
"""Batches for each process at least, if there are files enough: of a few dozen files one process would wait for the other."""

_log: Final = structlog.get_logger(__name__)
_APP: Final = Path(__file__).parent.parent
_SOURCES: Final = (
    "domain/code.py",
    "domain/paths.py",
    "domain/words.py",
    "indexing",
    "languages",
)


def _code_digest() -> str:
    """Changes with every line that decides what is stored of a file, queries and language data included."""
    digest = hashlib.sha256()
    for source in _SOURCES:
        path = _APP / source
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in (".py", ".scm", ".toml"):
                digest.update(file.relative_to(_APP).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


EXTRACTOR: Final = _code_digest()
"""The version of everything that decides what is stored of a file, but for the settings."""


def extractor_version(settings: IndexSettings) -> str:
    """The version that file versions are stored under: another one means that the same bytes are to be analysed again."""
    decisive = (settings.chunk_lines, settings.chunk_bytes, settings.max_parse_bytes, settings.parse_seconds, settings.parse_memory_bytes)
    return f"{EXTRACTOR}-{hashlib.sha256(repr(decisive).encode()).hexdigest()[:8]}"


class ParsePool:
    """Parser processes, started when first needed. A context manager: leaving it ends them, at once if they are busy."""

    def __init__(self, settings: IndexSettings, extract: Extractor = extract) -> None:
        """``extract`` must be importable by name: the processes receive it pickled."""
        count = settings.parse_processes
        self.extractor: Final = extractor_version(settings)
        self._processes: Final = [ParserProcess(settings, extract) for _ in range(count)]
        self._free: Final[SimpleQueue[ParserProcess]] = SimpleQueue()
        for process in self._processes:
            self._free.put(process)
        self._threads: Final = ThreadPoolExecutor(count, thread_name_prefix="parse")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all processes; blocks until they are gone."""
        for process in self._processes:
            process.stop()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._processes:
            process.close()

    def warm(self) -> None:
        """Start the processes beside whatever the caller does next: the first file would wait for them. Does not block."""
        for _ in self._processes:
            self._threads.submit(self._prepare)

    def _prepare(self) -> None:
        process = self._free.get()
        try:
            process.prepare()
        except (ParserStopped, ParserUnavailable) as error:  # whoever needs it tries again, and is told
            _log.warning("parser_not_ready", reason=str(error))
        finally:
            self._free.put(process)

    def rest(self) -> None:
        """End the processes that have nothing to do, and with them what a large tree has left in their memory; blocks for a moment.

        They start again when they are needed.
        """
        for _ in self._processes:
            with suppress(Empty):
                process = self._free.get_nowait()
                process.rest()
                self._free.put(process)

    async def analyse_all(self, files: Sequence[SourceFile], known: Mapping[str, frozenset[bytes]]) -> AsyncIterator[Result]:
        """One result per file, in the order of ``files``; ``Unchanged`` for a file whose sha256 is among ``known[path]``.

        Reads ahead by a few batches and waits for its consumer then. Raises ParserUnavailable when no process can be started,
        ParserStopped when the pool is closed meanwhile.
        """
        loop = asyncio.get_running_loop()
        ahead: deque[asyncio.Future[list[Result]]] = deque()
        try:
            most = min(BATCH_FILES, 1 + len(files) // (BATCHES_EACH * len(self._processes)))
            for batch in _batches(files, known, most):
                ahead.append(loop.run_in_executor(self._threads, self._analyse, batch))
                if len(ahead) > 2 * len(self._processes):
                    for result in await ahead.popleft():
                        yield result
            while ahead:
                for result in await ahead.popleft():
                    yield result
        finally:
            for batch_result in ahead:
                batch_result.cancel()

    def _analyse(self, batch: list[Request]) -> list[Result]:
        process = self._free.get()
        try:
            return process.analyse(batch)
        finally:
            self._free.put(process)


def _batches(files: Iterable[SourceFile], known: Mapping[str, frozenset[bytes]], most: int) -> Iterator[list[Request]]:
    batch: list[Request] = []
    size = 0
    for file in files:
        batch.append(Request(file, known.get(file.path, frozenset())))
        size += file.size
        if len(batch) == most or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
