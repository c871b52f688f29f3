"""Runs git on a bare repository of this service's own; nothing that a remote or its files name is ever run.

There is no work tree, so that no hook, filter or attribute of a source can act, and no configuration but what is given here.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

LOCAL_SECONDS: Final = 300.0
_BLOCK: Final = 1 << 20

_OPTIONS: Final = (
    "--no-pager",
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.symlinks=false"),
    *("-c", "core.quotepath=off"),
    *("-c", "core.attributesFile=/dev/null"),
    *("-c", "safe.directory=*"),
    *("-c", "gc.autoDetach=false"),
    *("-c", "maintenance.auto=false"),
    *("-c", "http.followRedirects=false"),
    *("-c", "submodule.recurse=false"),
    *("-c", "fetch.unpackLimit=1"),  # what is fetched is one file, whose size can be bounded
)
_ADVICE: Final = ("Please make sure you have the correct access rights", "and the repository exists.")
"""What git adds to every failure over ssh; the reason stands before it."""

_processes: Final[set[subprocess.Popen[bytes]]] = set()
_processes_lock: Final = threading.Lock()
_lent: Final[dict[Path, int]] = {}
_KEPT: Final = ("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH")


class GitError(Exception):
    """git refused, is missing or took too long; the message is git's own, without secrets."""


class TooMuch(Exception):
    """git writes more than is wanted."""


def bounded_output(command: Sequence[str], environment: Mapping[str, str], most_bytes: int, folder: Path | None = None) -> bytes:
    """What a git writes, read only as far as it may be long; raises GitError and TooMuch."""
    with tempfile.TemporaryFile() as complaints:
        try:
            process = subprocess.Popen(  # noqa: S603 - fixed arguments, no shell
                command, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints
            )
        except OSError as error:
            raise GitError(f"git cannot be started: {error}") from error
        overdue = threading.Timer(LOCAL_SECONDS, process.kill)
        overdue.start()
        try:
            assert process.stdout is not None
            found = process.stdout.read(most_bytes + 1)
            if len(found) > most_bytes:
                raise TooMuch
            if process.wait() != 0:
                complaints.seek(0)
                raise GitError(complaint(complaints.read()) or f"git ended with status {process.returncode}")
            return found
        finally:
            overdue.cancel()
            process.kill()
            process.wait()
            process.stdout.close()  # type: ignore[union-attr]


class Git:
    """The git program, in one bare repository."""

    def __init__(self, directory: Path) -> None:
        self.directory: Final = directory

    def create(self) -> None:
        """Make the repository unless it is there; one that was only half made is finished."""
        if not (self.directory / "objects").is_dir() or not (self.directory / "HEAD").is_file():
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._checked(("init", "--bare", "--quiet", "--template=", str(self.directory)), b"", {}, LOCAL_SECONDS)

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        seconds: float = LOCAL_SECONDS,
        most_file_bytes: int | None = None,
    ) -> bytes:
        """What git writes; raises GitError with what it complains of, also when it would write a larger file than it may."""
        return self._checked((f"--git-dir={self.directory}", *arguments), stdin, environment or {}, seconds, most_file_bytes)

    def output(self, *arguments: str, most_bytes: int) -> bytes:
        """What git writes, if it is no more than so many bytes; raises GitError and TooMuch."""
        return bounded_output(["git", *_OPTIONS, f"--git-dir={self.directory}", *arguments], closed_environment(), most_bytes)

    def records(self, *arguments: str) -> Iterator[bytes]:
        """What git writes, cut at NUL, while it writes; whoever stops early ends it. Raises GitError."""
        process = self.start(*arguments)
        assert process.stdout is not None
        rest = b""
        try:
            while block := process.stdout.read1(_BLOCK):  # type: ignore[attr-defined]
                *whole, rest = (rest + block).split(b"\0")
                yield from whole
            complaints = process.communicate()[1]
            if process.returncode != 0:
                raise GitError(complaint(complaints) or f"git ended with status {process.returncode}")
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                pipe.close()  # type: ignore[union-attr]

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A git that goes on running, with pipes to its input and from its output."""
        command = ["git", *_OPTIONS, f"--git-dir={self.directory}", *arguments]
        try:
            return subprocess.Popen(  # noqa: S603 - fixed arguments, no shell
                command,
                env=closed_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=self._lent(),
            )
        except OSError as error:
            raise GitError(f"git cannot be started: {error}") from error

    def _lent(self) -> Sequence[int]:
        handle = _lent.get(self.directory)
        return () if handle is None else (handle,)

    def _checked(
        self,
        arguments: Sequence[str],
        stdin: bytes,
        environment: Mapping[str, str],
        seconds: float,
        most_file_bytes: int | None = None,
    ) -> bytes:
        command = ["git", *_OPTIONS, *arguments]
        try:
            process = subprocess.Popen(  # noqa: S603 - fixed arguments, no shell
                command,
                env=closed_environment(environment),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # git's helpers end with it
                pass_fds=self._lent(),
            )
        except OSError as error:
            raise GitError(f"git cannot be started: {error}") from error
        with process, _running(process):
            if most_file_bytes is not None:  # for its helpers too, which begin when it has read its input
                with suppress(ProcessLookupError):
                    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most_file_bytes, most_file_bytes))
            try:
                out, complaints = process.communicate(stdin, timeout=seconds)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise GitError(f"git took longer than {seconds:g} seconds") from None
        if process.returncode != 0:
            raise GitError(complaint(complaints) or f"git ended with status {process.returncode}")
        return out


@contextmanager
def lent(directory: Path, handle: int) -> Iterator[None]:
    """Every git that is started on the repository has this open file too, so that a lock on it lasts as long as the git."""
    _lent[directory] = handle
    try:
        yield
    finally:
        del _lent[directory]


@contextmanager
def _running(process: subprocess.Popen[bytes]) -> Iterator[None]:
    with _processes_lock:
        _processes.add(process)
    try:
        yield
    finally:
        with _processes_lock:
            _processes.discard(process)


def interrupt() -> None:
    """End every git that waits for a remote or works for long: whoever started it gets a GitError. For a process that is to stop."""
    with _processes_lock:
        for process in _processes:
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def complaint(stderr: bytes) -> str:
    """The last lines that git complained with; a remote's own words are marked by it as such."""
    lines = [line.strip() for line in stderr.decode("utf-8", "backslashreplace").splitlines()]
    lines = [line for line in lines if line and line not in _ADVICE]
    return "; ".join(lines[-3:])[:500]


def without_secrets() -> dict[str, str]:
    """The process's environment without git's own variables, which would point elsewhere, and without the secrets of this service."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "FOURFOLD_", "DATABASE_", "SSH_ASKPASS"))}


def closed_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """What a git of this service runs with: no configuration of the machine or of a user, no prompt, no transport unless it is given."""
    kept = without_secrets()
    kept |= {name: os.environ[name] for name in _KEPT if name in os.environ}
    closed = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "SSH_ASKPASS": "/bin/false",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }
    return kept | closed | dict(given or {})
