"""Fielded BM25 postings: term counts of a file, and the saturated weights of a segment.

BM25F as measured in 7-ranking.md: the weight of each (term, chunk) is stored saturated (``domain/bm25.py``), the inverse frequency is
multiplied in when a question is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.domain.analysis import Postings, TermCounts
from app.domain.bm25 import codes_of
from app.domain.code import Chunk, Symbol
from app.domain.words import path_text, token_terms, tokens

FIELDS: Final = ("body", "symbols", "path", "enclosing")
FIELD_WEIGHTS: Final = np.array([1.0, 4.0, 4.0, 2.0], np.float32)
LENGTH_NORMALISATION: Final = np.array([0.75, 0.5, 0.5, 0.5], np.float32)
_LARGEST_COUNT: Final = 65_535
_MOST_TOKENS: Final = 200_000

_Number = TypeVar("_Number", bound=np.generic)


class _Numbers(dict[str, list[int]]):
    """Token → the numbers of its terms in ``terms``, learnt on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: list[str] = []
        self._number: dict[str, int] = {}

    def __missing__(self, token: str) -> list[int]:
        found = self[token] = [self._number_of(term) for term in token_terms(token)]
        return found

    def _number_of(self, term: str) -> int:
        number = self._number.setdefault(term, len(self.terms))
        if number == len(self.terms):
            self.terms.append(term)
        return number

    def of(self, text: str) -> Iterator[int]:
        """The numbers of a text's terms, repeated as often as they occur."""
        return chain.from_iterable(map(self.__getitem__, tokens(text)))


_numbers = _Numbers()


def _known_numbers() -> _Numbers:
    """Those of the files before, as long as they take little memory: most files of a repository share most of their words."""
    global _numbers
    if len(_numbers) > _MOST_TOKENS:
        _numbers = _Numbers()
    return _numbers


def count_terms(path: str, chunks: Sequence[Chunk], symbols: Sequence[Symbol]) -> TermCounts:
    """Count the terms of each chunk of a file in each field."""
    numbers = _known_numbers()
    of_path = list(numbers.of(path_text(path)))
    found: list[int] = []
    ends = [0]
    for chunk, starting, enclosing in _names_by_chunk(chunks, symbols):
        for field in ((chunk.text,), starting, None, enclosing):
            if field is None:
                found += of_path
            for text in field or ():
                found += numbers.of(text)
            ends.append(len(found))
    bounds = np.array(ends, np.int64)
    return _counted(np.array(found, np.int64), bounds[1:] - bounds[:-1], numbers.terms)


def _counted(found: NDArray[np.int64], field_lengths: NDArray[np.int64], terms: Sequence[str]) -> TermCounts:
    """Counts of ``found``, numbers of ``terms``: a run for each field of each chunk, ``field_lengths`` long."""
    width, chunks = len(FIELDS), len(field_lengths) // len(FIELDS)
    codes = found * (chunks * width) + np.repeat(np.arange(chunks * width), field_lengths)
    codes.sort()
    starts = _changes(codes).nonzero()[0]
    occurrences = np.empty(len(starts), np.int64)
    np.subtract(starts[1:], starts[:-1], out=occurrences[:-1])
    occurrences[-1:] = len(codes) - starts[-1:]
    pairs, field = np.divmod(codes[starts], width)
    new_pair = _changes(pairs)
    number, chunk = np.divmod(pairs[new_pair], chunks)
    new_term = _changes(number)
    frequencies = np.zeros((len(chunk), width), np.uint16)
    frequencies[np.cumsum(new_pair) - 1, field] = np.minimum(occurrences, _LARGEST_COUNT)
    return TermCounts(
        terms=tuple(map(terms.__getitem__, number[new_term].tolist())),
        term=(np.cumsum(new_term) - 1).astype(np.uint32),
        chunk=chunk.astype(np.uint32),
        frequencies=frequencies,
        lengths=field_lengths.reshape(-1, width).astype(np.uint32),
    )


def _changes(ordered: NDArray[np.signedinteger[Any]]) -> NDArray[np.bool_]:
    """Where a value differs from the one before it."""
    changes = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=changes[1:])
    return changes


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
    """Collects the counts of a segment's files.

    Holds about 20 bytes per (term, chunk) entry until it is let go.
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

    def postings(self, average_lengths: Sequence[float]) -> Postings:
        """All of the segment's postings."""
        names = sorted(self._vocabulary)
        rank = np.empty(len(names), np.int64)
        rank[[self._vocabulary[name] for name in names]] = np.arange(len(names))
        term = rank[_joined(self._terms, np.uint32)]
        chunk = _joined(self._chunks, np.int32)
        order = np.argsort(term << 32 | chunk)
        term, file = term[order], _joined(self._files, np.int32)[order]
        ends = np.append(np.flatnonzero(_changes(term)), len(term))[1:]
        codes = codes_of(
            normalised_frequencies(
                _joined(self._frequencies, np.uint16, len(FIELDS)),
                _joined(self._lengths, np.uint32, len(FIELDS)),
                _joined(self._length_rows, np.uint32),
                np.array(average_lengths, np.float32),
            )
        )
        # A file's chunk ids are consecutive, so that the files of a term are runs.
        runs = np.cumsum(_changes(term) | _changes(file))
        files = np.diff(runs[ends - 1], prepend=0)
        return Postings(tuple(names), files, ends, chunk[order], codes[order])


def normalised_frequencies(
    frequencies: NDArray[np.uint16], lengths: NDArray[np.uint32], length_rows: NDArray[np.uint32], average_lengths: NDArray[np.float32]
) -> NDArray[np.float32]:
    """``tf' = Σ w·tf / (1 − b + b·len/avg)`` over the fields, for each entry.

    ``frequencies`` (entries, 4); ``lengths`` (chunks, 4), of which ``length_rows`` (entries) names the one of each entry's chunk.
    """
    b = LENGTH_NORMALISATION
    factors = FIELD_WEIGHTS / (1.0 - b + b * lengths.astype(np.float32) / average_lengths)
    combined: NDArray[np.float32] = (factors[length_rows] * frequencies).sum(axis=1)
    return combined


def _joined(parts: Sequence[NDArray[_Number]], dtype: type[_Number], *width: int) -> NDArray[_Number]:
    return np.concatenate(parts) if parts else np.empty((0, *width), dtype)
