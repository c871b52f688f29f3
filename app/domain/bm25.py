"""BM25's numbers that writing and asking share (Robertson, Zaragoza, "The Probabilistic Relevance Framework", 2009).

The saturated weight ``2.2 · tf' / (1.2 + tf')`` of a term in a chunk is kept in one byte, as 255 times the root of its part of the
largest possible: at most .6% off a weight of 1 and 2% off one of .1. Measured: NDCG@10 of ten repositories is the same.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

SATURATION: Final = 1.2
LARGEST_WEIGHT: Final = SATURATION + 1.0
_LARGEST_CODE: Final = 255

WEIGHTS: Final[NDArray[np.float32]] = (LARGEST_WEIGHT * np.square(np.arange(_LARGEST_CODE + 1) / _LARGEST_CODE)).astype(np.float32)
"""The weight that each code stands for, shape (256,)."""


def codes_of(frequencies: NDArray[np.float32]) -> NDArray[np.uint8]:
    """The codes, 1 to 255, of the saturated weights of normalised term frequencies ``tf'``."""
    codes = np.round(_LARGEST_CODE * np.sqrt(frequencies / (SATURATION + frequencies)))
    return np.maximum(codes, 1).astype(np.uint8)


def inverse_frequency(total: float, having: float) -> float:
    """``ln(1 + (N - n + .5) / (n + .5))``; ``having`` is clamped to ``total``, which may be read a moment earlier."""
    having = min(having, total)
    return math.log(1 + (total - having + 0.5) / (having + 0.5))
