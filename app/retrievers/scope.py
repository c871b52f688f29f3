"""What every retriever's SQL has in common: the snapshots to read and the filters, applied before ranking.

A statement begins with ``SCOPE`` and joins ``LIVE`` on a relation ``c`` that has ``repository_id`` and ``file_id``. The parameters
$1 to $8 are ``scope_arguments``; a statement's own begin at $9.
"""

from __future__ import annotations

import re
from typing import Final

from app.domain.code import PathClass
from app.domain.globs import split_globs
from app.domain.query import RetrievalQuery

# The condition is always true: it gives every parameter a type in statements that do not use all of them.
SCOPE: Final = """
    WITH scope AS (
        SELECT * FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
        WHERE ($4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) IS NULL OR true
    )
"""

FILE_FILTERS: Final = """
        AND ($4::text[] IS NULL OR f.language = ANY($4))
        AND ($5::text[] IS NULL OR f.path ~ ANY($5))
        AND ($6::text[] IS NULL OR NOT f.path ~ ANY($6))
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

# $7 and $8 restrict chunks to those that hold a definition of such a kind or name.
SYMBOL_FILTER: Final = """
    AND ($7::text[] IS NULL AND $8::text[] IS NULL OR EXISTS (
        SELECT 1 FROM symbol y
        WHERE y.repository_id = c.repository_id AND y.chunk_id = c.chunk_id
          AND ($7::text[] IS NULL OR y.kind = ANY($7)) AND ($8::text[] IS NULL OR y.name ~ ANY($8))
    ))
"""

FIRST_FREE: Final = 9


def scope_arguments(query: RetrievalQuery) -> list[object]:
    """The values of $1 to $8."""
    include, exclude = split_globs(query.filters.paths)
    return [
        *query.scope.columns,
        list(query.filters.languages) or None,
        include or None,
        exclude or None,
        list(query.filters.kinds) or None,
        [_name_regex(name) for name in query.filters.symbols] or None,
    ]


def _name_regex(pattern: str) -> str:
    return "^" + "".join(".*" if part == "*" else re.sub(r"(\W)", r"\\\1", part) for part in re.split(r"(\*)", pattern)) + "$"


def is_filtered(query: RetrievalQuery) -> bool:
    """Whether the filters could drop a candidate, so that ranking must come after them."""
    filters = query.filters
    return bool(filters.languages or filters.paths or filters.kinds or filters.symbols)


def path_class(value: str) -> PathClass:
    """The stored path class."""
    return PathClass(value)
