"""An embedder with what its users must know of it."""

from __future__ import annotations

from dataclasses import dataclass

from app.embeddings.cached import QueryVectorCache


@dataclass(frozen=True, slots=True)
class Choice:
    """``kind`` and ``model`` name the embedder in settings and vector sets; it is made anew from them.

    ``batch``: chunks per call and commit. An index run and a stopping worker wait for the batch under way, and a kill loses it.
    ``remote``: texts leave this machine. ``cached``: computing a vector costs more than looking it up.
    """

    kind: str
    model: str
    embedder: QueryVectorCache
    batch: int
    remote: bool = False
    cached: bool = True
