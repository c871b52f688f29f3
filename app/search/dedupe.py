"""From ranked files to entries of the answer: one per file, one per distinct content, or every chunk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.domain.query import Dedupe
from app.domain.ranking import Candidate, ChunkHit, FileKey


@dataclass(frozen=True, slots=True)
class Entry:
    """One result to be: the chunk that a file shows, the other chunks found in it, and the files that hold the same text."""

    candidate: Candidate
    chunk: ChunkHit
    others: tuple[ChunkHit, ...] = ()
    copies: tuple[FileKey, ...] = ()


def dedupe(candidates: Sequence[Candidate], mode: Dedupe, texts: Mapping[tuple[int, int], str]) -> list[Entry]:
    """Entries in the order of ``candidates``; ``texts`` ((repository_id, chunk_id) → text) is read for ``content`` only."""
    if mode is Dedupe.NONE:
        return [Entry(candidate, chunk) for candidate in candidates for chunk in candidate.chunks]
    entries = [Entry(candidate, candidate.chunks[0], candidate.chunks[1:]) for candidate in candidates if candidate.chunks]
    return entries if mode is Dedupe.FILE else _merge_copies(entries, texts)


def _merge_copies(entries: Sequence[Entry], texts: Mapping[tuple[int, int], str]) -> list[Entry]:
    merged: dict[str | tuple[int, int], Entry] = {}
    for entry in entries:
        place = (entry.candidate.key.repository_id, entry.chunk.chunk_id)
        content = texts[place].strip() if place in texts else place
        if first := merged.get(content):
            merged[content] = replace(first, copies=(*first.copies, entry.candidate.key))
        else:
            merged[content] = entry
    return list(merged.values())
