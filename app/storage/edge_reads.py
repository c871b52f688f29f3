"""Reads edges by the files that they start in, and the definitions that they lead to; ``at`` is (repository, branch, generation)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from app.domain.code import EdgeClass
from app.domain.position import DefinitionSite
from app.storage.engine import Connection

At: TypeAlias = tuple[int, int, int]

USED: Final = """
    SELECT e.target, count(*) AS uses FROM edge e
    WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.from_gen <= $3 AND e.to_gen > $3 AND e.file_id = ANY($4::int[])
      AND ($5::text[] IS NULL OR e.kind = ANY($5))
    GROUP BY e.target ORDER BY uses DESC, e.target
"""

HOLDING: Final = """
    SELECT c.symbol_id, c.file_id FROM symbol c
    JOIN file f ON f.repository_id = $1 AND f.file_id = c.file_id AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    WHERE c.repository_id = $1 AND c.symbol_id = ANY($4::bigint[])
"""

AT_SITE: Final = """
    SELECT DISTINCT e.target, e.class FROM edge e
    WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.from_gen <= $3 AND e.to_gen > $3 AND e.file_id = $4 AND e.reference = $5
    ORDER BY e.target
"""

DEFINED: Final = """
    SELECT c.symbol_id, f.path, c.name_line, c.name, c.kind FROM symbol c
    JOIN file f ON f.repository_id = $1 AND f.file_id = c.file_id AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    WHERE c.repository_id = $1 AND c.symbol_id = ANY($4::bigint[]) ORDER BY f.path, c.name_line
"""


async def used_by_files(connection: Connection, at: At, file_ids: Sequence[int], kinds: Sequence[str] | None) -> list[int]:
    """The symbols that edges of these ``kinds``, or of all, lead to from these files, the most used first."""
    return [row["target"] for row in await connection.fetch(USED, *at, list(file_ids), kinds)]


async def files_of_symbols(connection: Connection, at: At, symbol_ids: Sequence[int]) -> Mapping[int, int]:
    """Symbol id → the id of the file that defines it."""
    return {row["symbol_id"]: row["file_id"] for row in await connection.fetch(HOLDING, *at, symbol_ids)}


async def edges_at(connection: Connection, at: At, file_id: int, reference: int) -> list[DefinitionSite]:
    """The symbols that the index says a reference of a file leads to."""
    classes = {row["target"]: EdgeClass(row["class"]) for row in await connection.fetch(AT_SITE, *at, file_id, reference)}
    rows = await connection.fetch(DEFINED, *at, list(classes)) if classes else []
    return [DefinitionSite(r["path"], r["name_line"], None, r["name"], r["kind"], classes[r["symbol_id"]], r["symbol_id"]) for r in rows]
