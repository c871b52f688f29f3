"""Chunks in which an exact search found lines, and what they are worth."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from app.domain.query import Modality
from app.domain.ranking import ChunkHit, Evidence, FileHit, FileKey
from app.retrievers.wanted import Wanted
from app.storage.live_files import LiveFile

SAME_CASE: Final = 4.0
WHOLE_WORD: Final = 2.0
DEFINITION: Final = 1.0

MOST_OCCURRENCES: Final = 8
"""In one chunk, that are looked at to see whether one stands alone."""


class Match(NamedTuple):
    """A chunk with a matching line. ``lines`` are 1-based numbers in the file, in order.

    ``score``: what it is worth where more than the text of one literal decides.
    """

    file: LiveFile
    chunk_id: int
    text: str
    lines: Sequence[int]
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Matches:
    """``overflow``: there are more chunks than were looked at; ``unseen``: of those, some text was left out.

    ``defined``: the lines that define a name of the literal, by (repository_id, file_id); None where nobody has asked for them.
    """

    found: Sequence[Match]
    overflow: bool = False
    unseen: bool = False
    defined: Mapping[tuple[int, int], Collection[int]] | None = None

    @property
    def lines(self) -> int:
        return sum(len(match.lines) for match in self.found)


def by_file(found: Iterable[Match]) -> list[list[Match]]:
    """In the order in which the files come first."""
    groups: dict[FileKey, list[Match]] = {}
    for match in found:
        groups.setdefault(match.file.key, []).append(match)
    return list(groups.values())


def file_of(found: Sequence[Match], target: Wanted, defined: Collection[int]) -> FileHit:
    """The hit of one file: its chunks best first, with the score of the best. ``defined``: the lines that define a name of the literal."""
    best = [(-_score(match, target, defined), match.chunk_id, match) for match in found]
    if len(best) > 1:
        best.sort()
    if defined or target.is_block:
        return _file_hit(found[0].file, tuple([_hit(match, target, -score, defined) for score, _, match in best]))
    relation = target.relation
    return _file_hit(found[0].file, tuple([ChunkHit(chunk_id, -score, _evidence(relation, -score)) for score, chunk_id, _ in best]))


def file_in_order(found: Sequence[Match], target: Wanted) -> FileHit:
    """The hit of one file whose chunks stay in their order, all worth the same."""
    return _file_hit(found[0].file, tuple(_hit(match, target, 1.0, ()) for match in found))


def _hit(match: Match, target: Wanted, score: float, defined: Collection[int]) -> ChunkHit:
    """The evidence names a line where not just any will do: the one with the definition, and each of a literal of several lines."""
    lines: Sequence[int] = ()
    if target.is_block:
        lines = match.lines
    elif defined:
        lines = [line for line in match.lines if line in defined][:1]
    if not lines:
        return ChunkHit(match.chunk_id, score, _evidence(target.relation, score))
    return ChunkHit(match.chunk_id, score, tuple(_evidence(target.relation, score)[0]._replace(line=line) for line in lines))


@lru_cache(maxsize=64)
def _evidence(relation: str, score: float) -> tuple[Evidence]:
    """Thousands are needed and few are shown, so they are one; the reader of a result fills in the line of its first highlight."""
    return (Evidence(Modality.TEXT, score, relation),)


def _file_hit(file: LiveFile, chunks: tuple[ChunkHit, ...]) -> FileHit:
    return FileHit(file.key, file.file_id, file.language, file.path_class, chunks[0].score, chunks)


def _score(match: Match, target: Wanted, defined: Collection[int]) -> float:
    """Case as given before another, a whole word before a part of one, a definition before a mention."""
    score = match.score
    if score is None:
        score = 1.0
        if not target.any_case or target.text in match.text:
            score += SAME_CASE
        if not target.regex and stands_alone(target.text, match.text):
            score += WHOLE_WORD
    if defined and any(line in defined for line in match.lines):
        score += DEFINITION
    return score


def stands_alone(wanted: str, text: str) -> bool:
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
