"""What the stages of the write path hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from app.domain.code import Chunk, Extraction, Outcome, PathClass
from app.domain.index import SkipReason


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the tree, as discovered. ``path`` is relative, ``/``-separated and storable as UTF-8 text.

    Bytes of a name that are no UTF-8 are shown as ``\\xNN``; ``absolute`` opens the file all the same.
    ``attributes`` holds what ``.gitattributes`` says: ``linguist-generated``, ``linguist-vendored`` → bool.
    ``size`` is in bytes, as it was when the tree was read, and so is ``stamp``: what differs when the content does; None for a commit's.
    """

    path: str
    absolute: str
    attributes: Mapping[str, bool] = field(default_factory=dict)
    size: int = 0
    stamp: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that cannot be searched, with the reason."""

    path: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Term frequencies of a file's chunks per field, as parallel arrays (one entry per (chunk, term)).

    ``terms`` is the file's vocabulary; ``term`` indexes it, ``chunk`` is the chunk's ordinal in the file; ``frequencies`` has shape
    (entries, 4), columns body, symbol names, path, enclosing names (``postings.FIELDS``); ``lengths`` has shape (chunks, 4).
    """

    terms: tuple[str, ...]
    term: NDArray[np.uint32]
    chunk: NDArray[np.uint32]
    frequencies: NDArray[np.uint16]
    lengths: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """Everything the store needs to know of one file version.

    ``symbol_ids[i]`` is the id of symbol i, ``symbol_words[i]`` are the stemmed words of its name, ``symbol_chunk[i]`` is the ordinal of
    the chunk of its name's line.
    """

    path: str
    sha256: bytes
    outcome: Outcome
    reason: SkipReason | None
    language: str | None
    path_class: PathClass
    encoding: str
    size: int
    lines: int
    chunks: tuple[Chunk, ...]
    extraction: Extraction
    symbol_ids: tuple[int, ...]
    symbol_words: tuple[tuple[str, ...], ...]
    symbol_chunk: tuple[int, ...]
    name_words: tuple[str, ...]
    counts: TermCounts


@dataclass(frozen=True, slots=True)
class Postings:
    """A segment of the word index: for each term the number of files that it occurs in, and its chunks with their coded weights.

    The terms ascend by code points. Term i's part of ``chunks`` and ``codes`` ends at ``ends[i]`` and begins where that of the term
    before ends; chunk ids ascend in it. ``domain/bm25.py`` tells what a code stands for.
    """

    terms: tuple[str, ...]
    files: NDArray[np.int64]
    ends: NDArray[np.int64]
    chunks: NDArray[np.int32]
    codes: NDArray[np.uint8]
