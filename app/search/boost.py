"""A hub before a leaf of nearly equal rank: ``min(1 + 0.3 × ln(1 + centrality), 1.5)``, centrality being PageRank as computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from app.domain.ranking import Candidate
from app.search.fuse import by_score
from app.search.profiles import BoostProfile


def boost_factor(centrality: float, profile: BoostProfile) -> float:
    """In [1, cap] for every centrality ≥ 0."""
    return min(1 + profile.coefficient * math.log1p(centrality), profile.cap)


def boost(candidates: Sequence[Candidate], centralities: Mapping[tuple[int, int], float], profile: BoostProfile) -> list[Candidate]:
    """A file's centrality is that of the chunk it shows; ``centralities`` maps (repository_id, chunk_id), absent means 0."""
    return by_score([_boosted(candidate, centralities, profile) for candidate in candidates])


def _boosted(candidate: Candidate, centralities: Mapping[tuple[int, int], float], profile: BoostProfile) -> Candidate:
    shown = candidate.chunks[0].chunk_id if candidate.chunks else -1
    centrality = centralities.get((candidate.key.repository_id, shown), 0.0)
    if not centrality:
        return candidate
    return candidate.boosted(centrality, boost_factor(centrality, profile))
