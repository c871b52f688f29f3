"""The word index's rows hold what was packed into them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.analysis import Postings
from app.domain.bm25 import LARGEST_WEIGHT, SATURATION, WEIGHTS, codes_of, inverse_frequency
from app.storage.posting_rows import bucket_bits, bucket_of, entries_by_term, files_by_term, posting_rows

TERMS = st.dictionaries(
    st.text(st.characters(categories=("L", "N")), min_size=1, max_size=12),
    st.tuples(st.integers(1, 9), st.dictionaries(st.integers(0, 200_000), st.integers(1, 255), min_size=1, max_size=5)),
    max_size=200,
)
FIRST_CHUNK = 1_000_000


def postings(terms: dict[str, tuple[int, dict[int, int]]]) -> Postings:
    ordered = sorted(terms)
    entries = [sorted(terms[term][1].items()) for term in ordered]
    return Postings(
        tuple(ordered),
        np.array([terms[term][0] for term in ordered], np.int64),
        np.cumsum([len(found) for found in entries], dtype=np.int64),
        np.array([FIRST_CHUNK + chunk for found in entries for chunk, _ in found], np.int32),
        np.array([code for found in entries for _, code in found], np.uint8),
    )


@given(TERMS, st.integers(0, 8))
def test_every_term_is_found_in_its_bucket_with_its_files_and_entries(terms: dict[str, tuple[int, dict[int, int]]], bits: int) -> None:
    rows = list(posting_rows(1, 2, FIRST_CHUNK, bits, postings(terms)))
    assert len({row[2] for row in rows}) == len(rows)
    found = {}
    for repository_id, segment_id, bucket, names, counts, entries in rows:
        assert (repository_id, segment_id) == (1, 2)
        files = files_by_term(names, counts)
        for term, (ids, codes) in entries_by_term(names, counts, entries).items():
            assert bucket_of(term, bits) == bucket
            found[term] = (files[term], dict(zip(ids.tolist(), codes.tolist(), strict=True)))
        wanted = next(iter(files))
        assert entries_by_term(names, counts, entries, frozenset({wanted, "not a term"})).keys() == {wanted}
    assert found == terms


def test_ids_take_two_bytes_where_they_fit() -> None:
    def entries_of(*ids: int) -> bytes:
        ((*_, entries),) = posting_rows(1, 1, FIRST_CHUNK, 0, postings({"a": (1, dict.fromkeys(ids, 7))}))
        return entries

    assert len(entries_of(0, 65_535)) == 2 * 3
    assert len(entries_of(0, 65_536)) == 2 * 5


def test_buckets_hold_about_as_many_terms_as_meant() -> None:
    terms = [f"term{number}" for number in range(20_000)]
    sizes = np.bincount([bucket_of(term, bucket_bits(len(terms))) for term in terms])
    assert 32 <= sizes.mean() <= 64
    assert sizes.max() < 120
    assert bucket_bits(0) == bucket_bits(63) == 0


def test_codes_keep_weights_within_two_hundredths() -> None:
    frequencies = np.geomspace(0.06, 100, 200).astype(np.float32)
    weights = LARGEST_WEIGHT * frequencies / (SATURATION + frequencies)
    assert WEIGHTS[codes_of(frequencies)] == pytest.approx(weights, rel=0.02)
    assert codes_of(np.array([1e-9, 1e9], np.float32)).tolist() == [1, 255]


def test_a_word_that_all_have_is_worth_least_and_one_that_none_has_most() -> None:
    assert inverse_frequency(10, 10) < inverse_frequency(10, 1) < inverse_frequency(10, 0)
    assert inverse_frequency(10, 11) == inverse_frequency(10, 10) > 0
