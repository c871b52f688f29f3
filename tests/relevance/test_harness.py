from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from app.domain.query import Intent, Modality
from app.search.profiles import load_profiles
from benchmarks import corpora, latency, report
from benchmarks.corpora import HELD_OUT, Corpus, Missing, Target, judged_set
from benchmarks.picture import Point, draw
from benchmarks.server import Reply
from benchmarks.tables import markdown
from benchmarks.variants import BASE, all_variants


def judged(folder: Path, *names: str) -> Path:
    entries = [{"name": name, "url": f"https://example.org/{name}.git", "revision": "abc123", "benchmark_root": "src"} for name in names]
    (folder / "repos.json").write_text(json.dumps(entries))
    query = {
        "query": "q",
        "relevant": [{"path": "src/a.py", "start_line": 3, "end_line": 9}],
        "secondary": ["src/b.py"],
        "category": "symbol",
    }
    for name in names:
        (folder / f"{name}.json").write_text(json.dumps([query]))
    return folder


def test_what_is_held_out_was_chosen_by_a_rule_and_not_by_hand() -> None:
    names = ["fastapi", "flask", "requests", "express", "redux", "gin", "cobra", "chi", "click", "zod"]
    assert sorted(names, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[:3] == sorted(HELD_OUT)


def test_a_judged_set_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"repos\.json is not there; name its folder with --data"):
        judged_set(tmp_path)


def test_sources_that_are_not_there_are_named_with_their_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "CORPORA", tmp_path / "corpora")
    data = judged(tmp_path, "one")
    with pytest.raises(Missing, match=r"https://example.org/one at abc123"):
        judged_set(data)
    (tmp_path / "corpora/one/src").mkdir(parents=True)
    with pytest.raises(Missing, match=r"it lacks src/a\.py"):
        judged_set(data)
    for name in ("a.py", "b.py"):
        (tmp_path / "corpora/one/src" / name).write_text("")
    (only,) = judged_set(data)
    assert only.queries[0].targets == (Target("src/a.py", 3, 9), Target("src/b.py"))
    assert (only.include(whole=False), only.include(whole=True)) == (("src/**",), ())
    with pytest.raises(Missing, match="does not know two"):
        judged_set(data, ["two"])


def test_a_corpus_without_a_folder_that_counts_is_whole() -> None:
    assert Corpus("gin", "", "", "", ()).include(whole=False) == ()


def test_every_variant_changes_something_and_only_one_is_the_base() -> None:
    base = load_profiles()
    variants = all_variants(base, semantic=True)
    same = [variant.name for variant in variants[1:] if variant.profiles == base and not variant.request]
    assert same == []
    assert len({variant.name for variant in variants}) == len(variants)
    off = {variant.name: variant for variant in variants}
    assert all(off["without graph"].profiles.weights[intent][Modality.GRAPH] == 0 for intent in Intent)
    assert len(off["without feature stem"].profiles.features) == len(base.features) - 1
    assert "test" not in off["test not demoted"].profiles.demotion.factors


def test_without_an_embedder_there_are_no_variants_of_meaning() -> None:
    names = {variant.name for variant in all_variants(load_profiles(), semantic=False)}
    assert not names & {"semantic alone", "without semantic", "without feature sem"}
    assert {"text alone", "without structural", "without text"} <= names


def test_errors_are_counted_apart_from_times() -> None:
    body: dict[str, Any] = {
        "partial": False,
        "routing": {"fusion_strategy": "direct", "modalities": [{"name": "text", "took_ms": 1.5}]},
        "took_ms": 2.0,
    }
    replies = [Reply(200, body, 3.0), Reply(200, body, 5.0), Reply(503, {}, 250.0)]
    row = latency._summary(replies, "direct")
    assert (row["errors"], row["as_routed"], row["requests"]) == ({"503": 1}, 2, 3)
    assert (row["p50_ms"], row["by_modality"]) == (4.0, {"text": 1.5})


def test_the_picture_shows_every_point_and_escapes_its_label() -> None:
    svg = draw([Point("a & b", 3.0, 0.9, ours=True), Point("c", 300.0, 0.1, ours=False)])
    assert svg.count("<circle") == 2
    assert "a &amp; b 0.900" in svg


def test_what_was_measured_is_kept_and_written_as_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "WORK", tmp_path / "work")
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    with pytest.raises(Missing, match="nothing has been measured"):
        report.write("none", ["relevance"])
    figures = {"queries": 2, "ndcg": 0.5, "recall": 1.0, "mrr": 0.5, "empty": 0.0, "p50_ms": 7.0}
    row = {"all": figures, "tuned": figures, "category": {"symbol": figures}, "repository": {"one": figures}}
    measured = {
        "kind": "relevance",
        "selection": "counted",
        "embedder": "none",
        "machine": {"cores": 2},
        "repositories": {"one": {"revision": "abc", "held_out": False}},
        "rows": [{"name": BASE, "group": "", **row}, {"name": "grep", "group": "other tools", "missing": "not installed"}],
    }
    report.keep(measured)
    text = markdown([measured])
    assert "| symbol | 2 | 0.500 | 1.000 | 0.500 | 0.000 | 7.0 |" in text
    assert "Not installed: grep." in text
    assert {path.suffix for path in report.write("try", ["relevance"])} == {".md", ".json", ".svg"}
