"""The formats of an impact: JSON for programs, Markdown for a comment, SARIF for code scanning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fastapi.responses import Response

from app.domain.symbols import ImpactAnswer
from app.http import render_symbols
from app.http.impact_markdown import as_markdown
from app.http.impact_sarif import as_sarif
from app.http.schemas.impact import ImpactShape, ReportFormat

MEDIA_TYPES: Final[Mapping[ReportFormat, str]] = {
    ReportFormat.JSON: "application/json",
    ReportFormat.MARKDOWN: "text/markdown",
    ReportFormat.SARIF: "application/sarif+json",
}


def report(found: ImpactAnswer, wanted: ReportFormat) -> ImpactShape | Response:
    """What a route returns."""
    shape = render_symbols.impact(found)
    return shape if wanted is ReportFormat.JSON else Response(as_text(shape, wanted), media_type=MEDIA_TYPES[wanted])


def as_text(shape: ImpactShape, wanted: ReportFormat) -> str:
    """The report as a text in the format asked for."""
    match wanted:
        case ReportFormat.JSON:
            return shape.model_dump_json(by_alias=True, indent=2) + "\n"
        case ReportFormat.MARKDOWN:
            return as_markdown(shape)
        case ReportFormat.SARIF:
            return as_sarif(shape)
