"""Notices bits that tell texts apart badly: a model whose vectors all point the same way gives nearly the same signs to everything."""

from __future__ import annotations

import threading
from typing import Final

import numpy as np
import structlog
from numpy.typing import NDArray

LEAST_VECTORS: Final = 64
LEAST_VARYING: Final = 0.5
"""Of the bits: the least share that must differ from the majority in at least 2% of the texts."""
_RARE: Final = 0.02

_log = structlog.get_logger(__name__)


def varying_share(ones: NDArray[np.int64], vectors: int) -> float:
    """The share of bits that are set in neither nearly all nor nearly none of so many vectors; ``ones``: in how many each is set."""
    part = ones / vectors
    return float(np.mean((part >= _RARE) & (part <= 1 - _RARE)))


class BitBalance:
    """Counts how often each bit is set, and warns once when too many hardly ever change."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._ones: NDArray[np.int64] | None = None
        self._vectors = 0
        self._told = False
        self._lock = threading.Lock()

    def observe(self, packed: NDArray[np.uint8]) -> None:
        """Packed bits, shape (n, bits / 8)."""
        with self._lock:
            if self._told or not len(packed):
                return
            ones = np.unpackbits(packed, axis=1).sum(axis=0, dtype=np.int64)
            self._ones = ones if self._ones is None else self._ones + ones
            self._vectors += len(packed)
            if self._vectors < LEAST_VECTORS:
                return
            share = varying_share(self._ones, self._vectors)
            if share < LEAST_VARYING:
                self._told = True
                _log.warning(
                    "embeddings_degenerate",
                    embedder=self._name,
                    varying_bits=round(share, 3),
                    message="most bits are the same for all texts; search by meaning will be poor: check model, width and prefixes",
                )
