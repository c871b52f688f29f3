"""The numbers of the read path, read once from ``profiles.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from app.domain.code import PathClass
from app.domain.query import Intent, Modality, Preset


@dataclass(frozen=True, slots=True)
class FusionPreset:
    """How many modalities a preset lets run at most, and the k of its reciprocal rank fusion."""

    modalities: int
    k: int


@dataclass(frozen=True, slots=True)
class BoostProfile:
    coefficient: float
    cap: float
    between_equals: float

    def among_equals(self) -> BoostProfile:
        """As much of it as decides between equal scores alone."""
        return BoostProfile(self.coefficient * self.between_equals, 1 + (self.cap - 1) * self.between_equals, 1.0)


@dataclass(frozen=True, slots=True)
class DemotionProfile:
    """Factors below 1 by class of path, and the phrases by which a question asks for a class."""

    factors: Mapping[PathClass, float]
    old_version: float
    private: float
    variant: float
    asked: Mapping[PathClass, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Feature:
    """One row of the linear score; ``single_weight`` replaces ``weight`` for a query of one word."""

    name: str
    raw: str
    weight: float
    normalised: bool = False
    single_weight: float | None = None

    def weight_for(self, single: bool) -> float:
        return self.single_weight if single and self.single_weight is not None else self.weight


@dataclass(frozen=True, slots=True)
class Profiles:
    weights: Mapping[Intent, Mapping[Modality, float]]
    tie_order: tuple[Modality, ...]
    direct_confidence: float
    presets: Mapping[Preset, FusionPreset]
    depth_rescored: int
    depth_boosted: int
    boost: BoostProfile
    demotion: DemotionProfile
    features: tuple[Feature, ...]


@lru_cache(maxsize=1)
def load_profiles() -> Profiles:
    """Raises KeyError, TypeError or ValueError when the file does not say everything, or says something unknown."""
    data = tomllib.loads(resources.files("app.search").joinpath("profiles.toml").read_text("utf-8"))
    demotion = data["demotion"]
    return Profiles(
        weights={intent: {modality: float(data["weights"][intent][modality]) for modality in Modality} for intent in Intent},
        tie_order=tuple(Modality(name) for name in data["routing"]["tie_order"]),
        direct_confidence=data["routing"]["direct_confidence"],
        presets={Preset(name): FusionPreset(**row) for name, row in data["presets"].items()},
        depth_rescored=data["depth"]["rescored"],
        depth_boosted=data["depth"]["boosted"],
        boost=BoostProfile(**data["boost"]),
        demotion=DemotionProfile(
            factors={PathClass(name): factor for name, factor in demotion["factors"].items()},
            old_version=demotion["old_version"],
            private=demotion["private"],
            variant=demotion["variant"],
            asked={PathClass(name): frozenset(words) for name, words in demotion["asked"].items()},
        ),
        features=tuple(Feature(**row) for row in data["features"]),
    )
