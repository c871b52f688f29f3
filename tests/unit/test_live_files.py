"""Whose chunk an id is, and which vectors lie nearest: arrays beside the plain way."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.domain.code import PathClass
from app.domain.ranking import FileKey
from app.retrievers.vector_memory import Vectors, nearest_in
from app.storage.live_files import LiveFile, LiveFiles

SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 4)), max_size=12)
"""For each file the dead chunks before it, and its own."""


def live_files(spans: list[tuple[int, int]]) -> tuple[LiveFiles, dict[int, int]]:
    """The files, and the file of each chunk."""
    firsts = list(accumulate((gap + chunks for gap, chunks in spans), initial=1))
    rows = [(file_id, firsts[file_id] + gap, chunks) for file_id, (gap, chunks) in enumerate(spans)]
    files = {row[0]: LiveFile(FileKey(1, f"{row[0]}.py"), row[0], None, PathClass.SOURCE) for row in rows}
    owners = {first + offset: file_id for file_id, first, chunks in rows for offset in range(chunks)}
    return LiveFiles(files, np.array(rows, np.int64).reshape(-1, 3), {}), owners


@given(SPANS)
def test_a_chunk_belongs_to_the_file_whose_span_it_is_in(spans: list[tuple[int, int]]) -> None:
    files, owners = live_files(spans)
    ids = np.arange(0, 100)
    found = [None if file is None else file.file_id for file in files.of_chunks(ids)]
    assert found == [owners.get(chunk_id) for chunk_id in ids.tolist()]
    assert files.shows(ids).tolist() == [chunk_id in owners for chunk_id in ids.tolist()]
    for file_id in range(len(spans)):
        assert [chunk for chunk, owner in owners.items() if owner == file_id] == list(range(*files.chunk_span(file_id)))
    assert files.by_id(len(spans)) is None
    assert (len(files), files.chunks) == (len(spans), len(owners))


WORDS = st.lists(st.lists(st.sampled_from("abcde"), max_size=3, unique=True).map(tuple), max_size=8)


@given(WORDS, st.sets(st.sampled_from("abcdef")))
def test_files_are_found_by_the_words_of_their_names(names: list[tuple[str, ...]], wanted: set[str]) -> None:
    files = {file_id: LiveFile(FileKey(1, f"{file_id}.py"), file_id, None, PathClass.SOURCE) for file_id in range(len(names))}
    spans = np.array([(file_id, file_id, 1) for file_id in files], np.int64).reshape(-1, 3)
    found = LiveFiles(files, spans, dict(enumerate(names))).named(wanted)
    assert found == {words: [files[i] for i, other in enumerate(names) if other == words] for words in names if wanted & set(words)}


@given(SPANS, st.integers(0, 60))
def test_scattered_chunks_are_live_ones(spans: list[tuple[int, int]], most: int) -> None:
    files, owners = live_files(spans)
    found = files.scattered(most).tolist()
    assert files.chunks == len(owners)
    assert found == sorted(set(found) & owners.keys())
    assert len(found) <= most
    assert bool(found) == bool(owners and most)


def test_scattered_chunks_are_spread_evenly() -> None:
    files, _ = live_files([(1, 100)] * 40)
    parts = np.bincount(files.scattered(400) // 404, minlength=10)
    assert parts.min() >= 35
    assert parts.max() <= 45


def vectors(seed: int, count: int) -> Vectors:
    generator = np.random.default_rng(seed)
    # Few distinct values, so that many are equally near.
    words = generator.integers(0, 4, (16, count), dtype=np.uint64)
    return Vectors(np.sort(generator.choice(10_000, count, replace=False)).astype(np.int64), words)


@given(st.integers(0, 9), st.integers(0, 60), st.integers(0, 60), st.integers(1, 80))
def test_the_nearest_are_those_of_comparing_one_by_one(seed: int, one: int, other: int, kept: int) -> None:
    known = {1: vectors(seed, one), 2: vectors(seed + 100, other)}
    query = np.random.default_rng(seed).integers(0, 4, 16, dtype=np.uint64).tobytes()
    bits = np.unpackbits(np.frombuffer(query, np.uint8))
    expected = []
    for key, held in known.items():
        for at, packed in enumerate(held.packed(np.arange(len(held)))):
            expected.append((int((np.unpackbits(packed) != bits).sum()), key, at))
    found = {(key, at) for key, places in nearest_in(known, query, kept) for at in places.tolist()}
    assert found == {(key, at) for _, key, at in sorted(expected)[:kept]}


def test_the_vectors_of_a_span_are_those_of_its_chunks() -> None:
    held = Vectors(np.array([3, 4, 9], np.int64), np.arange(48, dtype=np.uint64).reshape(16, 3))
    assert held.span(4, 10).tobytes() == held.packed(np.array([1, 2])).tobytes()
    assert held.span(5, 9).shape == (0, 128)
    assert held.packed(np.array([0]))[0].view(np.uint64).tolist() == list(range(0, 48, 3))
