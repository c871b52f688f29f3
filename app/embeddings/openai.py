"""Any server with OpenAI's ``/v1/embeddings``: OpenAI, vLLM, Text Embeddings Inference, Ollama and others.

They send numbers. Fewer than 1,024 are projected (``frame``), of 1,024 or more the signs of the first 1,024 are taken: models of that
width are trained to be cut short, and where ``dimensions`` is understood the server does it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.domain.vectors import BITS
from app.embeddings.degenerate import BitBalance
from app.embeddings.document import DOCUMENT_FORMAT
from app.embeddings.frame import pack_bits, project, unit
from app.embeddings.provider import Patience
from app.embeddings.remote import RemoteTexts, Vectors, floats

URL: Final = "https://api.openai.com/v1/embeddings"


@dataclass(frozen=True, slots=True)
class ServedModel:
    """``width``: numbers in its vectors; ``ask_width``: tell the server so. The prefixes tell a question from a document, for models that
    were trained with such."""

    model: str
    width: int
    ask_width: bool = False
    query_prefix: str = ""
    document_prefix: str = ""


class OpenAiEmbedder:
    """See ports.Embedder; raises EmbedderUnavailable and ConfigurationError too."""

    def __init__(self, texts: RemoteTexts, served: ServedModel, document: Patience, query: Patience) -> None:
        self._texts = texts
        self._served = served
        self._document = document
        self._query = query
        self._balance = BitBalance(self.name)

    @property
    def name(self) -> str:
        served = self._served
        prefixes = f"{served.query_prefix}\0{served.document_prefix}".strip("\0")
        prefixed = f"/prefix-{hashlib.sha256(prefixes.encode()).hexdigest()[:8]}" if prefixes else ""
        bits = f"hadamard{BITS}" if served.width < BITS else f"sign{BITS}"
        return f"openai/{served.model}/{served.width}/{bits}{prefixed}/{DOCUMENT_FORMAT}"

    @property
    def bits(self) -> int:
        return BITS

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        """See ports.Embedder."""
        if not texts:
            return np.empty((0, BITS // 8), np.uint8)
        packed = pack_bits(self._widened([self._served.document_prefix + text for text in texts], self._document))
        self._balance.observe(packed)
        return packed

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See ports.Embedder."""
        vector: Vectors = self._widened([self._served.query_prefix + text], self._query)[0]
        return vector

    def _widened(self, texts: Sequence[str], patience: Patience) -> Vectors:
        width = self._served.width
        body: dict[str, object] = {"model": self._served.model, "encoding_format": "float"}
        if self._served.ask_width:
            body["dimensions"] = width
        vectors = self._texts.vectors(texts, body, lambda numbers: floats(numbers, width), patience)
        if width < BITS:
            return unit(project(_to_unit(vectors)))
        return _to_unit(vectors[:, :BITS])


def _to_unit(vectors: Vectors) -> Vectors:
    lengths: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / lengths
