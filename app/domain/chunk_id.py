"""Chunk ids as callers see them: opaque, and the same as long as the file's content is."""

from __future__ import annotations

import re
from typing import Final

_FORM: Final = re.compile(r"c([1-9][0-9]{0,9})-([1-9][0-9]{0,9})")
_LARGEST: Final = 2**31 - 1


def format_chunk_id(repository_id: int, chunk_id: int) -> str:
    """``c<repository>-<chunk>``."""
    return f"c{repository_id}-{chunk_id}"


def parse_chunk_id(text: str) -> tuple[int, int]:
    """(repository_id, chunk_id); raises ValueError for anything else than ``format_chunk_id``'s text."""
    match = _FORM.fullmatch(text)
    if match is None or max(map(int, match.groups())) > _LARGEST:
        raise ValueError(f"not a chunk id: {text!r}")
    return int(match[1]), int(match[2])
