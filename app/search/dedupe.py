"""From ranked files to entries of the answer: one per file, one per distinct content, or every chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from app.domain.query import Dedupe
from app.domain.ranking import Candidate, ChunkHit, FileKey


class Entry(NamedTuple):
    """One result to be: a file with the one of its chunks that is shown, and the files that hold the same text.

    ``alone``: the file's other chunks have entries of their own.
    """

    candidate: Candidate
    place: int = 0
    alone: bool = False
    copies: tuple[FileKey, ...] = ()

    @property
    def chunk(self) -> ChunkHit:
        """The chunk that is shown."""
        return self.candidate.chunks[self.place]

    @property
    def others(self) -> Sequence[ChunkHit]:
        """The other chunks found in the file."""
        return () if self.alone else self.candidate.chunks[1:]


def dedupe(candidates: Sequence[Candidate], mode: Dedupe, texts: Mapping[tuple[int, int], str]) -> list[Entry]:
    """Entries in the order of ``candidates``; ``texts`` ((repository_id, chunk_id) → text) is read for ``content`` only."""
    if mode is Dedupe.NONE:
        return [Entry(candidate, place, alone=True) for candidate in candidates for place in range(len(candidate.chunks))]
    entries = [Entry._make((candidate, 0, False, ())) for candidate in candidates if candidate.chunks]
    return entries if mode is Dedupe.FILE else _merge_copies(entries, texts)


def _merge_copies(entries: Sequence[Entry], texts: Mapping[tuple[int, int], str]) -> list[Entry]:
    merged: dict[str | tuple[int, int], Entry] = {}
    for entry in entries:
        place = (entry.candidate.key.repository_id, entry.chunk.chunk_id)
        content = texts[place].strip() if place in texts else place
        if first := merged.get(content):
            merged[content] = first._replace(copies=(*first.copies, entry.candidate.key))
        else:
            merged[content] = entry
    return list(merged.values())
