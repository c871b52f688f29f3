"""Words that look like a question's words, for a question of which no word occurs: typing mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from app.domain.query import Scope
from app.storage.engine import Reads

LEAST_SIMILARITY: Final = 0.4
"""Of trigrams (pg_trgm): one letter left out, doubled or swapped in a word of eight or more."""

LONGEST_WORD: Final = 60

SIMILAR: Final = f"""
    SELECT DISTINCT ON (q.term) q.term, w.word, similarity(w.word, q.term) AS similarity
    FROM unnest($2::text[]) AS q(term)
    JOIN name_word w ON w.repository_id = ANY($1::int[]) AND abs(length(w.word) - length(q.term)) <= 2
        AND similarity(w.word, q.term) >= {LEAST_SIMILARITY}
    ORDER BY q.term, similarity DESC, w.word
"""


async def similar_words(reads: Reads, scope: Scope, terms: Iterable[str]) -> Mapping[str, float]:
    """Words of names → how similar they are to one of the ``terms``, for each term the most similar."""
    wanted = [term for term in terms if len(term) <= LONGEST_WORD]
    rows = await reads.fetch(SIMILAR, [snapshot.repository_id for snapshot in scope.snapshots], wanted)
    return {row["word"]: row["similarity"] for row in rows}
