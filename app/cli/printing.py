"""What commands show: answers, repositories and jobs, for people.

Code, paths and names come from strangers: no control character of theirs reaches the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from app.domain.access import ApiKey, AuditEntry
from app.domain.index import Job, Repository
from app.domain.left_out import LeftOut, counted, ignored_entries
from app.domain.query import Modality
from app.domain.ranking import Evidence, Routing, SearchAnswer, SearchResult

_CONTROL: Final = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_SNIPPET_LINES: Final = 8
_EVIDENCE_LINES: Final = 10

out: Final = Console(soft_wrap=True, highlight=False)
err: Final = Console(stderr=True, soft_wrap=True, highlight=False)


def safe(text: str) -> str:
    r"""Control characters, bidirectional overrides and lone surrogates as ``\x1b``; tab and newline stay."""
    return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """``safe``, and no tab or line end either: a file's name may hold both, and would forge lines of the answer."""
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def print_answer(answer: SearchAnswer, *, console: Console = out, results: int | None = None) -> None:
    """The answer: how it was found, then each result with its evidence."""
    console.print(_route(answer.routing), style="dim")
    for notice in answer.warnings:
        console.print(Text(f"! {safe(notice.message)}", style="yellow"))
    for degradation in answer.routing.degraded:
        console.print(Text(f"! {degradation.modality} search did not answer: {safe(degradation.reason)}", style="yellow"))
    if not answer.results:
        console.print(Text(f"Nothing found{_absence(answer)}."))
    for number, result in enumerate(answer.results[:results], 1):
        console.print()
        _print_result(console, number, result)
    console.print()
    at_least = "" if answer.total.exact else "at least "
    noun = "result" if answer.total.results == 1 else "results"
    console.print(Text(f"{at_least}{answer.total.results} {noun}, {answer.relevance} relevance, {answer.took_ms:.0f} ms", style="dim"))


def _absence(answer: SearchAnswer) -> str:
    absence = answer.absence
    return f" in {absence['files_searched']} of {absence['files_total']} files" if absence else ""


def _route(routing: Routing) -> Text:
    read = routing.classification
    modalities = ", ".join(f"{run.modality} {run.hits}" for run in routing.modalities)
    fallback = f" after {routing.fallback_from}" if routing.fallback_from else ""
    return Text(f"{read.intent} ({read.confidence:.2f}, {read.rule}) → {routing.strategy}{fallback}: {modalities}")


def _print_result(console: Console, number: int, result: SearchResult) -> None:
    title = Text(f"{number}. ")
    title.append(f"{one_line(result.path)}:{result.start_line}-{result.end_line}", style="bold cyan")
    if result.symbol is not None:
        title.append(f"  {result.symbol.kind} {one_line(result.symbol.qualified)}")
    title.append(f"  {safe(result.repository)}  {result.score:.4f}", style="dim")
    console.print(title)
    console.print(_snippet(result))
    for line in _evidence(result.evidence):
        console.print(Text(f"   {line}", style="dim"))
    if result.more_in_file:
        spans = ", ".join(f"{span.start_line}-{span.end_line}" for span in result.more_in_file[:5])
        console.print(Text(f"   more in this file: {spans}", style="dim"))
    for copy in result.copies[:5]:
        console.print(Text(f"   the same in {one_line(copy.path)}  {copy.repository}", style="dim"))


def _snippet(result: SearchResult) -> Text:
    """A few lines with their numbers, from just before the one that matters most."""
    lines = result.snippet.splitlines()
    marks: dict[int, list[tuple[int, int]]] = {}
    for mark in result.highlights:
        marks.setdefault(mark.line, []).append((mark.start, mark.end))
    first = max(0, _shown_line(result) - result.snippet_start_line - 1)
    text = Text()
    for number, line in enumerate(lines[first : first + _SNIPPET_LINES], result.snippet_start_line + first):
        text.append(f"{number:6} ", style="dim")
        _append_line(text, line, marks.get(number, ()))
        text.append("\n")
    text.rstrip()
    return text


def _shown_line(result: SearchResult) -> int:
    """The line of the first piece of evidence that has one, else the first match."""
    last = result.snippet_start_line + len(result.snippet.splitlines()) - 1
    candidates = [entry.line for entry in result.evidence if entry.line] + [mark.line for mark in result.highlights]
    return next((line for line in candidates if result.snippet_start_line <= line <= last), result.snippet_start_line)


def _append_line(text: Text, line: str, spans: Iterable[tuple[int, int]]) -> None:
    position = 0
    for start, end in sorted(spans):
        if start < position:
            continue
        text.append(safe(line[position:start]))
        text.append(safe(line[start:end]), style="bold yellow")
        position = end
    text.append(safe(line[position:]))


def _evidence(entries: Iterable[Evidence]) -> Iterator[str]:
    """A line for each kind of evidence, with the lines of the file where it stands."""
    places: dict[str, list[int]] = {}
    for entry in entries:
        found = places.setdefault(_kind(entry), [])
        if entry.line is not None and entry.line not in found:
            found.append(entry.line)
    for kind, lines in places.items():
        shown = ", ".join(str(line) for line in sorted(lines[:_EVIDENCE_LINES]))
        more = f" and {len(lines) - _EVIDENCE_LINES} more" if len(lines) > _EVIDENCE_LINES else ""
        yield f"{kind}: line{'s' * (len(lines) > 1)} {shown}{more}" if lines else kind


def _kind(entry: Evidence) -> str:
    parts = [entry.modality.value]
    if entry.relation:
        parts.append(safe(entry.relation))
    if entry.edge_class:
        parts.append(f"({entry.edge_class})")
    if entry.distance is not None and entry.modality is Modality.GRAPH:
        parts.append(f"distance {entry.distance}")
    if entry.fuzzy:
        parts.append("(similar spelling)")
    return " ".join(parts)


def print_classification(routing: Routing) -> None:
    table = Table.grid(padding=(0, 2))
    read = routing.classification
    rows = {
        "intent": read.intent.value,
        "confidence": f"{read.confidence:.2f}",
        "rule": read.rule,
        "operands": ", ".join(read.operands) or "–",
        "strategy": routing.strategy.value,
        "modalities": ", ".join(f"{run.modality} ({run.weight:g})" for run in routing.modalities),
    }
    for name, value in rows.items():
        table.add_row(Text(name, style="dim"), Text(safe(value)))
    out.print(table)


def print_repositories(repositories: Sequence[Repository]) -> None:
    if not repositories:
        out.print("No repositories yet; add one with: fourfold index PATH --name NAME")
        return
    rows = [("name", "status", "files", "skipped", "pending", "indexed at", "source")]
    for stored in repositories:
        status = "not indexed" if stored.generation == 0 else "stale" if stored.stale else "indexed"
        coverage = stored.coverage
        indexed_at = _minute(stored.indexed_at)
        counts = (str(coverage.files), str(coverage.skipped), str(coverage.embeddings_pending))
        rows.append((stored.name, status, *counts, indexed_at, one_line(stored.source.location)))
    _print_rows(rows)


def _left_out(found: LeftOut) -> str:
    entries = ignored_entries(found)
    parts = [f"{entries} by ignore files" if entries else "", f"{counted(found.excluded, 'file')} by globs" if found.excluded else ""]
    return ", ".join(part for part in parts if part)


def print_keys(keys: Sequence[tuple[ApiKey, str]]) -> None:
    if not keys:
        out.print("No keys: a service on loopback answers everybody. Make one with: fourfold keys create NAME")
        return
    rows = [("id", "name", "scope", "state", "repositories", "created", "expires", "last used")]
    for key, state in keys:
        times = (_minute(key.created_at), _minute(key.expires_at), _minute(key.last_used_at))
        rows.append((key.id, one_line(key.name), key.scope, state, " ".join(key.repositories) or "all", *times))
    _print_rows(rows)


def print_audit(entries: Sequence[AuditEntry]) -> None:
    rows = [("at", "actor", "key", "action", "target", "status", "address")]
    for entry in entries:
        rows.append(
            (
                _minute(entry.at),
                one_line(entry.actor),
                entry.key_id or "–",
                entry.action,
                one_line(entry.target or "–"),
                str(entry.status),
                entry.address or "–",
            )
        )
    _print_rows(rows)


def _minute(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%d %H:%M") if moment else "–"


def _print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:  # no table of rich's: it would cut or fold the path, which then cannot be copied
        out.print(Text("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()))


def print_index_report(repository: Repository, job: Job, console: Console = out) -> None:
    """What an index run left behind: counts, what was skipped and why, what is still to be embedded, the time."""
    coverage = repository.coverage
    seconds = (job.finished_at - job.started_at).total_seconds() if job.finished_at and job.started_at else 0.0
    console.print(
        Text(f"{safe(repository.name)}: {counted(coverage.files, 'file')} indexed in {seconds:.1f} s, {coverage.skipped} skipped")
    )
    if coverage.by_language:
        languages = sorted(coverage.by_language.items(), key=lambda pair: -pair[1])
        console.print(Text("  languages: " + ", ".join(f"{safe(name)} {count}" for name, count in languages[:8]), style="dim"))
    if coverage.by_reason:
        reasons = ", ".join(f"{reason} {count}" for reason, count in sorted(coverage.by_reason.items()))
        console.print(Text(f"  not searchable in full: {reasons}", style="dim"))
    if left_out := _left_out(coverage.left_out):
        console.print(Text(f"  left out: {left_out}", style="dim"))
    for notice in coverage.notices:
        console.print(Text(f"! {one_line(notice)}", style="yellow"))
    if coverage.embeddings_pending:
        hint = "a running worker (fourfold serve) computes them, search works meanwhile"
        console.print(Text(f"  embeddings pending: {coverage.embeddings_pending}; {hint}", style="dim"))
