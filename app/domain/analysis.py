"""What the stages of the write path hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.domain.code import Chunk, Extraction, Outcome, PathClass
from app.domain.index import SkipReason


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file of the tree, as discovered. ``path`` is relative, ``/``-separated and storable as UTF-8 text.

    Bytes of a name that are no UTF-8 are shown as ``\\xNN``; ``absolute`` opens the file all the same.
    ``attributes`` holds what ``.gitattributes`` says: ``linguist-generated``, ``linguist-vendored`` → bool.
    ``size`` is in bytes, as it was when the tree was read.
    """

    path: str
    absolute: Path
    attributes: Mapping[str, bool] = field(default_factory=dict)
    size: int = 0


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

    ``symbol_words[i]`` are the stemmed words of symbol i's name; ``symbol_chunk[i]`` the ordinal of the chunk of its name's line.
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
    symbol_words: tuple[tuple[str, ...], ...]
    symbol_chunk: tuple[int, ...]
    name_words: tuple[str, ...]
    counts: TermCounts


class Posting(NamedTuple):
    """One row of the word index: in how many files the term occurs, and its chunks with their weights ×1,000."""

    term: str
    files: int
    chunks: list[int]
    weights: list[int]
