"""Chunks in which an exact search found lines, and what they are worth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from app.domain.code import PathClass
from app.domain.query import Modality
from app.domain.ranking import ChunkHit, Evidence, FileHit, FileKey
from app.retrievers.wanted import Wanted

SAME_CASE: Final = 4.0
WHOLE_WORD: Final = 2.0
DEFINITION: Final = 1.0

MOST_OCCURRENCES: Final = 8
"""In one chunk, that are looked at to see whether one stands alone."""


@dataclass(frozen=True, slots=True)
class Match:
    """A chunk with a matching line. ``file`` is a row of its file; ``lines`` are 1-based numbers in the file, in order."""

    file: asyncpg.Record
    chunk_id: int
    text: str
    lines: Sequence[int]


@dataclass(frozen=True, slots=True)
class Matches:
    """``overflow``: there are more chunks than were looked at; ``unseen``: of those, some text was left out."""

    found: Sequence[Match]
    overflow: bool = False
    unseen: bool = False

    @property
    def lines(self) -> int:
        return sum(len(match.lines) for match in self.found)


def by_file(found: Iterable[Match]) -> list[list[Match]]:
    """In the order in which the files come first."""
    groups: dict[tuple[int, str], list[Match]] = {}
    for match in found:
        groups.setdefault((match.file["repository_id"], match.file["path"]), []).append(match)
    return list(groups.values())


def file_of(found: Sequence[Match], target: Wanted, defined: Collection[int]) -> FileHit:
    """The hit of one file: its chunks best first, with the score of the best. ``defined``: the lines that define a name of the literal."""
    best = sorted(((_score(match, target, defined), match) for match in found), key=lambda scored: (-scored[0], scored[1].chunk_id))
    return _file_hit(found[0].file, [ChunkHit(match.chunk_id, score, _evidence(match, target, score, defined)) for score, match in best])


def file_in_order(found: Sequence[Match], target: Wanted) -> FileHit:
    """The hit of one file whose chunks stay in their order, all worth the same."""
    return _file_hit(found[0].file, [ChunkHit(match.chunk_id, 1.0, _evidence(match, target, 1.0, ())) for match in found])


def _file_hit(file: asyncpg.Record, chunks: Sequence[ChunkHit]) -> FileHit:
    key = FileKey(file["repository_id"], file["path"])
    return FileHit(key, file["file_id"], file["language"], PathClass(file["path_class"]), chunks[0].score, tuple(chunks))


def _score(match: Match, target: Wanted, defined: Collection[int]) -> float:
    """Case as given before another, a whole word before a part of one, a definition before a mention."""
    score = 1.0
    if not target.any_case or target.text in match.text:
        score += SAME_CASE
    if not target.regex and _stands_alone(target.text, match.text):
        score += WHOLE_WORD
    if defined and any(line in defined for line in match.lines):
        score += DEFINITION
    return score


def _evidence(match: Match, target: Wanted, score: float, defined: Collection[int]) -> tuple[Evidence, ...]:
    """One says why the chunk is there; its lines are what highlights are for. Only those of a block may be torn."""
    relation = "pattern" if target.regex else "literal"
    if target.is_block:
        return tuple(Evidence(Modality.TEXT, score, relation, line=line) for line in match.lines)
    line = next((line for line in match.lines if line in defined), match.lines[0])
    return (Evidence(Modality.TEXT, score, relation, line=line),)


def _stands_alone(wanted: str, text: str) -> bool:
    """Whether one of the first occurrences is no part of a longer word."""
    before, behind = _is_word(wanted[0]), _is_word(wanted[-1])
    end = 0
    for _ in range(MOST_OCCURRENCES):
        start = text.find(wanted, end)
        if start < 0:
            return False
        end = start + len(wanted)
        if not (before and _is_word(text[start - 1 : start])) and not (behind and _is_word(text[end : end + 1])):
            return True
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
