"""A bag-of-words vector model: a table of word vectors, and for each word one weight in questions and another in documents.

It is trained by tools/train_embedder on pairs of documentation and code; docs/decisions/0009-static-embedder.md says why it looks
like this, docs/model-card.md what it was trained on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.embeddings.word_pieces import WordPieces, runs, words

_MEMO: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class StaticModel:
    """The model's numbers. ``table`` has shape (words + buckets, dimensions), int8 or float32; the weights have shape (words + buckets,).

    ``gains`` is how much a word of the name and one of the path count in comparison with one of the code.
    """

    table: NDArray[np.int8] | NDArray[np.float32]
    question_weights: NDArray[np.float32]
    document_weights: NDArray[np.float32]
    gains: tuple[float, float]
    vocabulary: Sequence[str]


class TextVectors:
    """Turns texts into vectors, shape (dimensions,), unit length; those without any word are one. Safe to call from several threads."""

    def __init__(self, model: StaticModel) -> None:
        self._model = model
        self._rows = lru_cache(_MEMO)(WordPieces(model.vocabulary, len(model.table) - len(model.vocabulary)).rows)
        self._words = lru_cache(_MEMO)(words)

    def question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question."""
        counts = self._count(text)
        return self._sum(counts, _frequencies(counts), self._model.question_weights)

    def document(self, name: str, path: str, code: str) -> NDArray[np.float32]:
        """The vector of a code with the words of its name and path."""
        of_code, of_name, of_path = self._count(code), self._count(name), self._count(path)
        name_gain, path_gain = self._model.gains
        weights = (1 + np.log(_frequencies(of_code)), name_gain * _frequencies(of_name), path_gain * _frequencies(of_path))
        return self._sum(chain(of_code, of_name, of_path), np.concatenate(weights), self._model.document_weights)

    def _count(self, text: str) -> Counter[str]:
        return Counter(chain.from_iterable(map(self._words, runs(text))))

    def _sum(self, found: Iterable[str], weights: NDArray[np.float32], word_weights: NDArray[np.float32]) -> NDArray[np.float32]:
        """The weighted sum of the words' rows. Those of a word in pieces share its weight."""
        rows_of_each = list(map(self._rows, found))
        rows = list(chain.from_iterable(rows_of_each))
        if len(rows) > len(rows_of_each):
            sizes = np.array(list(map(len, rows_of_each)))
            weights = np.repeat(weights / sizes, sizes)
        vectors = self._model.table.take(rows, axis=0).astype(np.float32)
        scaled = weights.astype(np.float32) * word_weights.take(rows)
        total: NDArray[np.float32] = np.einsum("ij,i->j", vectors, scaled)  # einsum has loops of its own: BLAS would wake threads
        length = float(np.linalg.norm(total))
        return total / length if length else np.full_like(total, 1 / np.sqrt(len(total)))


def _frequencies(counts: Counter[str]) -> NDArray[np.float32]:
    return np.fromiter(counts.values(), np.float32, len(counts))
