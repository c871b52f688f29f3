"""One process that analyses files and may be lost at any time: to a grammar that hangs, a crash in C, a lack of memory.

The child answers file by file, so its parent knows which file it was busy with when it died. That file is tried once more in a fresh
process if it crashed (the cause may lie in what came before), and is then analysed as text. CPU time is limited by the kernel's profiling
timer: its default action ends the process even inside C code that never returns. The child dies with its parent.
"""

from __future__ import annotations

import fcntl
import gc
import multiprocessing
import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import structlog

from app.config import IndexSettings
from app.domain.analysis import SkippedFile, SourceFile
from app.domain.code import Extraction
from app.domain.index import SkipReason
from app.heap import give_back
from app.indexing.analyse import Extractor, Result, analyse
from app.languages.registry import LanguageSpec

START_SECONDS: Final = 120.0
WALL_FACTOR: Final = 12
"""Seconds of waiting per CPU second allowed: the process is niced, and searches come first."""

WALL_MINIMUM: Final = 60.0
SECONDS_PER_MEGABYTE: Final = 10.0
_NICENESS: Final = 10
_GARBAGE_OBJECTS: Final = 50_000  # a file's matches are tens of thousands of objects, none of them garbage until it is done
_EXIT_SECONDS: Final = 10.0
_LARGE_FILE: Final = 300_000  # bytes; its tree, symbols and words take some thirty times as much

_log: Final = structlog.get_logger(__name__)
_context: Final = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["__main__", __name__])
_process_table: Final = threading.Lock()
"""multiprocessing reaps every dead child when it starts one, and an exit status can be read only once."""


class ParserStopped(Exception):
    """The process was stopped while it was needed."""


class ParserUnavailable(Exception):
    """A parser process cannot be started; the message says why as far as known."""


@dataclass(frozen=True, slots=True)
class Request:
    """One file to analyse. ``failed`` is why parsing it came to nothing, so that it is analysed as text."""

    file: SourceFile
    known: frozenset[bytes]
    attempts: int = 0
    failed: SkipReason | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that the process could not analyse."""

    reason: SkipReason
    detail: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the child says about one file. Without a result it ends: it may be damaged."""

    result: Result | None
    failure: Failure | None = None


class ParserProcess:
    """A parser process as its parent sees it; started when first needed and again after each failure. Methods block."""

    def __init__(self, settings: IndexSettings, extract: Extractor) -> None:
        self._settings = settings
        self._extract = extract
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._stopped = False

    def analyse(self, requests: Sequence[Request]) -> list[Result]:
        """One result per request, in order. Raises ParserStopped, ParserUnavailable."""
        waiting = list(requests)
        results: list[Result] = []
        while len(results) < len(waiting):
            failure = self._run(waiting[len(results) :], results)
            if failure is not None:
                self._end_process()
                retry = self._after(waiting[len(results)], failure)
                if isinstance(retry, SkippedFile):
                    results.append(retry)
                else:
                    waiting[len(results)] = retry
        return results

    def prepare(self) -> None:
        """Start the process unless it runs. Raises ParserStopped, ParserUnavailable."""
        if self._connection is None:
            self._start()

    def rest(self) -> None:
        """End the process until it is needed again; not while ``analyse`` runs."""
        self._end_process()

    def stop(self) -> None:
        """Kill the process, from any thread: a call of ``analyse`` raises ParserStopped. ``close`` must follow."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """Kill the process and release what belongs to it; not while ``analyse`` runs."""
        self._stopped = True
        self._end_process()

    def _run(self, requests: Sequence[Request], results: list[Result]) -> Failure | None:
        """Append results until all are there, or until the process is lost to the next request."""
        idle = self._connection
        connection = idle or self._start()
        try:
            connection.send(requests)
        except OSError:
            if idle is None:
                return self._lost()
            self._end_process()  # it died while idle: no file is to blame
            return None
        for request in requests:
            reply = self._receive(connection, request)
            if reply.result is None:
                return reply.failure
            if reply.failure is not None:
                _warn(request, reply.failure)
            results.append(reply.result)
        return None

    def _receive(self, connection: Connection, request: Request) -> Reply:
        seconds = max(WALL_MINIMUM, WALL_FACTOR * self._settings.parse_seconds) + SECONDS_PER_MEGABYTE * request.file.size / 1_000_000
        try:
            if not connection.poll(seconds):
                return Reply(None, Failure(SkipReason.PARSE_TIMEOUT, f"no answer in {seconds:.0f} s"))
            reply: Reply = connection.recv()
        except (EOFError, OSError):
            return Reply(None, self._lost())
        return reply

    def _lost(self) -> Failure:
        """What the exit of the process says about the file that it was busy with."""
        if self._stopped:
            raise ParserStopped
        status = self._exit_status()
        timed_out = status == -signal.SIGPROF
        return Failure(SkipReason.PARSE_TIMEOUT if timed_out else SkipReason.PARSE_CRASH, f"exit status {status}")

    def _after(self, request: Request, failure: Failure) -> Request | SkippedFile:
        """What to do about the file that a process was lost to."""
        _warn(request, failure)
        if request.failed is not None:
            return SkippedFile(request.file.path, SkipReason.UNREADABLE)
        if failure.reason is SkipReason.PARSE_CRASH and request.attempts == 0:
            return replace(request, attempts=1)
        return replace(request, attempts=request.attempts + 1, failed=failure.reason)

    def _start(self) -> Connection:
        ours, theirs = _context.Pipe()
        process = _context.Process(target=serve, args=(theirs, self._settings, self._extract), name="fourfold-parser", daemon=True)
        with _process_table:
            process.start()
        theirs.close()
        self._process, self._connection = process, ours
        if self._stopped:
            raise ParserStopped
        try:
            ready = ours.poll(START_SECONDS) and ours.recv()
        except (EOFError, OSError):
            ready = False
        if ready:
            return ours
        if self._stopped:
            raise ParserStopped
        status = self._exit_status()
        self._end_process()
        raise ParserUnavailable(f"a parser process does not start (exit status {status})")

    def _exit_status(self) -> int | None:
        with _process_table:
            if self._process is None:
                return None
            self._process.join(_EXIT_SECONDS)
            return self._process.exitcode

    def _end_process(self) -> None:
        with _process_table:
            process, self._process = self._process, None
            connection, self._connection = self._connection, None
            if process is not None:
                process.kill()
                process.join(_EXIT_SECONDS)
        if connection is not None:
            connection.close()


def serve(connection: Connection, settings: IndexSettings, extract: Extractor) -> None:
    """The child: answers each request of each batch."""
    _isolate(settings.parse_memory_bytes)
    gc.freeze()
    gc.set_threshold(_GARBAGE_OBJECTS)
    connection.send(True)
    while True:
        try:
            requests: Sequence[Request] = connection.recv()
        except EOFError:
            return
        for request in requests:
            reply = _answer(request, settings, extract)
            connection.send(reply)
            if reply.result is None:
                return
            del reply
            if request.file.size > _LARGE_FILE:
                give_back()


def _answer(request: Request, settings: IndexSettings, extract: Extractor) -> Reply:
    def extract_in_time(spec: LanguageSpec, text: str) -> Extraction:
        signal.setitimer(signal.ITIMER_PROF, settings.parse_seconds)
        try:
            return extract(spec, text)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    try:
        return Reply(analyse(request.file, request.known, settings, extract_in_time, request.failed))
    except MemoryError:
        return Reply(None, Failure(SkipReason.PARSE_CRASH, "out of memory"))
    except Exception as error:  # noqa: BLE001 - whatever it is, the parent logs it and the file is reported
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = Failure(SkipReason.PARSE_ERROR, f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
    if request.failed is not None:
        return Reply(SkippedFile(request.file.path, SkipReason.UNREADABLE), failure)
    return Reply(_answer(replace(request, failed=failure.reason), settings, extract).result, failure)


def _warn(request: Request, failure: Failure) -> None:
    _log.warning("parse_failed", path=request.file.path, reason=failure.reason.value, attempt=request.attempts, detail=failure.detail)


def _isolate(memory_bytes: int) -> None:
    """Give way to searches, stay within bounds, and leave with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's; the parent decides when to end
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        limit = _address_space() + memory_bytes
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    _leave_with_parent()


def _leave_with_parent() -> None:
    """Have the kernel end this process, even inside C code, when the pipe to its parent breaks.

    The death signal of prctl would follow the fork server instead, which lives as long as any of its children does.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        raise RuntimeError("not a child of multiprocessing")
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(parent.sentinel, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(parent.sentinel, fcntl.F_SETFL, fcntl.fcntl(parent.sentinel, fcntl.F_GETFL) | os.O_ASYNC)
    if not parent.is_alive():  # it died before the pipe was watched
        os._exit(1)


def _address_space() -> int:
    """Bytes this process has mapped already; libraries reserve far more than they use."""
    with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - one line of a kernel file
        return int(statm.read().split()[0]) * resource.getpagesize()
