"""An impact as SARIF 2.1.0 (OASIS), which code scanning shows beside the lines: a result per affected symbol and per blind spot."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from app import __version__
from app.http.schemas.impact import AffectedShape, BlindSpotShape, HopShape, ImpactShape

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT: Final = "%SRCROOT%"

_RULES: Final = (
    ("impact/certain", "warning", "A change reaches this symbol over resolved edges."),
    ("impact/possible", "note", "A change possibly reaches this symbol, over a name that could not be resolved."),
    ("impact/blind-spot", "note", "What is used here is decided at run time: the change may reach further than was seen."),
)


def as_sarif(impact: ImpactShape) -> str:
    """One run; its properties hold the intervals, what was cut, and the warnings."""
    results = [
        *(_affected(entry, 0) for entry in impact.certain),
        *(_affected(entry, 1) for entry in impact.possible),
        *(_blind_spot(spot) for spot in impact.blind_spots),
    ]
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "Fourfold", "version": __version__, "rules": [_rule(*rule) for rule in _RULES]}},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notifications(impact)}],
        "results": results,
        "properties": {
            "repository": impact.index[0].repository,
            "revision": impact.index[0].revision,
            "indexed": impact.indexed,
            "summary": impact.summary.model_dump(),
            "complete": impact.complete,
            "truncated": impact.truncated,
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _rule(identifier: str, level: str, text: str) -> dict[str, Any]:
    return {"id": identifier, "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}


def _affected(entry: AffectedShape, rule: int) -> dict[str, Any]:
    way = " → ".join(f"{hop.relation} {name}" for hop, name in zip(entry.hops, [*_names(entry.hops[1:]), "the change"], strict=True))
    identifier, level, _ = _RULES[rule]
    first = entry.hops[0]
    return {
        "ruleId": identifier,
        "ruleIndex": rule,
        "level": level,
        "message": {"text": f"{entry.symbol.qualified} {way} ({entry.edge_class}, distance {entry.distance})."},
        "locations": [_location(first.path, first.line, entry.symbol.qualified, entry.symbol.kind)],
        "codeFlows": [{"threadFlows": [{"locations": [_step(hop) for hop in entry.hops]}]}],
        "partialFingerprints": {"symbolPair/v1": f"{entry.symbol.id}:{entry.changed}"},
        "properties": {"class": entry.edge_class, "distance": entry.distance},
    }


def _names(hops: Sequence[HopShape]) -> list[str]:
    return [hop.qualified for hop in hops]


def _step(hop: HopShape) -> dict[str, Any]:
    location = _location(hop.path, hop.line, hop.qualified) | {"message": {"text": f"{hop.qualified} {hop.relation} ({hop.edge_class})"}}
    return {"location": location}


def _blind_spot(spot: BlindSpotShape) -> dict[str, Any]:
    identifier, level, _ = _RULES[2]
    return {
        "ruleId": identifier,
        "ruleIndex": 2,
        "level": level,
        "message": {"text": f"{spot.name}: {spot.kind.replace('_', ' ')}."},
        "locations": [_location(spot.path, spot.line, spot.symbol)],
    }


def _location(path: str, line: int, qualified: str | None, kind: str | None = None) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": quote(path), "uriBaseId": ROOT}, "region": {"startLine": line}}
    }
    if qualified is not None:
        place["logicalLocations"] = [{"fullyQualifiedName": qualified} | ({"kind": kind} if kind else {})]
    return place


def _notifications(impact: ImpactShape) -> list[dict[str, Any]]:
    texts = [warning.message for warning in impact.warnings]
    texts += [f"the walk was cut: {reason}" for reason in impact.truncated]
    return [{"level": "note", "message": {"text": text}} for text in texts]
