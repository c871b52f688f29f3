"""What the resolution of edges reads and writes: the facts of one file, and its edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from app.domain.code import Binding, EdgeClass, EdgeKind, Import, Reference, Symbol
from app.domain.symbol_id import file_symbol_id, symbol_id


@dataclass(frozen=True, slots=True)
class FileFacts:
    """One file of the repository. ``symbol_ids[i]`` is the id of ``symbols[i]``.

    Filled from a fresh extraction or from the rows ``symbol``, ``reference`` and ``import``, each in the order of its ordinal.
    """

    file_id: int
    path: str
    language: str
    symbols: Sequence[Symbol]
    symbol_ids: Sequence[int]
    references: Sequence[Reference] = ()
    imports: Sequence[Import] = ()
    bindings: Sequence[Binding] = ()

    @property
    def module_id(self) -> int:
        return file_symbol_id(self.path)


class ResolvedEdge(NamedTuple):
    """One dependency of a file. ``reference`` is its index in the file's references, None for imports and overrides.

    ``external`` is the dotted name of a target in a library, whose id is then that of ``external_id``; empty for all others.
    """

    source: int
    target: int
    kind: EdgeKind
    edge_class: EdgeClass
    reference: int | None
    line: int
    external: str = ""


def identify(path: str, symbols: Sequence[Symbol]) -> tuple[int, ...]:
    """The id of each symbol of a file, in order."""
    seen: Counter[tuple[str, str]] = Counter()
    identifiers = []
    for symbol in symbols:
        key = (symbol.kind.value, symbol.qualified)
        identifiers.append(symbol_id(path, *key, seen[key]))
        seen[key] += 1
    return tuple(identifiers)
