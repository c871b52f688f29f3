"""Lists what a commit holds and reads its blobs, straight from the object store."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from app.domain.errors import TooLarge
from app.sources.git import Git, GitError, complaint

ATTRIBUTES: Final = ("linguist-generated", "linguist-vendored")

MOST_ENTRIES: Final = 1_000_000
MOST_PATH_BYTES: Final = 200_000_000

LINK: Final = "120000"
COMMIT: Final = "160000"


@dataclass(frozen=True, slots=True)
class Entry:
    """One path of a commit's tree: mode and object id as git writes them; ``size`` in bytes, None for what is no blob."""

    path: bytes
    mode: str
    oid: str
    size: int | None


def entries(git: Git, commit: str, prefix: bytes = b"") -> list[Entry]:
    """Everything in a commit's tree but folders, in git's order; ``prefix`` is put before the paths. Raises GitError and TooLarge.

    A few small trees that hold each other again and again are billions of files.
    """
    found: list[Entry] = []
    path_bytes = 0
    for line in git.records("ls-tree", "-r", "-z", "-l", "--full-tree", commit):
        fields, _, path = line.partition(b"\t")
        path_bytes += len(path)
        if len(found) == MOST_ENTRIES or path_bytes > MOST_PATH_BYTES:
            raise TooLarge(f"the commit holds more than {MOST_ENTRIES:,} files, or their paths more than {MOST_PATH_BYTES:,} bytes")
        mode, kind, oid, size = fields.decode().split()
        found.append(Entry(prefix + path, mode, oid, int(size) if kind == "blob" else None))
    return found


def attributes(git: Git, commit: str, paths: Sequence[bytes], spool: Path) -> Mapping[bytes, Mapping[str, bool]]:
    """What the commit's own ``.gitattributes`` say of each path that they say anything about. ``spool``: a directory to work in."""
    if not paths:
        return {}
    spool.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=spool) as folder:
        environment = {"GIT_INDEX_FILE": f"{folder}/index"}
        git.run("read-tree", commit, environment=environment)
        answer = git.run("check-attr", "--cached", "-z", "--stdin", *ATTRIBUTES, stdin=b"\0".join(paths) + b"\0", environment=environment)
    fields = answer.removesuffix(b"\0").split(b"\0")
    found: dict[bytes, dict[str, bool]] = {}
    for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
        if value != b"unspecified":
            found.setdefault(path, {})[name.decode()] = value in (b"set", b"true")
    return found


class BlobReader:
    """One running ``git cat-file`` that is asked for blob after blob; a context manager. Methods block and raise GitError."""

    def __init__(self, git: Git) -> None:
        self._git = git
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is None:
            return
        with suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            pipe.close()  # type: ignore[union-attr]
        self._process = None

    def read(self, oid: str) -> bytes:
        """The bytes of a blob."""
        if self._process is None:
            self._process = self._git.start("cat-file", "--batch")
        pipes = self._process.stdin, self._process.stdout
        assert pipes[0] is not None
        assert pipes[1] is not None
        try:
            pipes[0].write(oid.encode() + b"\n")
            pipes[0].flush()
            header = pipes[1].readline().split()
            if len(header) != 3:
                raise GitError(f"object {oid} cannot be read: {self._complaint() if not header else b' '.join(header).decode()}")
            size = int(header[2])
            data = pipes[1].read(size + 1)
        except OSError as error:
            raise GitError(f"object {oid} cannot be read: {error}") from error
        if len(data) != size + 1:
            raise GitError(f"object {oid} is cut short: {self._complaint()}")
        return data[:-1]

    def _complaint(self) -> str:
        assert self._process is not None
        self._process.kill()
        return complaint(self._process.communicate()[1])
