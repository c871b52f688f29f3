"""From what is known of files to the shapes on the wire; nothing is computed here."""

from __future__ import annotations

from app.domain.files import SourceFile, WhyNot
from app.domain.query import Scope
from app.http import render, render_symbols
from app.http.schemas import source_file as shapes


def source(found: SourceFile) -> shapes.FileShape:
    entry = found.entry
    return shapes.FileShape(
        path=entry.path,
        language=entry.language,
        path_class=entry.path_class,
        encoding=entry.encoding,
        outcome=entry.outcome,
        reason=entry.reason,
        bytes=entry.bytes,
        total_lines=entry.lines,
        start_line=found.start_line,
        end_line=found.start_line + len(found.lines) - 1,
        text="\n".join(found.lines),
        symbols=[render_symbols.brief(symbol) for symbol in found.symbols],
        index=render.index(Scope((found.snapshot,))),
    )


def why_not(found: WhyNot) -> shapes.WhyNotShape:
    return shapes.WhyNotShape(
        query=found.request.query,
        repository=found.repository,
        path=found.path,
        gate=found.gate,
        detail=found.detail,
        rank=found.rank,
        retrievers=[
            shapes.VerdictShape(
                modality=verdict.modality,
                ran=verdict.ran,
                matches=verdict.matches,
                rank=verdict.rank,
                rank_is_exact=verdict.rank_is_exact,
                score=verdict.score,
            )
            for verdict in found.retrievers
        ],
        change=None if found.change is None else shapes.ChangeShape(description=found.change.description, fields=dict(found.change.fields)),
        index=render.index(Scope((found.snapshot,) if found.snapshot else ())),
        took_ms=round(found.took_ms, 2),
    )
