"""Finds a literal of several lines, also where it begins in one chunk of a file and ends in another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

import asyncpg

from app.retrievers.candidates import FileId, file_id
from app.retrievers.matches import Match
from app.retrievers.wanted import Clock, Wanted, matching_lines
from app.storage.engine import Connection
from app.storage.live_files import LiveFile

FILES_AT_A_TIME: Final = 100

CHUNKS_OF_FILES: Final = """
    SELECT c.repository_id, c.file_id, c.chunk_id, c.start_line, c.text
    FROM unnest($1::int[], $2::int[]) AS w(repository_id, file_id)
    JOIN chunk c ON c.repository_id = w.repository_id AND c.file_id = w.file_id
    ORDER BY c.repository_id, c.file_id, c.start_line
"""


async def block_matches(connection: Connection, files: Mapping[FileId, LiveFile], target: Wanted, clock: Clock) -> tuple[list[Match], bool]:
    """The matching chunks of ``files``, some of whose chunks hold a line of the literal; and whether some text was left out."""
    order = sorted(files)
    found: list[Match] = []
    unseen = False
    for start in range(0, len(order), FILES_AT_A_TIME):
        if clock.is_late():
            return found, True
        some = order[start : start + FILES_AT_A_TIME]
        rows = await connection.fetch(CHUNKS_OF_FILES, [file[0] for file in some], [file[1] for file in some])
        chunks = [(file, list(group)) for file, group in groupby(rows, file_id)]
        lines = await matching_lines([_text(group) for _, group in chunks], target, clock)
        for (file, group), offsets in zip(chunks, lines, strict=True):
            unseen |= offsets is None
            found += _by_chunk(files[file], group, offsets or ())
    return found, unseen


def _text(chunks: Iterable[asyncpg.Record]) -> str:
    """A file's text: its chunks hold every line once, without the last line end, which hardly any file lacks."""
    return "".join(chunk["text"] + "\n" for chunk in chunks)


def _by_chunk(file: LiveFile, chunks: Sequence[asyncpg.Record], offsets: Sequence[int]) -> list[Match]:
    lines: dict[int, list[int]] = {}
    for offset in offsets:
        line = chunks[0]["start_line"] + offset
        lines.setdefault(bisect_right(chunks, line, key=lambda chunk: chunk["start_line"]) - 1, []).append(line)
    return [Match(file, chunks[index]["chunk_id"], chunks[index]["text"], tuple(numbers)) for index, numbers in lines.items()]
