"""Query vectors that are asked for again: paging, repeated questions, the same question with other filters."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from app.embeddings.document import text_hash
from app.ports import Embedder


class QueryVectorCache:
    """An Embedder that remembers the last ``size`` query vectors (4 kB each). Safe to call from several threads."""

    def __init__(self, embedder: Embedder, *, size: int = 1_024, in_place: bool = False) -> None:
        """``in_place``: a question takes less time than its way to another thread and back, which on a busy service is milliseconds."""
        self._embedder = embedder
        self._in_place = in_place
        self._size = size
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def bits(self) -> int:
        return self._embedder.bits

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.uint8]:
        return self._embedder.embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """See ports.Embedder; the array is shared and read-only."""
        key = text_hash(text)
        vector = self._recall(key)
        return self._remember(key, self._embedder.embed_query(text)) if vector is None else vector

    async def query_vector(self, text: str) -> NDArray[np.float32]:
        """``embed_query`` without holding up the event loop."""
        if self._in_place:
            return self.embed_query(text)
        vector = self._recall(text_hash(text))
        return await asyncio.to_thread(self.embed_query, text) if vector is None else vector

    def _recall(self, key: bytes) -> NDArray[np.float32] | None:
        with self._lock:
            vector = self._vectors.get(key)
            if vector is not None:
                self._vectors.move_to_end(key)
            return vector

    def _remember(self, key: bytes, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        vector.flags.writeable = False
        with self._lock:
            self._vectors[key] = vector
            self._vectors.move_to_end(key)
            while len(self._vectors) > self._size:
                self._vectors.popitem(last=False)
        return vector
