"""The reports of an impact: short, well-formed, and unmoved by what names and paths contain."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from app.http.impact_markdown import NAMES, ROWS, as_markdown, code
from app.http.impact_sarif import as_sarif
from app.http.schemas.impact import IMPACT_EXAMPLE, ImpactShape

HOSTILE = "a`b|c\n# x](http://evil)<script>\u202e\x1b[31m"


def impact(**changes: Any) -> ImpactShape:
    return ImpactShape.model_validate(IMPACT_EXAMPLE | changes)


def hostile() -> ImpactShape:
    """The example with hostile text wherever it names something of the repository."""

    def poisoned(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: poisoned(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [poisoned(inner, key) for inner in value]
        return HOSTILE if key in {"name", "qualified", "path", "symbol", "symbols", "signature"} and isinstance(value, str) else value

    return ImpactShape.model_validate(poisoned(IMPACT_EXAMPLE))


def test_the_comment_of_the_example() -> None:
    text = as_markdown(impact())
    assert text.startswith("### Impact of this change\n\n**1 changed symbol reaches 1 symbol** in 1 file and 0 test files.")
    assert "which is the base of the difference." in text
    assert "- `parse_config` (function) in `app/config.py:12`" in text
    assert "| 1 | `boot` | `app/boot.py:44` | exact | calls the change |" in text
    assert "- `app/boot.py:50` `getattr` (reflection)" in text
    assert "> " not in text


def test_an_interval_is_written_as_one() -> None:
    summary = {"symbols": {"certain": 1, "at_most": 4}, "files": {"certain": 0, "at_most": 2}, "tests": {"certain": 1, "at_most": 1}}
    assert "reaches 1 to 4 symbols** in 0 to 2 files and 1 test file." in as_markdown(impact(summary=summary))
    assert "No indexed symbol is touched." in as_markdown(impact(changed=[]))


def test_long_lists_are_cut_with_a_count() -> None:
    entry, file = IMPACT_EXAMPLE["certain"][0], IMPACT_EXAMPLE["files"][0] | {"symbols": ["t"] * 9, "symbol_count": 9}
    summary = {"symbols": {"certain": 90, "at_most": 90}, "files": {"certain": 1, "at_most": 1}, "tests": {"certain": 50, "at_most": 50}}
    text = as_markdown(impact(certain=[entry] * 60, tests=[file] * 40, summary=summary))
    assert text.count("calls the change |") == ROWS
    assert "\n70 more.\n" in text
    assert "- 30 more" in text
    assert f"and {9 - NAMES} more" in text


def test_what_was_not_seen_is_said() -> None:
    warning = {"code": "repository_stale", "message": "a newer revision of api is known"}
    text = as_markdown(impact(truncated=["breadth", "depth"], warnings=[warning]))
    assert [line[:14] for line in text.splitlines() if line.startswith(">")] == ["> Not complete", "> Not complete", "> a newer revi"]


def test_names_format_nothing() -> None:
    text = as_markdown(hostile())
    outside = re.sub(r"(`+) ?.+? ?\1(?!`)", "", text)
    for sign in ("http", "<script", "\u202e", "\x1b", "# x"):
        assert sign not in outside
        assert f"\n{sign}" not in text
    rows = [line for line in text.splitlines() if line.startswith("| 1 ")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [6]
    assert "\\|" not in "".join(line for line in text.splitlines() if not line.startswith("|")), "it would be shown outside of a table"


@pytest.mark.parametrize(
    ("text", "span"), [("a", "`a`"), ("a`b", "`` a`b ``"), ("``", "``` `` ```"), ("a|b", "`a|b`"), ("a\nb", "`a\ufffdb`")]
)
def test_code_spans(text: str, span: str) -> None:
    assert code(text) == span


def test_sarif_has_a_result_for_everything() -> None:
    possible = IMPACT_EXAMPLE["certain"][0] | {"class": "possible"}
    log = json.loads(as_sarif(impact(possible=[possible], truncated=["depth"])))
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [(result["ruleId"], result["level"], rules[result["ruleIndex"]] == result["ruleId"]) for result in run["results"]] == [
        ("impact/certain", "warning", True),
        ("impact/possible", "note", True),
        ("impact/blind-spot", "note", True),
    ]
    assert run["results"][0]["message"]["text"] == "boot calls the change (exact, distance 1)."
    assert run["results"][0]["partialFingerprints"] == {"symbolPair/v1": "0b6f7a52d1e24c0f:5d41402abc4b2a76"}
    assert run["properties"]["summary"]["symbols"] == {"certain": 1, "at_most": 1}
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "the walk was cut: depth"


def test_sarif_escapes_paths() -> None:
    (result, *_) = json.loads(as_sarif(hostile()))["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert re.fullmatch(r"[A-Za-z0-9_.~/%-]+", uri)
    assert "%0A" in uri
