"""Everything that is done to one file: read → hash → sniff → decode → language → extract → chunk → count terms.

Runs in the parser processes (``parser_process.py``); nothing in here knows about them.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import time_ns
from typing import Final, NamedTuple, TypeAlias

from app.config import IndexSettings
from app.domain.analysis import FileAnalysis, SkippedFile, SourceFile
from app.domain.code import Extraction, Outcome
from app.domain.facts import identify
from app.domain.index import SkipReason
from app.domain.paths import path_class
from app.domain.words import file_name_words, symbol_words
from app.indexing.chunk import chunk, chunk_of_line
from app.indexing.decode import decode
from app.indexing.manifests import manifest_imports
from app.indexing.postings import count_terms
from app.indexing.seen import Seen, SeenFiles, Stamp
from app.indexing.sniff import is_generated, is_minified, unsearchable
from app.languages.registry import LanguageSpec, language_of

Extractor: TypeAlias = Callable[[LanguageSpec, str], Extraction]
"""Reads a text's syntax tree (``extract.extract``)."""

HEAD: Final = 8_192
"""Characters from the beginning that may decide the language."""

_BLOCK: Final = 1 << 16

MOSTLY_ERRORS: Final = 0.5
"""Share of a file that fits nowhere in the grammar, from which on its symbols are reported as doubtful."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """A file whose content the store already has for this path."""

    path: str
    sha256: bytes


Result: TypeAlias = FileAnalysis | SkippedFile | Unchanged


def analyse(
    file: SourceFile,
    known: frozenset[bytes],
    settings: IndexSettings,
    extract: Extractor,
    failed: SkipReason | None = None,
) -> Result:
    """What the store needs to know of a file, unless its sha256 is in ``known``.

    ``failed`` is why an earlier attempt to parse it came to nothing: it is then analysed as text. Raises what ``extract`` raises.
    """
    read = _read(file.absolute, settings.max_file_bytes)
    if isinstance(read, SkipReason):
        return SkippedFile(file.path, read)
    seen = _seen(read, file, known)
    settled = _settled(file, known, seen)
    return settled or _analyse_text(file, read.data, content_digest(seen.sha256, file.attributes), settings, extract, failed)


def glance(file: SourceFile, known: frozenset[bytes], settings: IndexSettings, memory: SeenFiles) -> Unchanged | SkippedFile | None:
    """The result for a file that need not be analysed, None for one that must be. Cheap, and nothing in it can crash.

    ``memory`` spares reading a file that was read before; it learns those that are read.
    """
    seen = memory.get(file.path, file.stamp)
    if seen is None:
        began = time_ns()
        read = _read(file.absolute, settings.max_file_bytes)
        if isinstance(read, SkipReason):
            return SkippedFile(file.path, read)
        seen = _seen(read, file, known)
        memory.remember(file.path, seen, began)
    return _settled(file, known, seen)


def content_digest(sha256: bytes, attributes: Mapping[str, bool]) -> bytes:
    """What tells versions of a file apart: the SHA-256 of its bytes, and with it what ``.gitattributes`` says, which decides its class."""
    return hashlib.sha256(sha256 + repr(sorted(attributes.items())).encode()).digest() if attributes else sha256


class _Read(NamedTuple):
    """``status`` is of the moment before the first byte was read."""

    data: bytes
    status: os.stat_result


def _seen(read: _Read, file: SourceFile, known: frozenset[bytes]) -> Seen:
    sha256 = hashlib.sha256(read.data).digest()
    is_known = content_digest(sha256, file.attributes) in known
    return Seen(Stamp.of(read.status), sha256, None if is_known else unsearchable(read.data))


def _settled(file: SourceFile, known: frozenset[bytes], seen: Seen) -> Unchanged | SkippedFile | None:
    digest = content_digest(seen.sha256, file.attributes)
    if digest in known:
        return Unchanged(file.path, digest)
    return SkippedFile(file.path, seen.reason) if seen.reason else None


def _analyse_text(
    file: SourceFile, data: bytes, digest: bytes, settings: IndexSettings, extract: Extractor, failed: SkipReason | None
) -> FileAnalysis:
    decoded = decode(data)
    text = decoded.text
    minified = is_minified(file.path, text)
    spec = language_of(file.path, text[:HEAD])
    reason = failed or _text_only_reason(spec, minified, len(data), settings)
    extraction = extract(spec, text) if spec and reason is None else Extraction(imports=manifest_imports(file.path, text))
    outcome = Outcome.INDEXED if reason is None else Outcome.TEXT_ONLY
    if extraction.error_ratio > MOSTLY_ERRORS:
        reason = SkipReason.PARSE_ERROR
    chunks = chunk(text, extraction.symbols, settings.chunk_lines, settings.chunk_bytes)
    generated = file.attributes.get("linguist-generated")
    if generated is None and (minified or is_generated(text)):
        generated = True
    return FileAnalysis(
        path=file.path,
        sha256=digest,
        outcome=outcome,
        reason=reason,
        language=spec.name if spec else None,
        path_class=path_class(file.path, vendored=file.attributes.get("linguist-vendored"), generated=generated),
        encoding=decoded.encoding,
        size=len(data),
        lines=chunks[-1].end_line if chunks else 0,
        chunks=chunks,
        extraction=extraction,
        symbol_ids=identify(file.path, extraction.symbols),
        symbol_words=tuple(symbol_words(symbol.name) for symbol in extraction.symbols),
        symbol_chunk=tuple(chunk_of_line(chunks, symbol.name_line) for symbol in extraction.symbols),
        name_words=file_name_words(file.path),
        counts=count_terms(file.path, chunks, extraction.symbols),
    )


def _text_only_reason(spec: LanguageSpec | None, minified: bool, size: int, settings: IndexSettings) -> SkipReason | None:
    if minified:
        return SkipReason.MINIFIED
    if spec is None or spec.grammar is None:
        return SkipReason.NO_PARSER
    return SkipReason.TOO_LARGE if size > settings.max_parse_bytes else None


def _read(path: str, max_bytes: int) -> _Read | SkipReason:
    """The bytes of a regular file. It may have changed since the tree was listed, into a link or a pipe for instance."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return SkipReason.SYMLINK if Path(path).is_symlink() else SkipReason.UNREADABLE
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return SkipReason.SPECIAL_FILE
        if _is_behind_link(handle, path):
            return SkipReason.SYMLINK
        data = os.read(handle, min(status.st_size, max_bytes) + 1)
        while len(data) <= max_bytes and (more := os.read(handle, _BLOCK)):
            data += more
    except OSError:
        return SkipReason.UNREADABLE
    finally:
        os.close(handle)
    return SkipReason.TOO_LARGE if len(data) > max_bytes else _Read(data, status)


def _is_behind_link(handle: int, path: str) -> bool:
    """Whether a folder above an opened file is a symbolic link by now."""
    with suppress(OSError):  # Linux tells where the file was found, much faster than looking at every folder
        if os.readlink(f"/proc/self/fd/{handle}") == path:  # noqa: PTH115 - a Path for every file would cost more than reading it
            return False
    folder = Path(path).parent
    return folder.resolve() != folder
