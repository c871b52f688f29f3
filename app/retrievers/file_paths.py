"""Files that a question names by their path, whole or from some directory on: ``sessions.py``, ``flask/app.py``."""

from __future__ import annotations

from typing import Final

from app.domain.code import PathClass
from app.domain.query import Intent, RetrievalQuery
from app.domain.ranking import FileHit, FileKey
from app.domain.words import file_name_words
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, scope_arguments
from app.storage.engine import Reads

FILES_AT: Final = f"""{SCOPE}
    SELECT c.repository_id, c.file_id, f.path, f.language, f.path_class
    FROM scope s
    JOIN file_version c ON c.repository_id = s.repository_id AND c.name_words && ${FIRST_FREE}::text[]
    {LIVE}
    WHERE f.path = ${FIRST_FREE + 1} OR right(f.path, length(${FIRST_FREE + 1}) + 1) = '/' || ${FIRST_FREE + 1}
    ORDER BY length(f.path), f.path, c.repository_id
    LIMIT 100
"""

_FEATURES: Final = {"ex": 1.0, "stem": 1.0, "pathq": 1.0, "path": 1.0}


async def files_at(reads: Reads, query: RetrievalQuery) -> tuple[FileHit, ...]:
    """The files at the path that a question for a definition names, shortest path first; they have no chunks yet."""
    operands = query.classification.operands if query.classification.intent is Intent.FIND_DEFINITION else ()
    path = operands[0].removeprefix("./").strip("/") if len(operands) == 1 else ""
    filters = query.filters
    if not ("." in path or "/" in path) or filters.kinds or filters.symbols:
        return ()
    rows = await reads.fetch(FILES_AT, *scope_arguments(query), list(file_name_words(path)), path)
    return tuple(
        FileHit(
            FileKey(row["repository_id"], row["path"]), row["file_id"], row["language"], PathClass(row["path_class"]), 1.0, (), _FEATURES
        )
        for row in rows
    )
