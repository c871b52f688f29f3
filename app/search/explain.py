"""Why a result stands where it stands: every factor of its score, as plain data."""

from __future__ import annotations

from collections.abc import Mapping

from app.domain.query import Strategy
from app.search.dedupe import Entry
from app.search.profiles import Feature
from app.search.rescore import feature_values
from app.search.route import Plan


def explain(entry: Entry, plan: Plan, single: bool, features: tuple[Feature, ...]) -> Mapping[str, object]:
    """The explanation of one result.

    ``fused = Σ contributions × demotion``, ``list_score`` likewise: contributions hold the boost. When rescored,
    ``score = Σ value × weight × demotion``.
    """
    candidate = entry.candidate
    explanation: dict[str, object] = {
        "strategy": plan.strategy.value,
        "contributions": [
            {"modality": part.modality.value, "rank": part.rank, "weight": part.weight, "value": part.value}
            for part in candidate.contributions
        ],
        "fused" if plan.strategy is Strategy.WEIGHTED_RRF else "list_score": candidate.score,
        "boost": {"factor": candidate.boost, "centrality": candidate.centrality},
        "demotion": {"factor": candidate.demotion, "reason": candidate.demotion_reason, "path_class": candidate.path_class.value},
    }
    if plan.strategy is Strategy.WEIGHTED_RRF:
        explanation["k"] = plan.k
    if candidate.rescored is not None:
        explanation["features"] = {
            term.name: {"value": term.value, "weight": term.weight, "contribution": term.value * term.weight}
            for term in feature_values(candidate, single, features)
        }
        explanation["rescored"] = candidate.rescored
    return explanation
