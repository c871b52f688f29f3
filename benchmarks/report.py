"""Writes down what was measured: Markdown for people, JSON for programs, and the picture of quality against latency.

What a command measured is kept in ``benchmarks/work`` until ``write`` collects it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.corpora import HERE, WORK, Missing
from benchmarks.picture import Point, draw
from benchmarks.tables import Measured, markdown
from benchmarks.variants import BASE

RESULTS: Final = HERE / "results"
SHOWN: Final = (BASE, "no rescoring", "text alone", "semantic alone", "thorough")
"""Variants that a caller can ask for: those in the picture."""


def keep(measured: Measured) -> Path:
    """Put the figures of one command aside; a later run of the same kind replaces them."""
    name = "-".join(str(measured[key]) for key in ("kind", "selection", "tree") if key in measured)
    if "embedder" in measured and measured["kind"] != "index":
        name += "-" + str(measured["embedder"]).partition("/")[0]
    path = WORK / "measured" / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")
    return path


def write(name: str, kinds: Sequence[str]) -> list[Path]:
    """What was kept of these kinds, in their order, as ``results/<date>-<name>.{md,json,svg}``. Raises Missing when nothing was."""
    kept = [json.loads(path.read_text("utf-8")) for path in sorted((WORK / "measured").glob("*.json"))]
    kept = [measured for measured in kept if measured["kind"] in kinds]
    if not kept:
        raise Missing("nothing has been measured yet; run relevance, latency or index first")
    kept.sort(
        key=lambda measured: (kinds.index(measured["kind"]), measured.get("embedder") == "none", measured.get("selection") == "whole")
    )
    RESULTS.mkdir(exist_ok=True)
    stem = f"{datetime.now(UTC):%Y-%m-%d}-{name}"
    points = [point for measured in kept if measured["kind"] == "relevance" for point in _points(measured)]
    texts = {"json": json.dumps(kept, indent=1) + "\n", "md": f"# Benchmarks: {name}\n\n" + markdown(kept)}
    if points:
        texts["svg"] = draw(points)
        texts["md"] = texts["md"].replace("\n\n", f"\n\n![NDCG@10 against the median time of a query]({stem}.svg)\n\n", 1)
    paths = []
    for suffix, text in texts.items():
        paths.append(RESULTS / f"{stem}.{suffix}")
        paths[-1].write_text(text, "utf-8")
    return paths


def _points(measured: Measured) -> Iterator[Point]:
    """Peers and the variants that a caller can choose; whole repositories are another question and not in the picture."""
    if measured["selection"] == "whole":
        return
    model = str(measured["embedder"]).partition("/")[0]
    for row in measured["rows"]:
        if "missing" in row:
            continue
        if row["group"] == "other tools":
            yield Point(row["name"], row["all"]["p50_ms"], row["all"]["ndcg"], ours=False)
        elif row["name"] in SHOWN:
            label = "Fourfold" if row["name"] == BASE else f"Fourfold, {row['name']}"
            yield Point(f"{label} ({'no embedder' if model == 'none' else model})", row["all"]["p50_ms"], row["all"]["ndcg"], ours=True)
