"""The text as the parser is to see it: macros in places where the grammar knows no names are blanked out, and what would crash it."""

from __future__ import annotations

import re
from typing import Final

from app.languages.registry import LanguageSpec

_ASCII_AND_LETTERS: Final = bytes(range(128)) + b"x" * 128


def parser_view(data: bytes, spec: LanguageSpec) -> bytes:
    """What the first group of a ``blanked`` pattern matches is spaces; with ``ascii_only`` each byte beyond ASCII is a letter.

    Offsets and lines stay what they are.
    """
    blanked = spec.blanked
    if spec.rules.ascii_only and not data.isascii():
        data = data.translate(_ASCII_AND_LETTERS)
    if not blanked:
        return data
    view = b"\n" + data  # the first line begins after a line end like all others
    for pattern in blanked:
        view = pattern.sub(_blank, view)
    return view[1:]


def _blank(match: re.Match[bytes]) -> bytes:
    begin, end = match.span(1)
    whole = match.group()
    before, after = whole[: begin - match.start()], whole[end - match.start() :]
    return before + re.sub(rb"[^\r\n]", b" ", match.group(1)) + after
