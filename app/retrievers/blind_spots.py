"""Places where a program decides at run time what it uses; ``blind_spots.toml`` says by which names they are known."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final

from app.domain.query import Snapshot
from app.domain.symbols import BlindSpot
from app.storage.engine import Connection
from app.storage.symbol_rows import place_of

KINDS: Final = frozenset({"reflection", "dynamic_import", "evaluation"})

DYNAMIC: Final = """
    SELECT c.name, c.line, f.path, f.language, y.symbol_id, y.qualified
    FROM reference c
    JOIN file f ON f.repository_id = $1 AND f.file_id = c.file_id AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    JOIN symbol y ON y.repository_id = $1 AND y.file_id = c.file_id AND y.ordinal = c.enclosing
    WHERE c.repository_id = $1 AND c.file_id = ANY($4::int[]) AND c.name = ANY($5::text[])
    ORDER BY f.path, c.line
"""


@cache
def dynamic_names() -> Mapping[tuple[str, str], str]:
    """(language, name) → the kind of blind spot."""
    rules = tomllib.loads(files("app.retrievers").joinpath("blind_spots.toml").read_text("utf-8"))["rule"]
    return {(language, name): rule["kind"] for rule in rules for language in rule["languages"] for name in rule["names"]}


async def blind_spots(
    connection: Connection, snapshot: Snapshot, symbol_ids: Collection[int], file_ids: Sequence[int], limit: int
) -> tuple[BlindSpot, ...]:
    """Those inside of these symbols, which are in these files, by path and line."""
    known = dynamic_names()
    inside = frozenset(symbol_ids)
    rows = await connection.fetch(DYNAMIC, *place_of(snapshot), list(file_ids), sorted({name for _, name in known}))
    return tuple(
        BlindSpot(known[row["language"], row["name"]], row["path"], row["line"], row["name"], row["qualified"])
        for row in rows
        if row["symbol_id"] in inside and (row["language"], row["name"]) in known
    )[:limit]
