"""From a model's floats to the bits that are stored: the signs of a projection by a fixed ±1 Hadamard frame.

Signs of a redundant projection keep more of the ranking than the signs of the vector's own components
(docs/decisions/0003-embedding-bits.md). The frame is made of integers and SHA-256 alone, so it is the same on every machine and with
every version of numpy.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 1_024
"""Order of the Hadamard matrix and width of an embedding."""

_SEED: Final = "hadamard1024"
_STAGES: Final = BITS.bit_length() - 1
_SCALE: Final = np.float32(32.0)  # the length of a projected unit vector: the square root of BITS


def project(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Project row vectors, shape (n, d) with d < 1,024, to shape (n, 1024).

    Orthogonal rows: angles are kept, and a unit vector becomes 32 long. By the fast Walsh-Hadamard transform: a matrix product would be
    ten times the work, and would wake the threads of the linear algebra library beside the searches.
    """
    rows, signs = _frame(vectors.shape[1])
    current = np.zeros((len(vectors), BITS), np.float32)
    current[:, rows] = vectors * signs
    following = np.empty_like(current)
    for _ in range(_STAGES):  # each takes the highest bit of the row's number and puts the column's in at the bottom
        upper, lower = current[:, : BITS // 2], current[:, BITS // 2 :]
        np.add(upper, lower, out=following[:, 0::2])
        np.subtract(upper, lower, out=following[:, 1::2])
        current, following = following, current
    return current


def pack_bits(projected: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The signs, shape (n, 1024) to (n, 128): positive is 1, all else 0; most significant bit first, as in PostgreSQL's ``bit(n)``."""
    return np.packbits(projected > 0, axis=1)


def unit(projected: NDArray[np.float32]) -> NDArray[np.float32]:
    """Bring projections of unit vectors back to unit length."""
    return projected / _SCALE


@lru_cache(maxsize=4)
def _frame(dimensions: int) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """``dimensions`` distinct rows of Sylvester's matrix, drawn by hash, as their numbers and a sign for each.

    Drawn, not the first ones: those never use the high bits of the column's number, so whole columns would repeat. Row 0 is left out,
    since it would add one component to every bit alike.
    """
    if not 0 < dimensions < BITS:
        raise ValueError(f"the frame takes 1 to {BITS - 1} dimensions, not {dimensions}")
    drawn = sorted((hashlib.sha256(f"{_SEED}/{row}".encode()).digest(), row) for row in range(1, BITS))[:dimensions]
    rows = np.array([row for _, row in drawn])
    signs = np.array([1 - 2 * (digest[-1] & 1) for digest, _ in drawn], np.float32)
    for shared in (rows, signs):
        shared.flags.writeable = False
    return rows, signs
