"""What a file says to the preprocessor alone: macros in places where the grammar knows no names are blanked out for the parser."""

from __future__ import annotations

import re
from collections.abc import Sequence


def parser_view(data: bytes, blanked: Sequence[re.Pattern[bytes]]) -> bytes:
    """The text as the parser is to see it: what the first group of a pattern matches is spaces. Offsets and lines stay what they are."""
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
