"""Calls as a compiler-grade indexer sees them: ``index.scip`` of a checkout, by scip-python or scip-typescript, beside its files.

Such an index has no calls, only names and where they are defined. A call is a name before an opening parenthesis; compared are those whose
name one side takes for a function of the project. What we say where the indexer says nothing (JavaScript's ``this``), or sees a variable
or class and not what it holds or makes, cannot be judged by it: it counts neither way and is listed among the misses.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.domain.code import EdgeClass, EdgeKind
from app.domain.facts import FileFacts
from benchmarks.graph.project import Place, Project
from benchmarks.graph.scip_index import Occurrence, read_index
from benchmarks.graph.scores import Call, Score

_OPENS = re.compile(r"\s*(?:\?\.)?\(")

Site = tuple[str, int, int]
"""Path, 1-based line, 0-based column of the name that is called."""


def score(folder: Path) -> Score:
    """Edges between functions of the checkout in ``folder``, each from the function around a call to the one that is called."""
    project = Project.of(folder)
    files = {file.path: file for file in project.files}
    lines = {path: (folder / path).read_text("utf-8", errors="replace").split("\n") for path in files}
    index = {path: found for path, found in read_index(folder / "index.scip").items() if path in files}
    theirs = dict(_calls(project, index, lines))
    wanted = {(_caller(files, site), _place(target)) for site, target in theirs.items() if _is_function(target)}
    sayings = {(path, one.line, one.start): one.symbol for path, found in index.items() for one in found}
    sure: set[Call] = set()
    unjudged: set[Call] = set()
    for site, places in _ours(project, lines).items():
        is_judged = sayings.get(site, "").endswith("().") or (site in theirs and _is_function(theirs[site]))
        calls = {(_caller(files, site), _place(place)) for place in places if _is_function(place)}
        (sure if is_judged else unjudged).update(calls)
    total = Score()
    total.add(folder.name, wanted, sure | (unjudged & wanted), sure | unjudged)
    total.misses += [f"{folder.name}: not judged {source} -> {target}" for source, target in sorted(unjudged - wanted - sure)]
    return total


def _calls(project: Project, found: Mapping[str, list[Occurrence]], lines: Mapping[str, list[str]]) -> Iterator[tuple[Site, Place]]:
    """Where the indexer sees a call of something that stands in a file of the project, and what."""
    defined = _definitions(project, found)
    named = {_at(place) for place in project.places.values()}
    for path, occurrences in found.items():
        for one in occurrences:
            place = defined.get(_known_as(path, one.symbol))
            if place is not None and (path, one.line, one.start) not in named and _OPENS.match(lines[path][one.line - 1], one.end):
                yield (path, one.line, one.start), place


def _definitions(project: Project, found: Mapping[str, list[Occurrence]]) -> dict[str, Place]:
    """What the indexer's symbols are. JavaScript's ``app.use = function`` is told by its place alone: no role marks it."""
    places = {_at(place): place for place in project.places.values() if place.symbol is not None}
    defined: dict[str, Place] = {}
    for path, occurrences in found.items():
        for one in sorted(occurrences, key=lambda one: not one.is_definition):
            place = places.get((path, one.line, one.start))
            if place is not None:
                defined.setdefault(_known_as(path, one.symbol), place)
    return defined


def _known_as(path: str, symbol: str) -> str:
    return f"{path} {symbol}" if symbol.startswith("local ") else symbol


def _ours(project: Project, lines: Mapping[str, list[str]]) -> dict[Site, list[Place]]:
    found: dict[Site, list[Place]] = defaultdict(list)
    for file, edge in project.edges:
        target = project.places.get(edge.target)
        if edge.reference is None or target is None or edge.edge_class is EdgeClass.POSSIBLE or edge.kind is EdgeKind.IMPORTS:
            continue
        reference = file.references[edge.reference]
        if _OPENS.match(lines[file.path][reference.line - 1], reference.column + len(reference.name)):
            found[file.path, reference.line, reference.column].append(target)
    return found


def _at(place: Place) -> Site:
    symbol = place.symbol
    return (place.file.path, symbol.name_line, symbol.name_column) if symbol is not None else (place.file.path, 0, 0)


def _is_function(place: Place) -> bool:
    return place.symbol is not None and place.symbol.kind.is_callable


def _place(place: Place) -> str:
    return f"{place.file.path}:{place.qualified}"


def _caller(files: Mapping[str, FileFacts], site: Site) -> str:
    """The innermost function around a call, by lines."""
    file = files[site[0]]
    around = [symbol for symbol in file.symbols if symbol.kind.is_callable and symbol.start_line <= site[1] <= symbol.end_line]
    innermost = min(around, key=lambda symbol: symbol.end_line - symbol.start_line, default=None)
    return _place(Place(file, innermost))
