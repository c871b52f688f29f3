"""PyCG's and SWARM-CG's cases: small programs, each with the calls that it makes, by qualified name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from app.domain.code import EdgeClass, EdgeKind, ReferenceKind, Symbol
from benchmarks.graph.project import Place, Project
from benchmarks.graph.scores import Score

_CALLS = frozenset({EdgeKind.CALLS, EdgeKind.INSTANTIATES, EdgeKind.DECORATES})
_BUILTIN = "<builtin>."

Call = tuple[str, str]


def score(folder: Path) -> Score:
    """All cases below a folder: those with a ``callgraph.json``."""
    total = Score()
    for answer in sorted(folder.rglob("callgraph.json")):
        project = Project.of(answer.parent)
        wanted = {(source, target) for source, targets in json.loads(answer.read_text()).items() for target in targets}
        sure = set(_calls(project))
        total.add(str(answer.parent.relative_to(folder)), wanted, sure, sure | set(_possible(project)))
    return total


def _calls(project: Project) -> Iterator[Call]:
    for _, edge in project.edges:
        if edge.kind not in _CALLS or edge.edge_class is EdgeClass.POSSIBLE:
            continue
        source = project.places[edge.source]
        if edge.kind is EdgeKind.DECORATES:
            source = project.container(source)
        if edge.external:
            yield _name(project, source), edge.external
            continue
        target = project.places[edge.target]
        if target.symbol is not None and target.symbol.kind.is_callable:
            yield _name(project, source), _label(target)


def _possible(project: Project) -> Iterator[Call]:
    """What a call without an edge may mean: everything of its name, or something of the language; who hands a function on may call it."""
    resolved = {(file.path, edge.reference) for file, edge in project.edges}
    for file in project.files:
        for ordinal, reference in enumerate(file.references):
            if (file.path, ordinal) in resolved or reference.kind not in (ReferenceKind.CALL, ReferenceKind.DECORATE):
                continue
            symbol = None if reference.enclosing is None else file.symbols[reference.enclosing]
            source = _name(project, Place(file, symbol))
            for place in project.by_name[reference.name]:
                yield source, _label(place)
            if not project.by_name[reference.name]:
                yield source, f"{_BUILTIN}{reference.name}"
                yield source, f"{_BUILTIN}{reference.receiver}.{reference.name}"
    for _, edge in project.edges:
        target = project.places.get(edge.target)
        if edge.kind is EdgeKind.REFERENCES and target is not None and target.symbol is not None and target.symbol.kind.is_callable:
            yield _name(project, project.places[edge.source]), _label(target)


def _name(project: Project, place: Place) -> str:
    return _label(project.function_of(place))


def _label(place: Place) -> str:
    path = place.file.path.rpartition(".")[0]
    parts = path.split("/")
    if len(parts) > 1 and parts[-1] in ("__init__", "index"):
        parts.pop()
    return ".".join([*parts, *([_qualified(place)] if place.symbol else [])])


def _qualified(place: Place) -> str:
    """Functions without a name are numbered within what is around them."""
    symbol = place.symbol
    found = _nameless(symbol) if symbol is not None else None
    if symbol is None or found is None:
        return place.qualified
    nameless = [other for other in place.file.symbols if other.container == symbol.container and _nameless(other) == found]
    return f"{symbol.qualified.removesuffix(symbol.name)}<{found}{nameless.index(symbol) + 1}>"


def _nameless(symbol: Symbol) -> str | None:
    """What the sets call a function that only a variable names."""
    return "lambda" if "= lambda" in symbol.signature else "arrow" if symbol.signature.endswith("=>") else None
