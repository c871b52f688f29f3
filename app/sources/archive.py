"""Brings an uploaded archive into a bare repository, as one commit, by git's own importer.

No file of the archive is ever created by its name: it goes from the archive into the object store, so that no name, link or device can
reach anything else. The ref is moved last and at once: whoever reads sees the old archive or the new one, whole.
"""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, Self

from app.config import ArchiveSettings
from app.domain.errors import InvalidRequest, TooLarge
from app.domain.index import ARCHIVE
from app.sources.git import Git, GitError, complaint
from app.sources.writing import writing

REF: Final = "refs/archives/current"
MOST_NAMES: Final = 20
SMALLEST_BOMB: Final = 20_000_000
"""Bytes up to which an archive may unpack at any ratio."""

WAIT_SECONDS: Final = 30.0
"""For an archive of the same repository that is being read in."""

_BLOCK: Final = 1 << 20
_BROKEN: Final = (
    *(tarfile.TarError, zipfile.BadZipFile, gzip.BadGzipFile, zlib.error, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, ValueError, OverflowError),
)

MOST_HEADER_BYTES: Final = 1_000_000
"""Bytes of a tar's record of names and attributes at most; the reader holds it in memory."""

MOST_ENTRY_BYTES: Final = 1_000
"""Bytes of an entry in a zip's directory, on average at most; the reader holds the directory in memory."""

_LONG_RECORDS: Final = (*(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE), *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK))
_ZIP_ENTRY: Final = b"PK\1\2"
_ZIP_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_FORGET_AFTER: Final = 1_000


@dataclass(slots=True)
class Imported:
    """What was taken over, and what was left out: counts by reason and some of the names."""

    files: int = 0
    unpacked_bytes: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    names: list[str] = field(default_factory=list)

    def leave_out(self, name: bytes, reason: str) -> None:
        self.left_out[reason] += 1
        if len(self.names) < MOST_NAMES:
            self.names.append(name[:500].decode("utf-8", "backslashreplace"))


@dataclass(frozen=True, slots=True)
class _Member:
    name: bytes
    mode: str
    size: int
    content: IO[bytes] | bytes


def archive_revision(git: Git) -> tuple[str, str, str] | None:
    """(commit, ref, what the uploader called it) of the archive that is here; None before the first. Blocking."""
    with suppress(GitError):
        commit = git.run("rev-parse", "--verify", "--quiet", REF).strip().decode()
        return commit, ARCHIVE, git.run("log", "-1", "--format=%B", commit).decode().strip()
    return None


def import_archive(git: Git, path: Path, revision: str, strip: int, largest_file: int, limits: ArchiveSettings) -> Imported:
    """Let the archive at ``path`` be what the repository holds. Blocking.

    ``strip``: leading folders to take off each name; what has no more is left out. A file beyond ``largest_file`` bytes is kept only so far
    that it shows as too large. Raises InvalidRequest for what is no archive, TooLarge beyond a limit, and SourceUnavailable while another
    archive is being read in; then nothing changes.
    """
    with writing(git, wait_seconds=WAIT_SECONDS):
        git.create()
        return _import(git, path, revision, strip, largest_file, limits)


def _import(git: Git, path: Path, revision: str, strip: int, largest_file: int, limits: ArchiveSettings) -> Imported:
    imported = Imported()
    allowed = min(limits.max_unpacked_bytes, max(SMALLEST_BOMB, int(limits.max_ratio * path.stat().st_size)))
    process = git.start("fast-import", "--quiet", "--force", "--done", "--date-format=raw", "--max-pack-size=1g")
    try:
        assert process.stdin is not None
        _write_head(process.stdin, revision)
        for member in _members(path, imported, limits.max_files, allowed):
            if (name := _clean(member.name, strip)) is None:
                imported.leave_out(member.name, "unsafe_name" if strip == 0 else "unsafe_name_or_stripped")
                continue
            imported.files += 1
            imported.unpacked_bytes += member.size
            if imported.unpacked_bytes > allowed:
                raise _unpacks_to_more(allowed)
            _write_file(process.stdin, name, member, largest_file)
        process.stdin.write(b"done\n")
        process.stdin.close()
        if process.wait() != 0:
            raise GitError(_complaint(process))
    except _BROKEN as error:
        raise InvalidRequest(
            f"the archive is damaged or of a kind that is not read: {error or type(error).__name__}", field="body"
        ) from None
    except BrokenPipeError:
        raise GitError(_complaint(process)) from None
    finally:
        _end(process)
        for report in git.directory.glob("fast_import_crash_*"):
            report.unlink(missing_ok=True)
    git.run("gc", "--auto", "--quiet")
    return imported


def _unpacks_to_more(allowed: int) -> TooLarge:
    return TooLarge(f"the archive unpacks to more than {allowed:,} bytes")


def _holds_more(most_files: int) -> TooLarge:
    return TooLarge(f"the archive holds more than {most_files:,} files")


def _members(path: Path, imported: Imported, most_files: int, allowed: int) -> Iterator[_Member]:
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == b"\x1f\x8b":
        yield from _tar_members(path, imported, most_files, allowed)
    elif magic[:2] == b"PK":
        yield from _zip_members(path, imported, most_files)
    else:
        raise InvalidRequest("the body is neither a tar.gz nor a zip", field="body")


class _Unpacked(io.RawIOBase):
    """What a gzip file unpacks to, as far as it may: names, folders and gaps of a tar cost time like files."""

    def __init__(self, path: Path, most_bytes: int, allowed: int) -> None:
        self._file = gzip.open(path)  # noqa: SIM115 - closed with this
        self._left = most_bytes
        self._allowed = allowed

    def read(self, size: int = -1) -> bytes:
        block = self._file.read(size)
        self._left -= len(block)
        if self._left < 0:
            raise _unpacks_to_more(self._allowed)
        return block

    def close(self) -> None:
        self._file.close()
        super().close()


class _Item(tarfile.TarInfo):
    """A tar's header; one that would have much read into memory is refused."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        item = super().frombuf(buf, encoding, errors)
        if item.type in _LONG_RECORDS and item.size > MOST_HEADER_BYTES:
            raise TooLarge(f"the archive has a name or an attribute of more than {MOST_HEADER_BYTES:,} bytes")
        return item


def _tar_members(path: Path, imported: Imported, most_files: int, allowed: int) -> Iterator[_Member]:
    beside = (most_files + 1) * 2 * tarfile.BLOCKSIZE  # headers and padding
    with _Unpacked(path, allowed + beside, allowed) as unpacked, tarfile.open(fileobj=unpacked, mode="r|", tarinfo=_Item) as archive:
        for count, item in enumerate(archive, 1):
            if count > most_files:
                raise _holds_more(most_files)
            if count % _FORGET_AFTER == 0:
                archive.members = []  # type: ignore[attr-defined]  # the reader would keep every header
            name = item.name.encode("utf-8", "surrogateescape")
            if item.isreg():
                content = archive.extractfile(item)
                assert content is not None
                yield _Member(name, "100644", item.size, content)
            elif item.issym():  # kept as a link, which is reported and never followed
                target = item.linkname.encode("utf-8", "surrogateescape")
                yield _Member(name, "120000", len(target), target)
            elif not item.isdir():
                imported.leave_out(name, "hard_link" if item.islnk() else "special_file")


class _ZipFile(io.FileIO):
    """A zip's bytes; its directory, which the reader takes into memory as a whole, is looked at before."""

    def __init__(self, path: Path, most_files: int) -> None:
        super().__init__(path)
        self._most_files = most_files
        self.directory_is_read = False

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_SET and offset < 0:
            raise zipfile.BadZipFile("a place before its beginning")
        return super().seek(offset, whence)

    def read(self, size: int | None = -1) -> bytes:
        if self.directory_is_read:
            return super().read(size)
        if size is not None and size > self._most_files * MOST_ENTRY_BYTES:
            raise _holds_more(self._most_files)
        block = super().read(size)
        if block.count(_ZIP_ENTRY) > self._most_files:
            raise _holds_more(self._most_files)
        return block


def _zip_members(path: Path, imported: Imported, most_files: int) -> Iterator[_Member]:
    with _ZipFile(path, most_files) as file, zipfile.ZipFile(file) as archive:
        file.directory_is_read = True
        for item in archive.infolist():
            name = item.filename.encode("utf-8", "surrogateescape")
            is_link = (item.external_attr >> 16) & 0o170000 == 0o120000
            if item.is_dir():
                continue
            if item.flag_bits & 1:
                imported.leave_out(name, "encrypted")
                continue
            if item.compress_type not in _ZIP_METHODS:  # others can ask for gigabytes of memory
                imported.leave_out(name, "compression")
                continue
            with archive.open(item) as content:
                yield _Member(name, "120000" if is_link else "100644", item.file_size, content)


def _clean(name: bytes, strip: int) -> bytes | None:
    """The name to keep; None for one that is absolute, leads upwards or into git's own folder, or has nothing left."""
    if name.startswith(b"/") or b"\0" in name:
        return None
    parts = [part for part in name.split(b"/") if part not in (b"", b".")]
    if any(part == b".." or part.lower() == b".git" for part in parts):
        return None
    return b"/".join(parts[strip:]) or None


def _write_head(stream: IO[bytes], revision: str) -> None:
    message = revision.encode()
    stream.write(
        b"commit %s\ncommitter fourfold <fourfold@localhost> 0 +0000\ndata %d\n%s\ndeleteall\n" % (REF.encode(), len(message), message)
    )


def _write_file(stream: IO[bytes], name: bytes, member: _Member, largest: int) -> None:
    quoted = name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    kept = min(member.size, largest + 1)
    stream.write(b'M %s inline "%s"\ndata %d\n' % (member.mode.encode(), quoted, kept))
    if isinstance(member.content, bytes):
        stream.write(member.content[:kept])
    else:
        left = kept
        while left:
            block = member.content.read(min(left, _BLOCK))
            if not block:
                raise EOFError("a file is shorter than the archive says")
            stream.write(block)
            left -= len(block)
    stream.write(b"\n")


def _complaint(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None
    process.kill()
    return complaint(process.stderr.read()) or "git's importer ended"


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        with suppress(OSError, ValueError):
            pipe.close()  # type: ignore[union-attr]
    process.kill()
    process.wait()
