"""Runs inside semble's own environment: indexes the tree that is named, then answers questions, one JSON line each.

Alpha 0 gives the model's list no weight, so that a model which knows nothing stands in for the real one.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from semble.index.create import create_index_from_path  # type: ignore[import-not-found]
from semble.search import search  # type: ignore[import-not-found]

CHUNKS = 10  # as in its own benchmark


class NoModel:
    """Says the same about every text."""

    dim = 8

    def encode(self, texts: list[str], **_: Any) -> Any:
        return np.ones((len(texts), self.dim), dtype=np.float32)


def first_chunks(results: list[Any]) -> list[tuple[str, int, int]]:
    """One entry per file, its best chunk, best first."""
    files: dict[str, tuple[str, int, int]] = {}
    for result in results:
        chunk = result.chunk
        files.setdefault(chunk.file_path, (chunk.file_path, chunk.start_line, chunk.end_line))
    return list(files.values())


def main() -> None:
    tree = Path(sys.argv[1]).resolve()
    model: Any = NoModel()
    began = perf_counter()
    lexical, semantic, chunks, _ = create_index_from_path(tree, model=model, display_root=tree)
    print(json.dumps({"seconds": perf_counter() - began, "chunks": len(chunks)}), flush=True)
    for line in sys.stdin:
        began = perf_counter()
        results = search(json.loads(line), model, semantic, lexical, chunks, CHUNKS, alpha=0.0)
        ms = (perf_counter() - began) * 1_000
        print(json.dumps({"ms": ms, "hits": first_chunks(results)}), flush=True)


if __name__ == "__main__":
    main()
