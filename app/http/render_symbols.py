"""From answers about symbols and impacts to the shapes on the wire; nothing is computed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

from app.domain.code import EdgeClass
from app.domain.position import PositionAnswer
from app.domain.query import Scope, Snapshot
from app.domain.ranking import Notice
from app.domain.symbols import (
    Affected,
    AffectedFile,
    ImpactAnswer,
    Interval,
    ListPart,
    Relative,
    Site,
    SymbolAnswer,
    SymbolDetails,
    SymbolPage,
    Use,
    UsesPage,
)
from app.http import render
from app.http.schemas import definition as definitions
from app.http.schemas import impact as impacts
from app.http.schemas import search_answer as shapes
from app.http.schemas import symbol as symbols

Entry = TypeVar("Entry", symbols.UseShape, symbols.RelativeShape)


def page(found: SymbolPage) -> symbols.SymbolListShape:
    return symbols.SymbolListShape(
        symbols=[_definition(symbol) for symbol in found.symbols],
        total=shapes.CountShape(results=found.total, relation="exact"),
        fuzzy=found.fuzzy,
        next_cursor=found.next_cursor,
        **_fresh(found.scope.snapshots, found.warnings, found.took_ms),
    )


def symbol(found: SymbolAnswer) -> symbols.SymbolAnswerShape:
    return symbols.SymbolAnswerShape(
        symbol=_definition(found.symbol),
        members=[brief(member) for member in found.members],
        **_fresh([found.snapshot], found.warnings, found.took_ms),
    )


def references(found: UsesPage[Use]) -> symbols.ReferencesShape:
    uses = [_use(use) for use in found.part.items]
    resolved, possible = _apart(uses)
    return symbols.ReferencesShape(references=resolved, possible=possible, **_uses_fields(found))


def callers(found: UsesPage[Relative]) -> symbols.CallersShape:
    resolved, possible = _apart([_relative(relative) for relative in found.part.items])
    return symbols.CallersShape(callers=resolved, possible=possible, **_uses_fields(found))


def callees(found: UsesPage[Relative]) -> symbols.CalleesShape:
    unresolved = [
        symbols.UnresolvedShape(name=call.name, receiver=call.receiver, line=call.line, candidates=call.candidates)
        for call in found.unresolved
    ]
    relatives = [_relative(relative) for relative in found.part.items]
    return symbols.CalleesShape(callees=relatives, unresolved=unresolved, **_uses_fields(found))


def definition(found: PositionAnswer) -> definitions.DefinitionAnswerShape:
    name = found.name
    sites = [
        definitions.DefinitionSiteShape(
            path=site.path,
            line=site.line,
            column=site.column,
            name=site.name,
            kind=site.kind,
            edge_class=site.edge_class,
            symbol=brief(known) if (known := found.symbols.get(site.symbol_id or 0)) is not None else None,
        )
        for site in (name.definitions if name is not None else ())
    ]
    return definitions.DefinitionAnswerShape(
        path=found.path,
        name=None if name is None else definitions.NameShape(name=name.name, line=name.line, column=name.column),
        definitions=sites,
        occurrences=[definitions.OccurrenceShape(line=line, column=column) for line, column in (name.occurrences if name else ())],
        **_fresh([found.snapshot], found.warnings, found.took_ms),
    )


def impact(found: ImpactAnswer) -> impacts.ImpactShape:
    reached = found.impact
    return impacts.ImpactShape(
        indexed=found.indexed,
        changed=[impacts.ChangedShape(symbol=brief(change.symbol), lines=list(change.lines)) for change in found.changed],
        changed_files=[
            impacts.ChangedFileShape(path=file.path, status=file.status, indexed=file.indexed, symbols=file.symbols)
            for file in found.changed_files
        ],
        summary=impacts.SummaryShape(
            symbols=_interval(reached.symbol_count), files=_interval(reached.file_count), tests=_interval(reached.test_count)
        ),
        certain=[_affected(entry) for entry in reached.certain],
        possible=[_affected(entry) for entry in reached.possible],
        files=[_file(file) for file in reached.files],
        tests=[_file(file) for file in reached.tests],
        blind_spots=[
            impacts.BlindSpotShape(kind=spot.kind, path=spot.path, line=spot.line, name=spot.name, symbol=spot.symbol)
            for spot in reached.blind_spots
        ],
        depth=found.depth,
        complete=not set(reached.truncated) - {"depth"},
        truncated=list(reached.truncated),
        **_fresh([found.snapshot], found.warnings, found.took_ms),
    )


def brief(known: SymbolDetails) -> symbols.BriefShape:
    return symbols.BriefShape(**_brief_fields(known))


def _brief_fields(known: SymbolDetails) -> dict[str, Any]:
    place = known.place
    return {
        "id": known.id,
        "name": known.name,
        "qualified": known.qualified,
        "kind": known.kind,
        "signature": known.signature,
        "path": None if place is None else place.path,
        "path_class": None if place is None else place.path_class,
        "start_line": None if place is None else place.start_line,
        "end_line": None if place is None else place.end_line,
    }


def _definition(known: SymbolDetails) -> symbols.DefinitionShape:
    place = known.place
    container = None
    if known.container_id is not None and known.container is not None:
        container = symbols.ContainerShape(id=known.container_id, qualified=known.container)
    return symbols.DefinitionShape(
        **_brief_fields(known),
        repository=None if place is None else place.repository,
        language=None if place is None else place.language,
        name_line=None if place is None else place.name_line,
        doc=known.doc,
        exported=known.exported,
        centrality=known.centrality,
        container=container,
    )


def _site_fields(site: Site) -> dict[str, Any]:
    return {"line": site.line, "relation": site.relation, "edge_class": site.edge_class, "text": site.text}


def _use(use: Use) -> symbols.UseShape:
    return symbols.UseShape(
        **_site_fields(use.site), path=use.path, path_class=use.path_class, language=use.language, symbol=brief(use.symbol)
    )


def _relative(relative: Relative) -> symbols.RelativeShape:
    return symbols.RelativeShape(
        symbol=brief(relative.symbol),
        edge_class=relative.edge_class,
        site_count=relative.site_count,
        sites=[symbols.SiteShape(**_site_fields(site)) for site in relative.sites],
    )


def _apart(entries: Sequence[Entry]) -> tuple[list[Entry], list[Entry]]:
    """The resolved ones, and those by name alone."""
    resolved = [entry for entry in entries if entry.edge_class is not EdgeClass.POSSIBLE]
    return resolved, [entry for entry in entries if entry.edge_class is EdgeClass.POSSIBLE]


def _uses_fields(found: UsesPage[Any]) -> dict[str, Any]:
    return {
        "symbol": brief(found.symbol),
        "total": _counts(found.part),
        "complete": found.part.complete,
        "next_cursor": found.next_cursor,
        **_fresh([found.snapshot], found.warnings, found.took_ms),
    }


def _counts(part: ListPart[Any]) -> symbols.CountsShape:
    counts = {edge_class.value: part.counts[edge_class] for edge_class in EdgeClass}
    return symbols.CountsShape(**counts, results=part.total, relation="exact" if part.complete else "lower_bound")


def _affected(entry: Affected) -> impacts.AffectedShape:
    hops = [
        impacts.HopShape(
            id=hop.symbol.id,
            qualified=hop.symbol.qualified,
            path=hop.path,
            line=hop.line,
            relation=hop.relation,
            edge_class=hop.edge_class,
        )
        for hop in entry.hops
    ]
    return impacts.AffectedShape(
        symbol=brief(entry.symbol), distance=entry.distance, edge_class=entry.edge_class, changed=entry.changed_id, hops=hops
    )


def _file(file: AffectedFile) -> impacts.AffectedFileShape:
    return impacts.AffectedFileShape(
        path=file.path,
        path_class=file.path_class,
        language=file.language,
        distance=file.distance,
        edge_class=file.edge_class,
        symbol_count=file.count,
        symbols=list(file.symbols),
    )


def _interval(counted: Interval) -> impacts.IntervalShape:
    return impacts.IntervalShape(certain=counted.certain, at_most=counted.at_most)


def _fresh(snapshots: Iterable[Snapshot], warnings: Iterable[Notice], took_ms: float) -> dict[str, Any]:
    return {
        "index": render.index(Scope(tuple(snapshots))),
        "warnings": [shapes.WarningShape(code=notice.code, message=notice.message) for notice in warnings],
        "took_ms": round(took_ms, 2),
    }
