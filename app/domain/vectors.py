"""Arithmetic on packed bit vectors: most significant bit first, as ``numpy.packbits`` and PostgreSQL's ``bit(n)`` have them."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 1_024
"""Width of every stored embedding, in bits."""


def asymmetric_scores(query: NDArray[np.float32], packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Cosine of a unit query (bits,) with ±1 document vectors given as bits (n, bits / 8); better than Hamming, as the query keeps its
    magnitudes (docs/decisions/0003-embedding-bits.md)."""
    signs = np.unpackbits(packed, axis=1).astype(np.float32) * 2 - 1
    scores: NDArray[np.float32] = signs @ query / np.float32(np.sqrt(signs.shape[1]))
    return scores
