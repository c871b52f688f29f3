"""The tables of a report, one section for each command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.scoring import DEPTH

Measured = Mapping[str, Any]


def markdown(kept: Iterable[Measured]) -> str:
    """The figures as tables."""
    return "\n".join(line for measured in kept for line in [*_SECTIONS[measured["kind"]](measured), "", _machine(measured), ""])


def _machine(measured: Measured) -> str:
    facts = measured["machine"]
    told = "Measured on: " + ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in facts.items()) + "."
    if facts.get("load_before", 0) > facts["cores"] / 2:
        told += " **Others used the machine at the same time: the times say little.**"
    return told


def _relevance(measured: Measured) -> Iterator[str]:
    whole = measured["selection"] == "whole"
    held_out = ", ".join(name for name, facts in measured["repositories"].items() if facts["held_out"])
    rows = [row for row in measured["rows"] if "missing" not in row]
    base = rows[0]
    yield f"## Relevance: {'whole repositories' if whole else 'the folders that count'}, embedder {measured['embedder']}"
    yield ""
    asked = f"{base['all']['queries']} judged queries in {len(measured['repositories'])} repositories"
    yield f"{asked}. Held out, nothing is tuned on them: {held_out or 'none'}."
    yield ""
    yield from _table(
        ["", "queries", f"NDCG@{DEPTH}", f"recall@{DEPTH}", "MRR", "no result", "p50 ms"],
        [_quality(label, row) for label, row in _parts(base)],
    )
    yield ""
    yield from _table(
        ["", f"NDCG@{DEPTH}", "change", "tuned on", "held out", *base["category"], "better/worse", "recall", "MRR", "no result", "p50 ms"],
        list(_ablation(rows, base)),
    )
    yield from _missing(measured["rows"])


def _parts(row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    yield "all", row["all"]
    for key, label in (("tuned", "tuned on"), ("held_out", "held out")):
        if key in row:
            yield label, row[key]
    yield from row["category"].items()
    yield from row["repository"].items()


def _quality(label: str, row: Mapping[str, float]) -> list[str]:
    figures = [f"{row[key]:.3f}" for key in ("ndcg", "recall", "mrr", "empty")]
    return [label, str(int(row["queries"])), *figures, f"{row['p50_ms']:.1f}"]


def _ablation(rows: Sequence[Mapping[str, Any]], base: Mapping[str, Any]) -> Iterator[list[str]]:
    group = ""
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            yield [f"*{group}*"]
        parts = [f"{row[key]['ndcg']:.3f}" if key in row else "" for key in ("tuned", "held_out")]
        categories = [f"{row['category'][category]['ndcg']:.3f}" for category in base["category"]]
        change = "" if row is base else f"{row['all']['ndcg'] - base['all']['ndcg']:+.3f}"
        moved = f"{row['better']}/{row['worse']}" if "better" in row and row is not base else ""
        rest = [f"{row['all']['recall']:.3f}", f"{row['all']['mrr']:.3f}", f"{row['all']['empty']:.3f}", f"{row['all']['p50_ms']:.1f}"]
        yield [row["name"], f"{row['all']['ndcg']:.3f}", change, *parts, *categories, moved, *rest]


def _latency(measured: Measured) -> Iterator[str]:
    store = measured["store"]
    yield f"## Latency: {measured['tree']}, embedder {measured['embedder']}"
    yield ""
    made_up = f", {store['vectors_made_up']} of them with a vector of random bits" if store.get("vectors_made_up") else ""
    stored = f"{store['repositories']} repositories in the store, {store['chunks']} chunks in this one{made_up}"
    yield f"Over HTTP on loopback, {stored}. Milliseconds."
    yield ""
    columns = ["p50_ms", "p95_ms", "p99_ms", "server_p50_ms", "server_p95_ms"]
    yield from _table(
        ["route", "clients", "p50", "p95", "p99", "server p50", "server p95", "per second", "requests", "as routed", "partial", "errors"],
        [
            [
                row["route"],
                str(row["clients"]),
                *(f"{row[column]:.1f}" for column in columns),
                f"{row['per_second']:.0f}",
                *(str(row[key]) for key in ("requests", "as_routed", "partial")),
                ", ".join(f"{count} × {status}" for status, count in row["errors"].items()) or "0",
            ]
            for row in measured["rows"]
        ],
    )
    yield ""
    yield "Medians of each retriever, one client:"
    yield ""
    alone = [row for row in measured["rows"] if row["clients"] == 1]
    modalities = sorted({name for row in alone for name in row["by_modality"]})
    times = [[row["route"], *(str(row["by_modality"].get(name, "")) for name in modalities)] for row in alone]
    yield from _table(["route", *modalities], times)
    yield ""
    yield "Exact search, medians in ms and the matching lines; the ratio is Fourfold's server time to the tool's."
    yield ""
    tools = [key for key in measured["exact"][0] if key not in ("pattern", "regex", "fourfold")]
    yield from _table(
        ["pattern", "Fourfold, server", "Fourfold, HTTP", "lines", *(title for tool in tools for title in (tool, "lines", "ratio"))],
        [_exact_row(row, tools) for row in measured["exact"]],
    )


def _exact_row(row: Mapping[str, Any], tools: Sequence[str]) -> list[str]:
    ours = row["fourfold"]
    cells = [f"`{row['pattern']}`", f"{ours['ms']:.1f}", f"{ours['http_ms']:.1f}", f"{ours['lines']:.0f}"]
    for tool in tools:
        theirs = row[tool]
        cells += (
            [theirs, "", ""]
            if isinstance(theirs, str)
            else [f"{theirs['ms']:.1f}", f"{theirs['lines']:.0f}", f"{ours['ms'] / theirs['ms']:.2f}"]
        )
    return cells


def _index(measured: Measured) -> Iterator[str]:
    source = measured["source"]
    total = sum(measured["seconds"].values())
    stored = sum(table[part] for table in measured["tables"] for part in ("rows", "aside", "indexes"))
    yield f"## Index: {measured['tree']}, without embeddings"
    yield ""
    yield (
        f"{source['files']} files, {source['bytes'] / 1e6:.1f} MB of source. {total:.1f} s with {measured['processes']} parser processes; "
        f"a further run with nothing changed {sum(measured['seconds_unchanged'].values()):.1f} s. Store {stored / 1e6:.1f} MB, "
        f"{stored / source['bytes']:.2f} × the source."
    )
    yield ""
    yield from _table(
        ["stage", "seconds", "nothing changed"],
        [[stage, f"{seconds:.2f}", f"{measured['seconds_unchanged'].get(stage, 0):.2f}"] for stage, seconds in measured["seconds"].items()],
    )
    yield ""
    yield from _table(
        ["table", "rows MB", "aside MB", "indexes MB", "× source"],
        [
            [
                table["name"],
                *(f"{table[part] / 1e6:.1f}" for part in ("rows", "aside", "indexes")),
                f"{_bytes(table) / source['bytes']:.2f}",
            ]
            for table in measured["tables"]
            if _bytes(table) > 200_000
        ],
    )
    yield ""
    yield from _table(
        ["tool", "seconds", "Fourfold ÷ tool", "index MB"],
        [
            [
                peer["name"],
                f"{peer['seconds']:.1f}",
                f"{total / peer['seconds']:.1f}",
                f"{peer['bytes'] / 1e6:.1f}" if peer["bytes"] else "in memory",
            ]
            for peer in measured["peers"]
            if "missing" not in peer
        ],
    )
    yield from _missing(measured["peers"])


def _ctags(measured: Measured) -> Iterator[str]:
    yield f"## Extraction against universal-ctags: {', '.join(measured['trees'])}"
    yield ""
    yield "Of the functions, classes, methods and types that ctags reads, those found with name, kind and line."
    yield ""
    rows = measured["rows"]
    yield from _table(
        ["language", "files", "tags", "misread by ctags", "found", "share"],
        [
            [row["language"], str(row["files"]), str(row["tags"]), str(row["misread"]), str(row["found"]), f"{row['share']:.2%}"]
            for row in [{**row, "misread": sum(row["misread"].values())} for row in rows]
        ],
    )
    for row in rows:
        yield ""
        yield f"**{row['language']}**: " + ", ".join(f"{kind} {found}/{count}" for kind, (found, count) in row["kinds"].items())
        for title, word in (("misread", "misread"), ("reasons", "missed")):
            for reason, count in row[title].items():
                places = "; ".join(f"`{place}`" for place in row["examples"][reason])
                yield f"- {word}, {reason}: {count}. {places}"


def _bytes(table: Mapping[str, int]) -> int:
    return table["rows"] + table["aside"] + table["indexes"]


def _missing(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    absent = [row["name"] for row in rows if "missing" in row]
    if absent:
        yield ""
        yield f"Not installed: {', '.join(absent)}."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join([*row, *[""] * (len(head) - len(row))]) + " |"


def _vectors(measured: Measured) -> Iterator[str]:
    yield f"## Nearest vectors: {measured['chunks']} chunks of {measured['repositories']} repositories, embedder {measured['embedder']}"
    yield ""
    built = f"built in {measured['index_seconds']} s" if measured["index_seconds"] else "there already"
    yield f"{measured['queries']} sentences of documentation ask. Index: {measured['index_bytes'] / 1e6:.0f} MB, {built}. Milliseconds."
    yield ""
    yield from _table(
        ["among", "way", "kept", "p50", "p95", "recall"],
        [
            [
                row["what"],
                row["way"],
                str(row["kept"]),
                *(f"{row[key]:.1f}" for key in ("p50_ms", "p95_ms")),
                "" if row["recall"] is None else f"{row['recall']:.3f}",
            ]
            for row in measured["rows"]
        ],
    )


_SECTIONS: Final[Mapping[str, Callable[[Measured], Iterator[str]]]] = {
    "relevance": _relevance,
    "latency": _latency,
    "index": _index,
    "vectors": _vectors,
    "ctags": _ctags,
}
