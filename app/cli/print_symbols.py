"""What the commands about symbols show, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rich.text import Text

from app.cli.printing import one_line, out
from app.domain.code import EdgeClass
from app.domain.position import PositionAnswer
from app.domain.ranking import Notice
from app.domain.symbols import (
    Affected,
    AffectedFile,
    ImpactAnswer,
    Interval,
    ListPart,
    Relative,
    Site,
    SymbolDetails,
    SymbolPage,
    Use,
    UsesPage,
)

_SITES: Final = 5
_ENTRIES: Final = 30


def print_symbols(page: SymbolPage) -> None:
    _print_warnings(page.warnings)
    for symbol in page.symbols:
        out.print(Text(f"{symbol.id}  ", style="dim"), _title(symbol), sep="")
        if symbol.signature:
            out.print(Text(f"{'':18}{one_line(symbol.signature)}", style="dim"))
    shown = f", {len(page.symbols)} shown" if len(page.symbols) < page.total else ""
    out.print(Text(f"{_count(page.total, 'definition')}{shown}, {page.took_ms:.0f} ms", style="dim"))


def print_definition(answer: PositionAnswer) -> None:
    """The definitions of a name, and where else a local one stands."""
    _print_warnings(answer.warnings)
    name = answer.name
    if name is None:
        out.print(Text(f"no name stands there, {answer.took_ms:.0f} ms", style="dim"))
        return
    for site in name.definitions:
        place = f"{one_line(site.path)}:{site.line}" + ("" if site.column is None else f":{site.column + 1}")
        line = Text(place, style="cyan")
        known = answer.symbols.get(site.symbol_id) if site.symbol_id is not None else None
        shown = known.qualified if known is not None else site.name
        line.append(f"  {site.kind} {one_line(shown)}{_doubt(site.edge_class)}", style="default")
        out.print(line)
    if name.occurrences:
        lines = ", ".join(str(line) for line in dict.fromkeys(line for line, _ in name.occurrences))
        out.print(Text(f"stands on line {lines}", style="dim"))
    out.print(Text(f"{_count(len(name.definitions), 'definition')} of {one_line(name.name)}, {answer.took_ms:.0f} ms", style="dim"))


def print_references(page: UsesPage[Use]) -> None:
    _print_warnings(page.warnings)
    for use in page.part.items:
        line = Text(f"{one_line(use.path)}:{use.site.line}", style="cyan")
        line.append(f"  {use.site.relation}{_doubt(use.site.edge_class)}  {one_line(use.site.text.strip())}", style="default")
        out.print(line)
    _print_counts(page.part, "reference", page.took_ms)


def print_relatives(page: UsesPage[Relative], noun: str) -> None:
    _print_warnings(page.warnings)
    for relative in page.part.items:
        out.print(_title(relative.symbol), Text(_doubt(relative.edge_class), style="yellow"), sep="")
        for site in relative.sites[:_SITES]:
            out.print(_site(site))
        if relative.site_count > _SITES:
            out.print(Text(f"         and {relative.site_count - _SITES} more lines", style="dim"))
    for call in page.unresolved:
        receiver = f"{one_line(call.receiver)}." if call.receiver else ""
        known = f"one of {call.candidates}" if call.candidates else "not in the repository"
        out.print(Text(f"{call.line:7}  {receiver}{one_line(call.name)}  unresolved: {known}", style="dim"))
    _print_counts(page.part, noun.removesuffix("s"), page.took_ms)


def print_impact(answer: ImpactAnswer) -> None:
    """The changed symbols, what they reach nearest first, tests, blind spots, and what was not seen."""
    _print_warnings(answer.warnings)
    for change in answer.changed[:_ENTRIES]:
        out.print(Text("changed  "), _title(change.symbol), sep="")
    found = answer.impact
    _print_affected(found.certain, "reached for certain", found.symbol_count.certain)
    _print_affected(found.possible, "possibly reached", found.symbol_count.at_most - found.symbol_count.certain)
    _print_files(found.tests, "tests")
    if found.blind_spots:
        out.print(Text("\ndecided at run time on the way", style="bold"))
        for spot in found.blind_spots[:_ENTRIES]:
            out.print(Text(f"  {one_line(spot.path)}:{spot.line}  {one_line(spot.name)} ({spot.kind.replace('_', ' ')})"))
    if found.truncated:
        out.print(Text(f"! cut by {', '.join(found.truncated)}: there may be more", style="yellow"))
    counts = (_interval(found.symbol_count, "symbol"), _interval(found.file_count, "file"), _interval(found.test_count, "test file"))
    side = f", {answer.indexed} of the difference is indexed" if answer.indexed else ""
    out.print(Text(f"\n{', '.join(counts)}{side}, {answer.took_ms:.0f} ms", style="dim"))


def _print_affected(entries: Sequence[Affected], title: str, count: int) -> None:
    if not entries:
        return
    out.print(Text(f"\n{title}", style="bold"))
    for entry in entries[:_ENTRIES]:
        way = " → ".join(one_line(hop.symbol.qualified) for hop in entry.hops[1:])
        first = entry.hops[0]
        line = Text(f"  {entry.distance}  {one_line(first.path)}:{first.line}", style="cyan")
        line.append(f"  {one_line(entry.symbol.qualified)}{_doubt(entry.edge_class)}", style="default")
        line.append(f"  → {way}" if way else "", style="dim")
        out.print(line)
    if count > _ENTRIES:
        out.print(Text(f"  and {count - min(_ENTRIES, len(entries))} more", style="dim"))


def _print_files(files: Sequence[AffectedFile], title: str) -> None:
    if not files:
        return
    out.print(Text(f"\n{title}", style="bold"))
    for file in files[:_ENTRIES]:
        out.print(Text(f"  {one_line(file.path)}  {_count(file.count, 'symbol')}{_doubt(file.edge_class)}"))


def _title(symbol: SymbolDetails) -> Text:
    text = Text(f"{symbol.kind} ")
    text.append(one_line(symbol.qualified), style="bold cyan")
    if symbol.place is not None:
        text.append(f"  {one_line(symbol.place.path)}:{symbol.place.start_line}", style="dim")
    return text


def _site(site: Site) -> Text:
    text = Text(f"{site.line:7}  ", style="dim")
    text.append(one_line(site.text.strip()), style="default")
    return text


def _doubt(edge_class: EdgeClass) -> str:
    return "" if edge_class is EdgeClass.EXACT else f" ({edge_class})"


def _print_counts(part: ListPart[Any], noun: str, took_ms: float) -> None:
    at_least = "" if part.complete else "at least "
    classes = ", ".join(f"{count} {edge_class}" for edge_class, count in part.counts.items() if count)
    out.print(Text(f"{at_least}{_count(part.total, noun)}{f' ({classes})' if classes else ''}, {took_ms:.0f} ms", style="dim"))


def _print_warnings(warnings: Sequence[Notice]) -> None:
    for warning in warnings:
        out.print(Text(f"! {one_line(warning.message)}", style="yellow"))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _interval(counted: Interval, noun: str) -> str:
    if counted.certain == counted.at_most:
        return _count(counted.certain, noun)
    return f"{counted.certain} to {_count(counted.at_most, noun)}"
