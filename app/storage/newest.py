"""The index that was published last: the one whose next edit is likely to come first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.storage.engine import Connection

NEWEST: Final = """
    SELECT b.repository_id, b.branch_id, b.current_gen, r.name, r.created_at
    FROM branch b JOIN repository r ON r.id = b.repository_id
    JOIN generation g ON g.repository_id = b.repository_id AND g.branch_id = b.branch_id AND g.generation = b.current_gen
    WHERE g.extractor = $1
    ORDER BY g.published_at DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class Newest:
    """The index that was published last."""

    repository_id: int
    branch_id: int
    current_gen: int
    name: str
    created_at: datetime


async def newest_index(connection: Connection, extractor: str) -> Newest | None:
    """None when there is none, or when another version made it: then every file is read anew."""
    row = await connection.fetchrow(NEWEST, extractor)
    return None if row is None else Newest(**row)
