"""Literal search: the exact string, found by the trigram index and checked by LIKE.

A pattern from which no trigram can be extracted (one or two characters, punctuation) would read every chunk; it runs only in a bounded
scope (decision 6 of the architecture).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import asyncpg

from app.domain.code import PathClass
from app.domain.errors import QueryNotServable
from app.domain.query import Modality, RetrievalQuery
from app.domain.ranking import ChunkHit, Evidence, FileKey
from app.retrievers.files import FoundChunk
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, SYMBOL_FILTER, scope_arguments
from app.storage.engine import Connection

MOST_CHUNKS: Final = 2_000

# LIMIT stands inside, before the order: a common literal costs what its first matches cost.
MATCHES: Final = f"""{SCOPE}
    SELECT m.*, EXISTS (
        SELECT 1 FROM symbol y
        WHERE y.repository_id = m.repository_id AND y.chunk_id = m.chunk_id AND position(y.name in ${FIRST_FREE + 1}) > 0
    ) AS defines
    FROM (
        SELECT c.repository_id, c.file_id, c.chunk_id, c.start_line, c.text, f.path, f.language, f.path_class
        FROM scope s
        CROSS JOIN LATERAL (
            SELECT * FROM chunk k WHERE k.repository_id = s.repository_id AND k.text {{operator}} ${FIRST_FREE}
        ) c
        {LIVE} {SYMBOL_FILTER}
        LIMIT {MOST_CHUNKS + 1}
    ) m
"""

_ESCAPED = re.compile(r"([\\%_])")
_WORD_RUN = re.compile(r"[^\W_]+")


def like_pattern(literal: str) -> str:
    """A LIKE pattern that matches texts containing exactly this string."""
    return "%" + _ESCAPED.sub(r"\\\1", literal) + "%"


def has_trigram(literal: str) -> bool:
    """Whether pg_trgm can extract a trigram from ``%literal%``: a run of letters and digits, with the two blanks it is padded with at a
    known beginning and the one at a known end, has at least three characters."""
    for run in _WORD_RUN.finditer(literal):
        padding = 2 * (run.start() > 0) + (run.end() < len(literal))
        if len(run.group()) + padding >= 3:
            return True
    return False


async def find_literal(
    connection: Connection, query: RetrievalQuery, literal: str, unindexed_chunks: int
) -> tuple[list[FoundChunk], bool, list[str]]:
    """Chunks that contain the string, whether that is all of them, and warnings.

    Raises QueryNotServable when the string has no trigram and the scope is too large to read.
    """
    warnings: list[str] = []
    if not has_trigram(literal):
        chunks = sum(snapshot.chunks for snapshot in query.scope.snapshots)
        if chunks > unindexed_chunks:
            raise QueryNotServable(
                f"{literal!r} is too short for the text index, and the scope is too large to read in full "
                f"({chunks:,} chunks, at most {unindexed_chunks:,}); name a repository or make the string longer",
                field="query",
            )
        warnings.append("unindexed_scan")
    operator = "LIKE" if query.filters.case or literal != literal.lower() else "ILIKE"
    rows = await connection.fetch(MATCHES.format(operator=operator), *scope_arguments(query), like_pattern(literal), literal)
    return [_found(row, literal) for row in rows[:MOST_CHUNKS]], len(rows) <= MOST_CHUNKS, warnings


def _found(row: asyncpg.Record, literal: str) -> FoundChunk:
    lines = matching_lines(row["text"], literal)
    score = _score(row["text"], literal, row["defines"])
    evidence = tuple(Evidence(Modality.TEXT, score, "literal", line=row["start_line"] + offset) for offset in lines) or (
        Evidence(Modality.TEXT, score, "literal", line=row["start_line"]),
    )
    return FoundChunk(
        FileKey(row["repository_id"], row["path"]),
        row["file_id"],
        row["language"],
        PathClass(row["path_class"]),
        ChunkHit(row["chunk_id"], score, evidence),
    )


def _score(text: str, literal: str, defines: bool) -> float:
    """Case as given before another, whole word before part of one, a definition before a mention."""
    same_case = literal in text
    whole = re.search(rf"(?<!\w){re.escape(literal)}(?!\w)", text, 0 if same_case else re.IGNORECASE) is not None
    return 1.0 + 4.0 * same_case + 2.0 * whole + 1.0 * (defines and whole)


def matching_lines(text: str, literal: str) -> Sequence[int]:
    """0-based offsets of the lines on which an occurrence begins, in the case given or, when there is none, in any."""
    haystack, needle = (text, literal) if literal in text else (text.lower(), literal.lower())
    return list(dict.fromkeys(haystack.count("\n", 0, position) for position in _occurrences(haystack, needle)))


def _occurrences(text: str, needle: str) -> Iterable[int]:
    position = text.find(needle)
    while position >= 0:
        yield position
        position = text.find(needle, position + max(1, len(needle)))
