"""Voyage AI: 1,024 bits straight from the model (``output_dtype=ubinary``), and the query's numbers to compare them with.

``ubinary`` packs eight signs into a byte from 0 to 255, first component in the highest bit. ``binary`` is the same byte minus 128: taken
for the other, every eighth bit would be wrong and nothing would say so, hence a byte out of range is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.vectors import BITS
from app.embeddings.document import DOCUMENT_FORMAT
from app.embeddings.provider import Patience
from app.embeddings.remote import RemoteTexts, Vectors, floats
from app.ports import EmbeddingFailed

URL: Final = "https://api.voyageai.com/v1/embeddings"
MODEL: Final = "voyage-code-3"


class VoyageEmbedder:
    """See ports.Embedder; raises EmbedderUnavailable and ConfigurationError too."""

    def __init__(self, texts: RemoteTexts, model: str, document: Patience, query: Patience) -> None:
        self._texts = texts
        self._model = model
        self._document = document
        self._query = query

    @property
    def name(self) -> str:
        return f"voyage/{self._model}/ubinary{BITS}/{DOCUMENT_FORMAT}"

    @property
    def bits(self) -> int:
        return BITS

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """See ports.Embedder. A text in several pieces gets the majority of their bits."""
        if not texts:
            return np.empty((0, BITS // 8), np.uint8)
        return np.packbits(self._texts.vectors(texts, self._body("document", "ubinary"), _signs, self._document) > 0, axis=1)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See ports.Embedder."""
        vector = self._texts.vectors([text], self._body("query", "float"), lambda numbers: floats(numbers, BITS), self._query)[0]
        return floats(vector, BITS)

    def _body(self, input_type: str, dtype: str) -> dict[str, object]:
        return {
            "model": self._model,
            "input_type": input_type,
            "output_dtype": dtype,
            "output_dimension": BITS,
            "truncation": True,
        }


def _signs(embedding: object) -> Vectors:
    """Packed bits as sent → ±1, shape (1024,)."""
    if not isinstance(embedding, list) or len(embedding) != BITS // 8:
        size = len(embedding) if isinstance(embedding, list) else "no"
        raise EmbeddingFailed(f"the provider returned {size} bytes for a vector, not {BITS // 8}")
    if not all(type(byte) is int and 0 <= byte <= 255 for byte in embedding):
        raise EmbeddingFailed("the provider returned something else than bytes from 0 to 255: that is not ubinary")
    return np.unpackbits(np.array(embedding, np.uint8)).astype(np.float32) * 2 - 1
