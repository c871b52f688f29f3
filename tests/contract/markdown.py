"""Reads what the documents promise: their tables, their fenced blocks, their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")

Row = tuple[str, ...]


def section(document: Path, heading: str) -> str:
    """The text below a heading, up to the next one of its level or above."""
    level, text = heading.partition(" ")[0], _without_fences(document.read_text("utf-8"))
    match = re.search(rf"^{re.escape(heading)}\n(.*?)(?=^#{{1,{len(level)}}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert match, f"{document.name} has no heading {heading!r}"
    return match[1]


def table(document: Path, heading: str) -> list[Row]:
    """The rows of the first table below a heading, cells stripped, without the two rows of its head."""
    lines = section(document, heading).splitlines()
    first = next((number for number, line in enumerate(lines) if line.startswith("|")), None)
    assert first is not None, f"{document.name} has no table below {heading!r}"
    rows = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append(tuple(cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]))
    return rows


def show(rows: list[Row]) -> str:
    """Rows as Markdown, ready to be pasted into the document."""
    return "\n" + "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows) + "\n"


def blocks(document: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return [match[2] for match in _FENCE.finditer(document.read_text("utf-8")) if match[1] == language]


def links(document: Path) -> Iterator[str]:
    """Targets of links and pictures that are files of this repository, without their anchors."""
    for match in _LINK.finditer(_without_fences(document.read_text("utf-8"))):
        target = match[1].partition("#")[0]
        if target and "://" not in target:
            yield target


def code_spans(document: Path) -> set[str]:
    """What stands between single backticks."""
    return set(_CODE.findall(_without_fences(document.read_text("utf-8"))))


def _without_fences(text: str) -> str:
    return _FENCE.sub("", text)
