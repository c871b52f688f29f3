"""Variants of one file: for another platform, another build tag, another version of a dependency. One of them answers for all.

Twins lie in the same directory, share a word of their names and define the same things. The second and later ones are demoted, not left
out: who looks for the variant still finds it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final

from app.domain.ranking import Candidate, FileKey
from app.domain.words import file_name_words

LOOKED_AT: Final = 20
FEWEST_NAMES: Final = 3
SHARED: Final = 0.8
"""Of the names that both define together, the part that each of the two must define."""

Names = Mapping[FileKey, frozenset[str]]


def possible_twins(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those of the first candidates that may have a twin among them, by their paths."""
    beside: dict[tuple[int, str], list[Candidate]] = defaultdict(list)
    for candidate in candidates[:LOOKED_AT]:
        beside[candidate.key.repository_id, candidate.key.path.rpartition("/")[0]].append(candidate)
    twins = {c.key for same in beside.values() if len(same) > 1 for c in same if any(_may_be_twins(c, other) for other in same)}
    return [candidate for candidate in candidates[:LOOKED_AT] if candidate.key in twins]


def demote_twins(candidates: Sequence[Candidate], names: Names, factor: float) -> list[Candidate]:
    """``candidates`` are rescored, best first; ``names`` are those that each possible twin defines. The best of twins stays, the others
    are multiplied by ``factor``."""
    first = {key: twin for twin, key in _pairs(candidates[:LOOKED_AT], names)}
    if not first:
        return list(candidates)
    marked = [_demoted(candidate, first.get(candidate.key), factor) for candidate in candidates]
    return sorted(marked, key=lambda candidate: -(candidate.rescored if candidate.rescored is not None else candidate.score))


def _pairs(candidates: Sequence[Candidate], names: Names) -> Iterator[tuple[FileKey, FileKey]]:
    """Of twins the better, which is none's twin itself, and the other."""
    lesser: set[FileKey] = set()
    for better, other in combinations(candidates, 2):
        if better.key not in lesser and other.key not in lesser and _may_be_twins(better, other):
            mine, others = names.get(better.key, frozenset()), names.get(other.key, frozenset())
            if min(len(mine), len(others)) >= FEWEST_NAMES and len(mine & others) >= SHARED * len(mine | others):
                lesser.add(other.key)
                yield better.key, other.key


def _may_be_twins(one: Candidate, other: Candidate) -> bool:
    if one.key == other.key or one.key.repository_id != other.key.repository_id or one.language != other.language:
        return False
    same_folder = one.key.path.rpartition("/")[0] == other.key.path.rpartition("/")[0]
    return same_folder and not _name_words(one.key.path).isdisjoint(_name_words(other.key.path))


@lru_cache(maxsize=1 << 12)
def _name_words(path: str) -> frozenset[str]:
    """Remembered, since every file is compared with all others of its folder."""
    return frozenset(file_name_words(path))


def _demoted(candidate: Candidate, twin: FileKey | None, factor: float) -> Candidate:
    if twin is None:
        return candidate
    reason = f"variant of {twin.path}"
    return candidate._replace(
        demotion=candidate.demotion * factor,
        demotion_reason=f"{candidate.demotion_reason}, {reason}" if candidate.demotion_reason else reason,
        rescored=None if candidate.rescored is None else candidate.rescored * factor,
    )
