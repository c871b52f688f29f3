"""Which modalities run, how far each is trusted, and how their lists become one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.query import Classification, Filters, Intent, Modality, Preset, SearchRequest, Strategy
from app.domain.ranking import Notice, RankedList
from app.domain.words import is_written_as_code
from app.search.parse import ParsedQuery
from app.search.profiles import Profiles

DEPENDENTS: Final = frozenset({Intent.FIND_REFERENCES, Intent.IMPACT_ANALYSIS})
"""Intents that ask for what depends on a symbol."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The route of a query: the modalities with their weights, most trusted first; ``k`` is used by fusion alone.

    ``final``: finding nothing is the answer, no other modality is asked.
    """

    strategy: Strategy
    modalities: tuple[tuple[Modality, float], ...]
    k: int
    warnings: tuple[Notice, ...] = ()
    final: bool = False


def route(classification: Classification, request: SearchRequest, parsed: ParsedQuery, profiles: Profiles) -> Plan:
    """Decide the route; the order of the rules is part of the contract (examples, filters alone, explicit, quick, exact, direct, fused)."""
    if request.like or request.unlike:
        weight = profiles.weights[Intent.FIND_SIMILAR][Modality.SEMANTIC]
        return Plan(Strategy.SINGLE, ((Modality.SEMANTIC, weight),), _k(request.preset, profiles))
    if parsed.listing:
        lists = Modality.STRUCTURAL if parsed.filters.kinds or parsed.filters.symbols else Modality.TEXT
        return Plan(Strategy.DIRECT, ((lists, 1.0),), _k(request.preset, profiles), final=True)
    if request.modalities:
        return _explicit(classification, request, profiles)
    if request.preset is Preset.QUICK:
        return _quick(classification, profiles)
    if parsed.literal:
        text = profiles.weights[Intent.EXACT_MATCH][Modality.TEXT]
        return Plan(Strategy.DIRECT, ((Modality.TEXT, text),), _k(request.preset, profiles), final=True)
    if classification.confidence >= profiles.direct_confidence and is_plain(classification, parsed):
        dominant = _by_trust(classification.intent, profiles)[0]
        return Plan(Strategy.DIRECT, (dominant,), _k(request.preset, profiles))
    return fused(classification, request.preset, profiles)


def fused(classification: Classification, preset: Preset, profiles: Profiles) -> Plan:
    """The modalities that the intent trusts most, as many as the preset admits, none of weight 0."""
    trusted = [(modality, weight) for modality, weight in _by_trust(classification.intent, profiles) if weight > 0]
    admitted = tuple(trusted[: profiles.presets[preset].modalities])
    return Plan(Strategy.WEIGHTED_RRF, admitted, _k(preset, profiles), _operand_warnings(classification))


def is_topic(classification: Classification, uses: RankedList | None) -> bool:
    """Whether a question for the uses of something turned out to be one about a topic ("who handles uploads").

    It is where the graph answered, with ``uses``, and knows none of what is named, by a word of no program. Then the rest is asked as
    for any question in words: the weights for dependents trust the modalities least that can still answer.
    """
    if classification.intent not in DEPENDENTS or uses is None or uses.files:
        return False
    return not any(map(is_written_as_code, classification.operands))


def is_plain(classification: Classification, parsed: ParsedQuery) -> bool:
    """One line, one operand, no pattern, no filter but repository, revision, language and path: one modality can answer it alone."""
    filters = parsed.filters
    narrowed = Filters(
        languages=filters.languages,
        paths=filters.paths,
        include_tests=filters.include_tests,
        include_docs=filters.include_docs,
        include_vendor=filters.include_vendor,
        repositories=filters.repositories,
        revision=filters.revision,
    )
    return len(parsed.text.splitlines()) == 1 and len(classification.operands) == 1 and filters == narrowed


def _explicit(classification: Classification, request: SearchRequest, profiles: Profiles) -> Plan:
    chosen = set(request.modalities)
    weighted = tuple(pair for pair in _by_trust(classification.intent, profiles) if pair[0] in chosen)
    if not any(weight for _, weight in weighted):
        weighted = tuple((modality, 1 / len(weighted)) for modality, _ in weighted)
    strategy = Strategy.SINGLE if len(weighted) == 1 else Strategy.WEIGHTED_RRF
    return Plan(strategy, weighted, _k(request.preset, profiles), _operand_warnings(classification))


def _quick(classification: Classification, profiles: Profiles) -> Plan:
    warnings = _operand_warnings(classification)
    if classification.intent is Intent.EXACT_MATCH:
        message = "the quick preset searches by meaning only and does not look for the exact string; use balanced for that"
        warnings += (Notice("quick_is_not_exact", message),)
    weight = profiles.weights[classification.intent][Modality.SEMANTIC]
    return Plan(Strategy.SINGLE, ((Modality.SEMANTIC, weight or 1.0),), _k(Preset.QUICK, profiles), warnings)


def _by_trust(intent: Intent, profiles: Profiles) -> list[tuple[Modality, float]]:
    weights = profiles.weights[intent]
    return sorted(weights.items(), key=lambda pair: (-pair[1], profiles.tie_order.index(pair[0])))


def _k(preset: Preset, profiles: Profiles) -> int:
    """Quick has no k of its own: it fuses only when the modalities were chosen by hand, and then as balanced does."""
    return profiles.presets.get(preset, profiles.presets[Preset.BALANCED]).k


def _operand_warnings(classification: Classification) -> tuple[Notice, ...]:
    if not classification.operand_missing:
        return ()
    message = "the question asks about a definition but names none; the answer starts from what its words resolve to"
    return (Notice("operand_missing", message),)
