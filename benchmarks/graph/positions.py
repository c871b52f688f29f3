"""stack-graphs' tests: source files in which comments say on which lines the name above the caret is defined.

A file holds several when comments ``--- path: a/b.py ---`` part it; lines count through the whole file. An assertion is met when every
definition that an exact or likely edge leads to from there stands on a line that it names, and there is one if it names any.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from app.domain.code import EdgeClass
from app.domain.facts import FileFacts, ResolvedEdge
from benchmarks.graph.project import Project
from benchmarks.graph.scores import Score

_PART = re.compile(r"^\s*(?:#|//|/\*)\s*-+\s*path:\s*(\S+)")
_CARET = re.compile(r"^\s*(?:#|//|/\*|\{/\*)?\s*(\^).*?defined:\s*([\d,\s]*)")
_ENDINGS = (".py", ".ts", ".tsx")
_WORD = re.compile(r"[\w$]+")


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
        project = Project({part.path: "\n".join(part.lines) + "\n" for part in parts})
        wanted, sure = set(), set()
        for line, column, expected in _assertions(lines):
            part = next(part for part in reversed(parts) if part.begins < line)
            found = _targets(project, parts, part, line - part.begins, column)
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


def _targets(project: Project, parts: list[_Part], part: _Part, line: int, column: int) -> set[int]:
    """The lines, counted through the whole file, of what the name at a place leads to."""
    begins = {other.path: other.begins for other in parts}
    name = next((match.group() for match in _WORD.finditer(part.lines[line - 1]) if match.start() <= column < match.end()), "")
    found: set[int] = set()
    for file, edge in _by_line(project)[part.path, line]:
        at = None if edge.reference is None else file.references[edge.reference]
        target = project.places.get(edge.target)
        if target is None or edge.edge_class is EdgeClass.POSSIBLE:
            continue
        symbol = target.symbol
        if at is not None and at.column != column:
            continue
        if at is None and name != (symbol.name if symbol else target.file.path.rpartition("/")[2].partition(".")[0]):
            continue
        found.add(begins[target.file.path] + (symbol.name_line if symbol else 1))
    return found


def _by_line(project: Project) -> defaultdict[tuple[str, int], list[tuple[FileFacts, ResolvedEdge]]]:
    found: defaultdict[tuple[str, int], list[tuple[FileFacts, ResolvedEdge]]] = defaultdict(list)
    for file, edge in project.edges:
        found[file.path, edge.line].append((file, edge))
    return found
