"""One step of the dependency graph from the best hits: what they use, and what uses them, is more likely part of the answer.

The interface of an implementation that was found, the type that its functions take, the caller that ties them together. Measured in
docs/ranking.md; further steps and more than a few hits bring in hubs that everything uses.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.ranking import Candidate, FileKey, FileLink

BEST_HITS: Final = 5


def mark_neighbours(candidates: Sequence[Candidate], best: Sequence[Candidate], links: Sequence[FileLink]) -> list[Candidate]:
    """Give each candidate the feature ``near``: Σ over the best hits it is linked with, score of the hit × ln(1 + edges)."""
    near = nearness({candidate.key: candidate.rescored or 0.0 for candidate in best}, links)
    return [
        candidate._replace(features={**candidate.features, "near": near[candidate.key]}) if candidate.key in near else candidate
        for candidate in candidates
    ]


def nearness(best: Mapping[FileKey, float], links: Sequence[FileLink]) -> Mapping[FileKey, float]:
    """``best`` maps the hits to their scores; links between two of them count for both."""
    near: dict[FileKey, float] = defaultdict(float)
    for link in links:
        for hit, other in ((link.source, link.target), (link.target, link.source)):
            if hit in best:
                near[other] += best[hit] * math.log1p(link.edges)
    return near
