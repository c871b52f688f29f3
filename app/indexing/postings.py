"""Fielded BM25 postings: term counts of a file, and the saturated weights of a segment.

BM25F (Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009) as measured in 7-ranking.md. The weight
``2.2 · tf' / (1.2 + tf')`` of each (term, chunk) is stored ×1,000 as a small integer; idf is multiplied in at query time, so that a
query is one aggregate over arrays: one row per (repository, term, segment).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.analysis import Posting, TermCounts
from app.domain.code import Chunk, Symbol
from app.domain.words import body_terms, path_terms

FIELDS: Final = ("body", "symbols", "path", "enclosing")
FIELD_WEIGHTS: Final = np.array([1.0, 4.0, 4.0, 2.0], np.float32)
LENGTH_NORMALISATION: Final = np.array([0.75, 0.5, 0.5, 0.5], np.float32)
SATURATION: Final = 1.2
WEIGHT_SCALE: Final = 1_000
_LARGEST_COUNT: Final = 65_535


def count_terms(path: str, chunks: Sequence[Chunk], symbols: Sequence[Symbol]) -> TermCounts:
    """Count the terms of each chunk of a file in each field."""
    vocabulary: dict[str, int] = {}
    term_column: list[int] = []
    chunk_column: list[int] = []
    rows: list[tuple[int, int, int, int]] = []
    lengths = np.zeros((len(chunks), len(FIELDS)), np.uint32)
    of_path = Counter(path_terms(path))
    for ordinal, (chunk, starting, enclosing) in enumerate(_names_by_chunk(chunks, symbols)):
        fields = (Counter(body_terms(chunk.text)), _count_names(starting), of_path, _count_names(enclosing))
        lengths[ordinal] = [field.total() for field in fields]
        for term in fields[0].keys() | fields[1].keys() | fields[2].keys() | fields[3].keys():
            term_column.append(vocabulary.setdefault(term, len(vocabulary)))
            chunk_column.append(ordinal)
            rows.append((fields[0][term], fields[1][term], fields[2][term], fields[3][term]))
    return TermCounts(
        terms=tuple(vocabulary),
        term=np.array(term_column, np.uint32),
        chunk=np.array(chunk_column, np.uint32),
        frequencies=np.minimum(np.array(rows, np.uint32).reshape(-1, len(FIELDS)), _LARGEST_COUNT).astype(np.uint16),
        lengths=lengths,
    )


def _count_names(names: Sequence[str]) -> Counter[str]:
    return Counter(term for name in names for term in body_terms(name))


def _names_by_chunk(chunks: Sequence[Chunk], symbols: Sequence[Symbol]) -> Iterator[tuple[Chunk, list[str], list[str]]]:
    """Per chunk the names of the types and callables that start in it, and of those that enclose its first line."""
    named = sorted((s for s in symbols if s.kind.is_type or s.kind.is_callable), key=lambda s: (s.start_line, -s.end_line))
    open_symbols: list[Symbol] = []
    position = 0
    for chunk in chunks:
        open_symbols = [s for s in open_symbols if s.end_line >= chunk.start_line]
        enclosing = [s.name for s in open_symbols]
        starting = []
        while position < len(named) and named[position].start_line <= chunk.end_line:
            starting.append(named[position].name)
            open_symbols.append(named[position])
            position += 1
        yield chunk, starting, enclosing


class PostingsBuilder:
    """Collects the counts of a segment's files and turns them into rows.

    Holds about 20 bytes per (term, chunk) entry until ``rows`` is called.
    """

    def __init__(self) -> None:
        self._vocabulary: dict[str, int] = {}
        self._terms: list[NDArray[np.uint32]] = []
        self._chunks: list[NDArray[np.int32]] = []
        self._files: list[NDArray[np.int32]] = []
        self._frequencies: list[NDArray[np.uint16]] = []
        self._lengths: list[NDArray[np.uint32]] = []
        self._length_rows: list[NDArray[np.uint32]] = []
        self._chunk_count = 0
        self.entries = 0

    def add(self, file_id: int, first_chunk_id: int, counts: TermCounts) -> None:
        """Add a file whose chunks have consecutive ids from ``first_chunk_id`` on."""
        vocabulary = self._vocabulary
        numbers = np.array([vocabulary.setdefault(term, len(vocabulary)) for term in counts.terms], np.uint32)
        self._terms.append(numbers[counts.term] if len(numbers) else counts.term)
        self._chunks.append((counts.chunk + first_chunk_id).astype(np.int32))
        self._files.append(np.full(len(counts.term), file_id, np.int32))
        self._frequencies.append(counts.frequencies)
        self._lengths.append(counts.lengths)
        self._length_rows.append(counts.chunk + self._chunk_count)
        self._chunk_count += len(counts.lengths)
        self.entries += len(counts.term)

    def average_lengths(self) -> NDArray[np.float32]:
        """Mean length of each field over the segment's chunks; at least one, so that an empty field divides nothing by zero."""
        if not self._chunk_count:
            return np.ones(len(FIELDS), np.float32)
        averages: NDArray[np.float32] = np.maximum(np.concatenate(self._lengths).mean(axis=0), 1.0).astype(np.float32)
        return averages

    def rows(self, average_lengths: Sequence[float]) -> Iterator[Posting]:
        """The segment's rows in the order of terms; chunk ids ascend within a row."""
        if not self.entries:
            return
        term = np.concatenate(self._terms)
        chunk = np.concatenate(self._chunks)
        file = np.concatenate(self._files)
        lengths = np.concatenate(self._lengths)[np.concatenate(self._length_rows)]
        weight = saturated_weights(np.concatenate(self._frequencies), lengths, np.array(average_lengths, np.float32))
        order = np.lexsort((chunk, term))
        term, chunk, file, weight = term[order], chunk[order], file[order], weight[order]
        starts = np.flatnonzero(np.diff(term, prepend=-1))
        ends = np.append(starts[1:], len(term))
        new_file = np.diff(file, prepend=-1) != 0
        new_file[starts] = True  # the files of a term are runs, since a file's chunk ids are consecutive
        file_counts = np.add.reduceat(new_file.astype(np.int64), starts)
        names = list(self._vocabulary)
        for start, end, files in zip(starts.tolist(), ends.tolist(), file_counts.tolist(), strict=True):
            yield Posting(names[term[start]], files, chunk[start:end].tolist(), weight[start:end].tolist())


def saturated_weights(
    frequencies: NDArray[np.uint16], lengths: NDArray[np.uint32], average_lengths: NDArray[np.float32]
) -> NDArray[np.int16]:
    """``1000 · 2.2 tf'/(1.2 + tf')`` with ``tf' = Σ w·tf / (1 − b + b·len/avg)`` over the fields; all arguments (entries, 4)."""
    b = LENGTH_NORMALISATION
    normalised = FIELD_WEIGHTS * frequencies / (1.0 - b + b * lengths / average_lengths)
    combined = normalised.sum(axis=1)
    weights = (SATURATION + 1.0) * combined / (SATURATION + combined)
    scaled: NDArray[np.int16] = np.maximum(np.round(weights * WEIGHT_SCALE), 1).astype(np.int16)
    return scaled
