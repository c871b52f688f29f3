"""What every retriever's SQL has in common: the snapshots to read and the filters, applied before ranking.

A statement begins with ``SCOPE`` and joins ``LIVE`` on a relation ``c`` that has ``repository_id`` and ``file_id``. The parameters
$1 to $10 are ``scope_arguments``; a statement's own begin at $11.
"""

from __future__ import annotations

import re
from typing import Final

from app.domain.globs import one_regex, split_excluded, split_globs
from app.domain.query import Filters, RetrievalQuery

# The condition is always true: it gives every parameter a type in statements that do not use all of them.
SCOPE: Final = """
    WITH scope AS (
        SELECT * FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
        WHERE ($4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[]) IS NULL OR true
    )
"""

FILE_FILTERS: Final = """
        AND ($4::text[] IS NULL OR f.language = ANY($4))
        AND ($5::text[] IS NULL OR f.path ~ ANY($5))
        AND ($6::text[] IS NULL OR NOT f.path ~ ANY($6))
        AND ($9::text[] IS NULL OR f.language IS NULL OR NOT f.language = ANY($9))
"""

LIVE: Final = f"""
    JOIN file f ON f.repository_id = c.repository_id AND f.file_id = c.file_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
        {FILE_FILTERS}
"""

# The chunk of a row by its key, as ``c``. OFFSET 0 is a fence: joined flat, the planner, which expects few rows, first pairs each of them
# with every live file of its repository (several small repositories: 640 ms instead of 20).
CHUNK_OF: Final = """
    CROSS JOIN LATERAL (
        SELECT * FROM chunk k WHERE k.repository_id = {repository} AND k.chunk_id = {chunk} OFFSET 0
    ) c
"""

# $7 and $8 restrict chunks to those that hold a definition of such a kind or name, $10 to those that none of its patterns matches.
SYMBOL_FILTER: Final = """
    AND ($7::text[] IS NULL AND $8::text[] IS NULL OR EXISTS (
        SELECT 1 FROM symbol y
        WHERE y.repository_id = c.repository_id AND y.chunk_id = c.chunk_id
          AND ($7::text[] IS NULL OR y.kind = ANY($7)) AND ($8::text[] IS NULL OR y.name ~ ANY($8))
    ))
    AND ($10::text[] IS NULL OR NOT EXISTS (
        SELECT 1 FROM chunk x WHERE x.repository_id = c.repository_id AND x.chunk_id = c.chunk_id AND x.text ~ ANY($10)
    ))
"""

FIRST_FREE: Final = 11


def scope_arguments(query: RetrievalQuery) -> list[object]:
    """The values of $1 to $10."""
    filters = query.filters
    return [
        *file_arguments(query)[:6],
        list(filters.kinds) or None,
        one_regex(map(_name_regex, filters.symbols)) or None,
        *file_arguments(query)[8:9],
        text_patterns(filters) or None,
    ]


def file_arguments(query: RetrievalQuery) -> list[object]:
    """The same without what restricts the chunks of a file."""
    include, exclude = split_globs(query.filters.paths)
    languages, other_languages = split_excluded(query.filters.languages)
    return [*query.scope.columns, languages or None, include or None, exclude or None, None, None, other_languages or None, None]


def text_patterns(filters: Filters) -> list[str]:
    """Regular expressions of PostgreSQL, none of which may match a chunk's text."""
    case = "(?c)" if filters.case else "(?i)"
    before, behind = (r"(^|[^[:alnum:]_])", r"($|[^[:alnum:]_])") if filters.word else ("", "")
    return [case + pattern for pattern in one_regex(before + re.sub(r"([^\w\s])", r"\\\1", text) + behind for text in filters.without)]


def _name_regex(pattern: str) -> str:
    return "^" + "".join(".*" if part == "*" else re.sub(r"(\W)", r"\\\1", part) for part in re.split(r"(\*)", pattern)) + "$"


def is_filtered(query: RetrievalQuery) -> bool:
    """Whether the filters could drop a candidate, so that ranking must come after them."""
    filters = query.filters
    return bool(filters.languages or filters.paths or filters.kinds or filters.symbols or filters.without)
