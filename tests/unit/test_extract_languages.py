"""One file per language with everything the language has; what is read out of it is written beside it, a line per fact.

The expected lines are data to review, not to regenerate: a symbol is ``lines name-position kind qualified`` with its container, then
signature and documentation; a reference ``position kind receiver.name`` and its enclosing symbol; an import as it binds; a
binding ``line-until kind target | value`` and its enclosing symbol.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.code import Extraction
from app.indexing.extract import extract
from app.languages.registry import PARSED, language

DATA = Path(__file__).parent / "data" / "extraction"


def facts(extraction: Extraction) -> list[str]:
    """The extraction as lines of text."""
    symbols = extraction.symbols
    lines = ["# symbols"]
    for symbol in symbols:
        inside = f" in {symbols[symbol.container].qualified}" if symbol.container is not None else ""
        exported = " exported" if symbol.exported else ""
        place = f"{symbol.start_line}-{symbol.end_line} {symbol.name_line}:{symbol.name_column}"
        doc = f" | {symbol.doc}" if symbol.doc else ""
        lines.append(f"{place} {symbol.kind} {symbol.qualified}{inside}{exported} | {symbol.signature}{doc}")
    lines += ["", "# references"]
    for reference in extraction.references:
        inside = f" in {symbols[reference.enclosing].qualified}" if reference.enclosing is not None else ""
        name = f"{reference.receiver} . {reference.name}" if reference.receiver else reference.name
        lines.append(f"{reference.line}:{reference.column} {reference.kind} {name}{inside}")
    lines += ["", "# imports"]
    for item in extraction.imports:
        exported = " exported" if item.reexport else ""
        lines.append(f"{item.line} from {item.module or 'here'} name {item.name} as {item.local}{exported}")
    if extraction.bindings:
        lines += ["", "# bindings"]
    for binding in extraction.bindings:
        inside = f" in {symbols[binding.enclosing].qualified}" if binding.enclosing is not None else ""
        value = " ".join(binding.value.split())
        lines.append(f"{binding.line}-{binding.until} {binding.kind} {binding.target or '-'} | {value}{inside}")
    return lines


@pytest.mark.parametrize("name", PARSED)
def test_every_fact_of_a_file(name: str) -> None:
    source = (DATA / f"{name}.source").read_text(encoding="utf-8")
    expected = (DATA / f"{name}.expected").read_text(encoding="utf-8").splitlines()
    extraction = extract(language(name), source)
    assert facts(extraction) == expected
    assert extraction.error_ratio == 0.0


@pytest.mark.parametrize("name", PARSED)
def test_line_endings_change_no_fact_but_the_line_ends_in_columns(name: str) -> None:
    source = (DATA / f"{name}.source").read_text(encoding="utf-8")
    unix, dos = extract(language(name), source), extract(language(name), source.replace("\n", "\r\n"))
    assert facts(dos) == facts(unix)
