"""What the embedders of providers share: batches within limits, long texts in pieces, requests halved when refused for their size."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.embeddings.batches import Limits, batches, pieces, tokens_of
from app.embeddings.provider import Patience, Provider, TooLarge
from app.ports import EmbeddingFailed

_SHORTEST: Final = 200  # characters; a text that is refused even so is not too long

Vectors = NDArray[np.float32]
Decode = Callable[[object], Vectors]
"""One ``embedding`` of an answer → its vector, shape (bits,); raises EmbeddingFailed."""


class RemoteTexts:
    """Sends texts to a provider and reads one vector for each of them."""

    def __init__(self, provider: Provider, limits: Limits) -> None:
        self._provider = provider
        self._limits = limits

    def vectors(self, texts: Sequence[str], body: Mapping[str, object], decode: Decode, patience: Patience) -> Vectors:
        """Shape (n, bits). The vector of a text that is cut into pieces is the sum of theirs."""
        cut = [pieces(_sendable(text), self._limits) for text in texts]
        flat = [piece for parts in cut for piece in parts]
        rows = [vector for batch in batches(flat, self._limits) for vector in self._batch(batch, body, decode, patience)]
        owner = np.repeat(np.arange(len(texts)), [len(parts) for parts in cut])
        summed = np.zeros((len(texts), len(rows[0])), np.float32)
        np.add.at(summed, owner, np.stack(rows))
        return summed

    def _batch(self, texts: Sequence[str], body: Mapping[str, object], decode: Decode, patience: Patience) -> list[Vectors]:
        try:
            answer = self._provider.post({**body, "input": list(texts)}, sum(map(tokens_of, texts)), patience)
        except TooLarge:
            if len(texts) == 1 and len(texts[0]) <= _SHORTEST:
                raise
            parts = [texts[: len(texts) // 2], texts[len(texts) // 2 :]] if len(texts) > 1 else [[texts[0][: len(texts[0]) // 2]]]
            return [vector for part in parts for vector in self._batch(part, body, decode, patience)]
        return [decode(embedding) for embedding in _in_order(answer, len(texts))]


def _in_order(answer: object, wanted: int) -> list[object]:
    """The ``embedding`` of each text; raises EmbeddingFailed unless there is exactly one for each."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or not all(isinstance(item, dict) for item in data):
        raise EmbeddingFailed("the provider's answer has no list of embeddings")
    by_index = {item.get("index", at): item.get("embedding") for at, item in enumerate(data)}
    if len(data) != wanted or set(by_index) != set(range(wanted)):
        raise EmbeddingFailed(f"the provider returned {len(data)} vectors for {wanted} texts")
    return [by_index[at] for at in range(wanted)]


def _sendable(text: str) -> str:
    """Valid Unicode, and not empty, which providers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8") or " "


def floats(embedding: object, width: int) -> Vectors:
    """A vector of ``width`` finite numbers that are not all zero, at unit length; raises EmbeddingFailed for anything else."""
    try:
        vector = np.asarray(embedding, np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingFailed("the provider returned something that is no vector") from error
    if vector.shape != (width,):
        raise EmbeddingFailed(f"the provider returned a vector of shape {vector.shape}, not of {width} numbers")
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        raise EmbeddingFailed("the provider returned a vector with NaN, infinite or only zero components")
    unit: Vectors = vector / np.float32(length)
    return unit
