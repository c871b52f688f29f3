"""An impact as Markdown (GitHub's), short enough for a comment.

Names and paths come from strangers: they stand in code spans, without line ends, so that they format and link nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from app.http.schemas.impact import AffectedFileShape, AffectedShape, ChangedShape, ImpactShape, IntervalShape

ROWS: Final = 20
NAMES: Final = 5
_CONTROL: Final = re.compile(r"[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_CUT: Final = {
    "depth": "what was reached last may be used further out",
    "breadth": "some symbols have more uses than were followed",
    "names": "some names are too common to be followed where they were not resolved",
}


def as_markdown(impact: ImpactShape) -> str:
    """Headline, changed symbols, what they reach, tests to run, blind spots, reservations; long lists are cut with a count."""
    return "\n\n".join(_parts(impact)) + "\n"


def _parts(impact: ImpactShape) -> Iterator[str]:
    yield "### Impact of this change"
    yield _headline(impact)
    if impact.changed:
        yield _changed(impact.changed)
    if impact.certain:
        yield _affected("Reached for certain", impact.certain, impact.summary.symbols.certain)
    if impact.possible:
        possible = impact.summary.symbols.at_most - impact.summary.symbols.certain
        yield _affected("Possibly reached, over a name that could not be resolved", impact.possible, possible)
    if impact.tests:
        yield _tests(impact.tests, impact.summary.tests.at_most)
    if impact.blind_spots:
        rows = [f"- {code(f'{s.path}:{s.line}')} {code(s.name)} ({s.kind.replace('_', ' ')})" for s in impact.blind_spots]
        yield "\n".join(["**Decided at run time on the way**", "", *_cut(rows, len(rows))])
    if reservations := [*_reservations(impact)]:
        yield "\n".join(f"> {line}" for line in reservations)


def _headline(impact: ImpactShape) -> str:
    index = impact.index[0]
    read = f"{code(index.repository)} at {code(index.revision)}"
    side = f", which is the {impact.indexed} of the difference" if impact.indexed else ""
    if not impact.changed:
        return f"No indexed symbol is touched. Read from {read}{side}."
    changed = "1 changed symbol reaches" if len(impact.changed) == 1 else f"{len(impact.changed)} changed symbols reach"
    counts = impact.summary
    return (
        f"**{changed} {_interval(counts.symbols, 'symbol')}** in {_interval(counts.files, 'file')} and "
        f"{_interval(counts.tests, 'test file')}. Read from {read}{side}."
    )


def _interval(counted: IntervalShape, noun: str) -> str:
    plural = "" if counted.at_most == 1 else "s"
    number = str(counted.certain) if counted.certain == counted.at_most else f"{counted.certain} to {counted.at_most}"
    return f"{number} {noun}{plural}"


def _changed(changed: Sequence[ChangedShape]) -> str:
    rows = [
        f"- {code(change.symbol.qualified)} ({change.symbol.kind}) in {code(f'{change.symbol.path}:{change.symbol.start_line}')}"
        for change in changed
    ]
    return "\n".join(["**Changed**", "", *_cut(rows, len(rows))])


def _affected(title: str, entries: Sequence[AffectedShape], count: int) -> str:
    rows = [f"| {e.distance} | {_cell(e.symbol.qualified)} | {_cell(_site(e))} | {e.edge_class} | {_way(e)} |" for e in entries]
    head = ["| distance | symbol | line | class | path to the change |", "| --- | --- | --- | --- | --- |"]
    shown = rows[:ROWS]
    more = [f"\n{count - len(shown)} more" + "."] if count > len(shown) else []
    return "\n".join([f"**{title}**", "", *head, *shown, *more])


def _site(entry: AffectedShape) -> str:
    return f"{entry.hops[0].path}:{entry.hops[0].line}"


def _way(entry: AffectedShape) -> str:
    """``calls `b` → calls `c```: each step's relation with the symbol it leads to; the last one is a changed symbol."""
    following = [hop.qualified for hop in entry.hops[1:]]
    steps = [f"{hop.relation} {_cell(name)}" for hop, name in zip(entry.hops, following, strict=False)]
    return " → ".join([*steps, f"{entry.hops[-1].relation} the change"])


def _tests(tests: Sequence[AffectedFileShape], count: int) -> str:
    rows = []
    for file in tests:
        names = ", ".join(code(name) for name in file.symbols[:NAMES])
        more = f" and {file.symbol_count - NAMES} more" if file.symbol_count > NAMES else ""
        rows.append(f"- {code(file.path)}" + (f": {names}{more}" if names else ""))
    return "\n".join(["**Tests to run**", "", *_cut(rows, count)])


def _cut(rows: Sequence[str], count: int) -> Iterable[str]:
    yield from rows[:ROWS]
    if count > ROWS:
        yield f"- {count - min(ROWS, len(rows))} more"


def _reservations(impact: ImpactShape) -> Iterator[str]:
    for reason in impact.truncated:
        yield f"Not complete: {_CUT[reason]}.  "
    for warning in impact.warnings:
        yield f"{_CONTROL.sub(' ', warning.message)}.  "


def code(text: str) -> str:
    """A code span that shows the text and nothing else."""
    line = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)
    fence = "`" * (max((len(run) for run in re.findall(r"`+", line)), default=0) + 1)
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"


def _cell(text: str) -> str:
    """A code span in a table, where a bar would end the cell; elsewhere its backslash would be shown."""
    return code(text).replace("|", "\\|")
