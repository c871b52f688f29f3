"""One bit vector for a whole file."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.domain.vectors import stacked
from app.retrievers import centres

vectors = st.lists(st.binary(min_size=4, max_size=4), min_size=1, max_size=9)


def majority(packed: list[bytes]) -> bytes:
    return centres.majority(stacked(packed))


def bits(packed: bytes) -> list[int]:
    return list(np.unpackbits(np.frombuffer(packed, np.uint8)).tolist())


def test_the_majority_decides_bit_by_bit_and_a_tie_is_a_one() -> None:
    assert majority([b"\xf0", b"\xc0", b"\x80"]) == b"\xc0"
    assert majority([b"\xf0", b"\x0f"]) == b"\xff"


@given(st.binary(min_size=4, max_size=4), st.integers(1, 300))
def test_equal_chunks_mean_what_each_means(packed: bytes, copies: int) -> None:
    assert majority([packed] * copies) == packed


@given(vectors, st.randoms())
def test_the_order_of_the_chunks_does_not_matter(packed: list[bytes], dice: Random) -> None:
    shuffled = sorted(packed, key=lambda _: dice.random())
    assert majority(shuffled) == majority(packed)


@given(vectors)
def test_every_bit_has_at_least_half_of_the_chunks(packed: list[bytes]) -> None:
    rows = [bits(item) for item in packed]
    expected = [int(2 * sum(column) >= len(rows)) for column in zip(*rows, strict=True)]
    assert bits(majority(packed)) == expected
