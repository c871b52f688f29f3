"""What is compared with the service as it is: each signal and modality left out, other numbers, other routes.

A variant changes the numbers of ``profiles.toml`` in memory, or asks with a field that every caller has (preset, modalities, rescore).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from app.domain.query import Modality, Preset
from app.search.profiles import BoostProfile, FusionPreset, Profiles

BASE: Final = "as it is"
ABOVE_ANY_CONFIDENCE: Final = 2.0
OF_MEANING: Final = ("sem", "cent")
KS: Final = (20, 40, 60, 80, 100)


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of the ablation; ``request`` holds fields of SearchRequest."""

    group: str
    name: str
    profiles: Profiles
    request: Mapping[str, Any] = field(default_factory=dict)


def all_variants(base: Profiles, *, semantic: bool) -> list[Variant]:
    """The service as it is, first; ``semantic`` says whether there are vectors, without which their variants mean nothing."""
    return [
        Variant("", BASE, base),
        *_switches(base),
        *_modalities(base, semantic),
        *_routes(base),
        *_fusion(base),
        *_signals(base, semantic),
    ]


def _switches(base: Profiles) -> Iterator[Variant]:
    plain = {"rescore": False}
    yield Variant("stages", "no rescoring", base, plain)
    yield Variant("stages", "no boost", replace(base, boost=BoostProfile(0.0, 1.0, 0.0)))
    yield Variant("stages", "no boost, no rescoring", replace(base, boost=BoostProfile(0.0, 1.0, 0.0)), plain)
    yield Variant("stages", "no demotion", _without_demotion(base, *base.demotion.factors, old_version=True))
    yield Variant("stages", "no demotion, no rescoring", _without_demotion(base, *base.demotion.factors, old_version=True), plain)


def _modalities(base: Profiles, semantic: bool) -> Iterator[Variant]:
    present = [modality for modality in Modality if semantic or modality is not Modality.SEMANTIC]
    for modality in present:
        yield Variant("one modality alone", f"{modality} alone", base, {"modalities": (modality,)})
    for modality in present:
        yield Variant("one modality off", f"without {modality}", _without_modality(base, modality))


def _routes(base: Profiles) -> Iterator[Variant]:
    yield Variant("routes", "never direct", replace(base, direct_confidence=ABOVE_ANY_CONFIDENCE))
    yield Variant("routes", "direct whenever plain", replace(base, direct_confidence=0.0))
    yield Variant("routes", "thorough", base, {"preset": Preset.THOROUGH})


def _fusion(base: Profiles) -> Iterator[Variant]:
    for k in KS:
        if k == base.presets[Preset.BALANCED].k:
            continue  # as it is
        profiles = replace(base, presets={preset: FusionPreset(row.modalities, k) for preset, row in base.presets.items()})
        yield Variant("k of fusion", f"k = {k}", profiles)
        yield Variant("k of fusion", f"k = {k}, no rescoring", profiles, {"rescore": False})
    for depth in (10, 20, 100):
        yield Variant("files rescored", f"{depth} rescored", replace(base, depth_rescored=depth))


def _signals(base: Profiles, semantic: bool) -> Iterator[Variant]:
    for feature in base.features:
        if semantic or feature.name not in OF_MEANING:
            rest = tuple(other for other in base.features if other is not feature)
            yield Variant("one feature off", f"without feature {feature.name}", replace(base, features=rest))
    for path_class in base.demotion.factors:
        yield Variant("one demotion off", f"{path_class} not demoted", _without_demotion(base, path_class))
    yield Variant("one demotion off", "old version not demoted", _without_demotion(base, old_version=True))
    yield Variant("one demotion off", "private not demoted", replace(base, demotion=replace(base.demotion, private=1.0)))
    yield Variant("one demotion off", "variants not demoted", replace(base, demotion=replace(base.demotion, variant=1.0)))


def _without_modality(base: Profiles, modality: Modality) -> Profiles:
    """Weight 0 for every intent: it never runs, and the next one takes its place."""
    return replace(base, weights={intent: {**row, modality: 0.0} for intent, row in base.weights.items()})


def _without_demotion(base: Profiles, *classes: Any, old_version: bool = False) -> Profiles:
    factors = {path_class: factor for path_class, factor in base.demotion.factors.items() if path_class not in classes}
    return replace(base, demotion=replace(base.demotion, factors=factors, old_version=1.0 if old_version else base.demotion.old_version))
