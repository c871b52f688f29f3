"""Packed bit vectors, most significant bit first as in ``numpy.packbits`` and PostgreSQL's ``bit(n)``, and the sets they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

BITS: Final = 1_024
"""Width of every stored embedding, in bits."""

_SIGNS_OF_BYTES: Final[NDArray[np.float32]] = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1


@dataclass(frozen=True, slots=True)
class VectorSet:
    """The vectors of one embedder. ``name`` says model, width, projection and text format: vectors of different sets never meet.

    ``kind`` and ``model`` are what an embedder for its queries is made from. ``indexed_to``: rows up to this number are in the
    approximate index; None without one.
    """

    id: int
    name: str
    kind: str
    model: str
    indexed_to: int | None = None


def stacked(packed: Sequence[bytes]) -> NDArray[np.uint8]:
    """Bit vectors of one width, each as its bytes, as one array: shape (n, bits / 8). There must be one at least."""
    return np.frombuffer(b"".join(packed), np.uint8).reshape(len(packed), -1)


def asymmetric_scores(query: NDArray[np.float32], packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Cosine of a unit query (bits,) with ±1 document vectors given as bits (n, bits / 8); better than Hamming, as the query keeps its
    magnitudes (docs/decisions/0003-embedding-bits.md)."""
    # What each of a byte's 256 values adds is worked out once per byte of the query: the signs of all documents would be megabytes.
    added = query.reshape(-1, 8) @ _SIGNS_OF_BYTES.T
    scores: NDArray[np.float32] = added[np.arange(len(added)), packed].sum(axis=1) / np.float32(np.sqrt(len(query)))
    return scores


def unit_signs(packed: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The ±1 vectors of packed bits (n, bits / 8), each of unit length: shape (n, bits)."""
    signs = np.unpackbits(packed, axis=1).astype(np.float32) * 2 - 1
    return signs / np.float32(np.sqrt(signs.shape[1]))
