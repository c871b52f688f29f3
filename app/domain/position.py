"""What stands at a place of a file: the name, and where it is defined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.domain.code import EdgeClass
from app.domain.query import Snapshot
from app.domain.ranking import Notice
from app.domain.symbols import SymbolDetails


@dataclass(frozen=True, slots=True)
class DefinitionSite:
    """Where a name is defined. ``line`` is 1-based, ``column`` 0-based in code points, None where it is not known.

    ``kind`` is that of a symbol, or ``variable`` for a name that a function or block binds for itself, ``import`` for one whose
    import leads out of the repository, ``attribute`` for an attribute that nothing declares; ``symbol_id`` is None for these.
    """

    path: str
    line: int
    column: int | None
    name: str
    kind: str
    edge_class: EdgeClass
    symbol_id: int | None = None


@dataclass(frozen=True, slots=True)
class NameAt:
    """The name at a place. ``occurrences`` are the lines and columns of a local variable in its file, in order, definitions included."""

    name: str
    line: int
    column: int
    definitions: tuple[DefinitionSite, ...] = ()
    occurrences: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class PositionRequest:
    """A place: ``line`` is 1-based, ``column`` 0-based in code points."""

    repository: str
    path: str
    line: int
    column: int
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class PositionAnswer:
    """What stands at a place; ``name`` is None where no name does. ``symbols``: those of the definitions that are symbols, by id."""

    path: str
    name: NameAt | None
    symbols: Mapping[int, SymbolDetails]
    snapshot: Snapshot
    warnings: tuple[Notice, ...]
    took_ms: float
