"""Edges between files: how many lead from one file to another, for ranking what stands near the best hits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from app.domain.facts import ResolvedEdge
from app.indexing.resolve import DefinitionIndex


class FileLinks:
    """Counts edges by file. Keeps 12 bytes per symbol of the index, as it is when this is made."""

    def __init__(self, index: DefinitionIndex) -> None:
        self._paths = sorted(index.modules)
        modules = [index.modules[path] for path in self._paths]
        sizes = [len(module.definitions) + 1 for module in modules]
        ids = (number for module in modules for number in (module.id, *(definition.id for definition in module.definitions)))
        unordered = np.fromiter(ids, np.int64, sum(sizes))
        order = np.argsort(unordered)
        self._ids = unordered[order]
        self._files = np.repeat(np.arange(len(modules), dtype=np.int32), sizes)[order]

    def count(self, path: str, edges: Sequence[ResolvedEdge]) -> Counter[str]:
        """Path of another file → edges that lead there from ``path``. Targets outside the index, of libraries, do not count."""
        if not edges or not len(self._ids):
            return Counter()
        targets = np.fromiter((edge.target for edge in edges), np.int64, len(edges))
        at = np.minimum(np.searchsorted(self._ids, targets), len(self._ids) - 1)
        files, counts = np.unique(self._files[at[self._ids[at] == targets]], return_counts=True)
        return Counter({self._paths[file]: int(count) for file, count in zip(files, counts, strict=True) if self._paths[file] != path})
