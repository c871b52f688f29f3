"""Precision and recall of edges, and what was missed."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

Call = tuple[str, str]


@dataclass(slots=True)
class Score:
    """Counts over cases. ``sure`` edges are those of the classes exact and likely; ``possible`` adds what only a name speaks for."""

    cases: int = 0
    wanted: int = 0
    sure: int = 0
    right: int = 0
    reachable: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, case: str, wanted: Set[Call], sure: Set[Call], possible: Set[Call]) -> None:
        self.cases += 1
        self.wanted += len(wanted)
        self.sure += len(sure)
        self.right += len(wanted & sure)
        self.reachable += len(wanted & possible)
        self.misses += [f"{case}: missing {a} -> {b}{' (possible)' if (a, b) in possible else ''}" for a, b in sorted(wanted - sure)]
        self.misses += [f"{case}: wrong {a} -> {b}" for a, b in sorted(sure - wanted)]

    @property
    def precision(self) -> float:
        return self.right / max(1, self.sure)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.wanted)

    @property
    def recall_possible(self) -> float:
        return self.reachable / max(1, self.wanted)
