"""stack-graphs' tests: source files in which comments say on which lines the name above the caret is defined.

A file holds several when comments ``--- path: a/b.py ---`` part it; lines count through the whole file. An assertion is met when every
definition that the service gives for the place stands on a line that it names, and there is one if it names any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.domain.position import DefinitionSite
from app.indexing.positions import SourceFile, name_at
from app.indexing.resolve import DefinitionIndex
from app.languages.registry import language_of
from benchmarks.graph.project import manifest_facts
from benchmarks.graph.scores import Score

_PART = re.compile(r"^\s*(?:#|//|/\*)\s*-+\s*path:\s*(\S+)")
_CARET = re.compile(r"^\s*(?:#|//|/\*|\{/\*)?\s*(\^).*?defined:\s*([\d,\s]*)")
_ENDINGS = (".py", ".ts", ".tsx", ".js", ".java")


@dataclass(frozen=True, slots=True)
class _Part:
    path: str
    begins: int
    lines: list[str]


def score(folder: Path) -> Score:
    """All test files below a folder whose ending is a language's: those that are skipped there end in ``.skip`` or ``.bug``."""
    total = Score()
    for test in sorted(path for path in folder.rglob("*") if path.suffix in _ENDINGS):
        lines = test.read_text("utf-8").splitlines()
        parts = list(_parts(test.name, lines))
        files = [file for part in parts if (file := _file(part)) is not None]
        texts = {part.path: "\n".join(line for line in part.lines if not _PART.match(line)) for part in parts}
        manifests = (manifest_facts(0, path, text) for path, text in texts.items())
        index = DefinitionIndex([*(file.facts for file in files), *(facts for facts in manifests if facts is not None)])
        wanted, sure = set(), set()
        for line, column, expected in _assertions(lines):
            part = next(part for part in reversed(parts) if part.begins < line)
            file = next(file for file in files if file.path == part.path)
            at = name_at(file, index, line - part.begins, column)
            found = {_line(parts, site) for site in at.definitions} if at is not None else set()
            name = f"{line}:{column}"
            wanted.add((name, "met"))
            sure.add((name, "met" if (found <= expected and (found or not expected)) else f"{sorted(found)} for {sorted(expected)}"))
        total.add(str(test.relative_to(folder)), wanted, sure, sure)
    return total


def _parts(name: str, lines: list[str]) -> Iterator[_Part]:
    path, begins = name, 0
    for number, line in enumerate(lines):
        match = _PART.match(line)
        if match:
            if number > begins:
                yield _Part(path, begins, lines[begins:number])
            path, begins = match[1], number
    yield _Part(path, begins, lines[begins:])


def _assertions(lines: list[str]) -> Iterator[tuple[int, int, set[int]]]:
    """(1-based line, 0-based column, lines of the definitions)."""
    above = 0
    for number, line in enumerate(lines, start=1):
        match = _CARET.match(line)
        if match is None:
            above = number
            continue
        yield above, match.start(1), {int(text) for text in re.findall(r"\d+", match[2])}


def _line(parts: list[_Part], site: DefinitionSite) -> int:
    """The line of a definition in the whole file; a module's is the first one that is written below the comment with its path."""
    part = next(part for part in parts if part.path == site.path)
    if site.kind != "module":
        return part.begins + site.line
    return part.begins + next((number for number, line in enumerate(part.lines, 1) if line.strip() and not _PART.match(line)), 1)


def _file(part: _Part) -> SourceFile | None:
    text = "\n".join(part.lines) + "\n"
    spec = language_of(part.path, text[:8192])
    return None if spec is None or spec.grammar is None else SourceFile(spec, part.path, text)
