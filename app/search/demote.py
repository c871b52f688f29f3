"""Tests, examples, documentation, vendored code and old versions come after the code itself, unless they are what is asked for: by a
filter, a phrase, or a name that is defined nowhere else. Of a public and a private module that answer alike, the public one comes first.

Never excluded: a demoted file that is the only answer is still the answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Final, TypeAlias

from app.domain.code import PathClass
from app.domain.query import Filters, Intent
from app.domain.ranking import Candidate, FileKey
from app.search.fuse import by_score
from app.search.profiles import DemotionProfile

_INCLUDED_BY = {
    "include_tests": (PathClass.TEST, PathClass.EXAMPLE),
    "include_docs": (PathClass.DOCUMENTATION, PathClass.CONFIGURATION),
    "include_vendor": (PathClass.VENDOR, PathClass.GENERATED),
}
_VERSION_DIRECTORY = re.compile(r"v(\d+)")
_VERSION_ASKED = re.compile(r"(?<![A-Za-z0-9_])v(\d+)", re.IGNORECASE)
Version: TypeAlias = tuple[tuple[int, str], int]
Demotion: TypeAlias = tuple[float, str | None]
"""A factor and the reason for it."""

_UNDEMOTED: Final[Demotion] = (1.0, None)
_PRIVATE = re.compile(r"(?:^|/)_[^_/][^/]*\.pyi?$")
"""A private module of Python (PEP 8). Elsewhere an underscore says other things, as in ``_app.tsx`` and ``_button.scss``."""
_WORD = re.compile(r"[\w-]+")
_MOST_ALIKE = 0.9
"""Of the similarity of the name that is most like a misspelt one."""


def demote(candidates: Sequence[Candidate], text: str, intent: Intent, filters: Filters, profile: DemotionProfile) -> list[Candidate]:
    """Multiply scores by the factor of the path's class and, for an old version, by that factor too; best first."""
    if intent in (Intent.FIND_REFERENCES, Intent.IMPACT_ANALYSIS):
        return list(candidates)  # every call site matters, wherever it is
    wanted = wanted_classes(text, filters, profile)
    by_class = {path_class: (factor, path_class.value) for path_class, factor in profile.factors.items() if path_class not in wanted}
    outdated = _outdated(candidates, frozenset(int(number[:9]) for number in _VERSION_ASKED.findall(text)))
    demotions = [_demotion(candidate, by_class, outdated, profile) for candidate in candidates]
    kept = _unless_only_there(candidates, demotions, profile.private)
    return by_score(Candidate.demoted(candidates, [factor for factor, _ in kept], [reason for _, reason in kept]))


def _unless_only_there(candidates: Sequence[Candidate], demotions: Sequence[Demotion], least: float) -> Sequence[Demotion]:
    """What the question names asks for tests, examples or old versions where it is nowhere else; a factor of ``least`` or more is a
    tie-break and makes no difference.
    """
    named = _named(candidates)
    if not named or any(demotions[place][0] >= least for place in named):
        return demotions
    return [_UNDEMOTED if place in named else demotion for place, demotion in enumerate(demotions)]


def _named(candidates: Sequence[Candidate]) -> Set[int]:
    """The places of what the question names: the file at a path, else what defines a name, else what defines those most like it."""
    features = [candidate.features for candidate in candidates]
    for name, share in (("path", 0.0), ("ex", 0.0), ("alike", _MOST_ALIKE)):
        values = [found.get(name, 0.0) for found in features]
        if best := max(values, default=0.0):
            return {place for place, value in enumerate(values) if value > share * best}
    return frozenset()


def wanted_classes(text: str, filters: Filters, profile: DemotionProfile) -> frozenset[PathClass]:
    """The classes that a filter or a phrase of the question asks for."""
    by_filter = {path_class for name, classes in _INCLUDED_BY.items() if getattr(filters, name) for path_class in classes}
    words = f" {' '.join(_WORD.findall(text.lower()))} "
    by_phrase = {path_class for path_class, asked in profile.asked.items() if any(_is_in(phrase, words) for phrase in asked)}
    return frozenset(by_filter | by_phrase)


def _is_in(phrase: str, words: str) -> bool:
    return phrase in words if "\u4e00" <= phrase[0] <= "\u9fff" else f" {phrase} " in words


def _demotion(
    candidate: Candidate, by_class: Mapping[PathClass, Demotion], outdated: frozenset[Version], profile: DemotionProfile
) -> Demotion:
    demotion = by_class.get(candidate.path_class, _UNDEMOTED)
    if outdated and not outdated.isdisjoint(_versions(candidate.key)):
        demotion = _further(demotion, profile.old_version, "old version")
    if _is_private(candidate.key.path):
        demotion = _further(demotion, profile.private, "private")
    return demotion


def _further(demotion: Demotion, factor: float, reason: str) -> Demotion:
    before, reasons = demotion
    return before * factor, f"{reasons}, {reason}" if reasons else reason


def _outdated(candidates: Sequence[Candidate], asked: frozenset[int]) -> frozenset[Version]:
    """The versions that have a newer one beside them; when the question names versions, all that have a named one beside them."""
    beside: dict[tuple[int, str], set[int]] = {}
    for candidate in candidates:
        for place, version in _versions(candidate.key):
            beside.setdefault(place, set()).add(version)
    return frozenset((place, version) for place, versions in beside.items() for version in versions - (asked & versions or {max(versions)}))


def _versions(key: FileKey) -> Sequence[Version]:
    """((repository, parent directory), number) of each ``v<number>`` directory in the path: of most files there is none at a glance."""
    return _versions_in(key) if "/v" in key.path or key.path.startswith("v") else ()


def _is_private(path: str) -> bool:
    return ("/_" in path or path.startswith("_")) and _PRIVATE.search(path) is not None


@lru_cache(maxsize=1 << 14)
def _versions_in(key: FileKey) -> Sequence[Version]:
    """Remembered: the same files are found again and again."""
    directories = key.path.split("/")[:-1]
    matches = ((depth, _VERSION_DIRECTORY.fullmatch(directory)) for depth, directory in enumerate(directories))
    return [((key.repository_id, "/".join(directories[:depth])), int(match[1][:9])) for depth, match in matches if match]
