"""Turns symbol ids into what they stand for: definitions, files as modules, names of libraries; and sites into their lines.

All statements are over one snapshot: $1 to $3 are repository, branch and generation.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import asyncpg

from app.domain.code import PathClass, SymbolKind
from app.domain.query import Snapshot
from app.domain.symbol_id import file_symbol_id, format_id
from app.domain.symbols import Place, SymbolDetails
from app.storage.engine import Connection

LONGEST_LINE: Final = 300
"""Characters of a line that are shown."""

COLUMNS: Final = """
    c.symbol_id, c.name, c.qualified, c.kind, c.signature, c.doc, c.exported, c.start_line, c.end_line, c.name_line,
    f.path, f.path_class, f.language, COALESCE(z.value, 0) AS centrality, o.symbol_id AS container_id, o.qualified AS container
"""

LIVE: Final = """
    JOIN file f ON f.repository_id = $1 AND f.file_id = c.file_id AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
"""

RANK: Final = """
    LEFT JOIN centrality z ON z.repository_id = $1 AND z.branch_id = $2 AND z.symbol_id = c.symbol_id AND z.from_gen <= $3 AND z.to_gen > $3
"""

CONTAINER: Final = "LEFT JOIN symbol o ON o.repository_id = $1 AND o.file_id = c.file_id AND o.ordinal = c.container"

DETAILS: Final = f"""
    SELECT {COLUMNS} FROM symbol c {LIVE} {RANK} {CONTAINER}
    WHERE c.repository_id = $1 AND c.symbol_id = ANY($4::bigint[])
"""

MODULES: Final = """
    SELECT w.symbol_id, f.path, f.path_class, f.language, v.lines, COALESCE(z.value, 0) AS centrality
    FROM unnest($4::bigint[], $5::text[]) AS w(symbol_id, path)
    JOIN file f ON f.repository_id = $1 AND f.branch_id = $2 AND f.path = w.path AND f.from_gen <= $3 AND f.to_gen > $3
    JOIN file_version v ON v.repository_id = $1 AND v.file_id = f.file_id
    LEFT JOIN centrality z ON z.repository_id = $1 AND z.branch_id = $2 AND z.symbol_id = w.symbol_id AND z.from_gen <= $3 AND z.to_gen > $3
"""

PATHS: Final = "SELECT f.path FROM file f WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3"

EXTERNAL: Final = "SELECT symbol_id, name FROM external WHERE repository_id = $1 AND symbol_id = ANY($2::bigint[])"

LINES: Final = f"""
    SELECT w.file_id, w.line, left(split_part(k.text, E'\\n', w.line - k.start_line + 1), {LONGEST_LINE}) AS text
    FROM unnest($2::int[], $3::int[]) AS w(file_id, line)
    CROSS JOIN LATERAL (
        SELECT start_line, text FROM chunk
        WHERE repository_id = $1 AND file_id = w.file_id AND start_line <= w.line ORDER BY start_line DESC LIMIT 1
    ) k
"""


def place_of(snapshot: Snapshot) -> tuple[int, int, int]:
    """The values of $1 to $3."""
    return snapshot.repository_id, snapshot.branch_id, snapshot.generation


def details_of(row: asyncpg.Record, repository: str) -> SymbolDetails:
    """The symbol behind a row with ``COLUMNS``."""
    container_id = row["container_id"]
    return SymbolDetails(
        id=format_id(row["symbol_id"]),
        name=row["name"],
        qualified=row["qualified"],
        kind=row["kind"],
        signature=row["signature"],
        doc=row["doc"],
        exported=row["exported"],
        centrality=row["centrality"],
        place=Place(
            repository,
            row["path"],
            PathClass(row["path_class"]),
            row["language"],
            row["start_line"],
            row["end_line"],
            row["name_line"],
        ),
        container=row["container"],
        container_id=None if container_id is None else format_id(container_id),
    )


def _module(row: asyncpg.Record, repository: str) -> SymbolDetails:
    place = Place(repository, row["path"], PathClass(row["path_class"]), row["language"], 1, max(1, row["lines"]), 1)
    return SymbolDetails(
        id=format_id(row["symbol_id"]),
        name=row["path"].rpartition("/")[2],
        qualified=row["path"],
        kind=SymbolKind.MODULE.value,
        signature="",
        doc="",
        exported=True,
        centrality=row["centrality"],
        place=place,
    )


def library_of(row: asyncpg.Record) -> SymbolDetails:
    """What a library defines, by the name that it is imported by (``requests.get``)."""
    name = row["name"]
    return SymbolDetails(format_id(row["symbol_id"]), name.rpartition(".")[2], name, "external", "", "", True, 0.0, None)


async def modules(connection: Connection, snapshot: Snapshot, paths: Iterable[str]) -> dict[int, SymbolDetails]:
    """The files at these paths, as modules, by symbol id."""
    ids = {file_symbol_id(path): path for path in paths}
    rows = await connection.fetch(MODULES, *place_of(snapshot), list(ids), list(ids.values())) if ids else []
    return {row["symbol_id"]: _module(row, snapshot.repository) for row in rows}


class SymbolRows:
    """Describes symbols by id. Remembers the module ids of the generations asked for last: an id does not tell its path."""

    MOST_GENERATIONS: Final = 16

    def __init__(self) -> None:
        self._modules: OrderedDict[tuple[int, int, int], Mapping[int, str]] = OrderedDict()

    async def describe(
        self, connection: Connection, snapshot: Snapshot, ids: Collection[int], paths: Iterable[str] = ()
    ) -> dict[int, SymbolDetails]:
        """Details by id; ids that the snapshot does not know are left out. ``paths``: where modules among the ids are expected."""
        if not ids:
            return {}
        rows = await connection.fetch(DETAILS, *place_of(snapshot), list(ids))
        found = {row["symbol_id"]: details_of(row, snapshot.repository) for row in rows}
        missing = {identifier for identifier in ids if identifier not in found}
        if missing:
            expected = {file_symbol_id(path): path for path in paths}
            here = {expected[identifier] for identifier in missing & expected.keys()}
            if missing - expected.keys():
                known = await self._module_paths(connection, snapshot)
                here |= {known[identifier] for identifier in missing & known.keys()}
            found |= await modules(connection, snapshot, here)
            outside = await connection.fetch(EXTERNAL, snapshot.repository_id, list(missing - found.keys()))
            found |= {row["symbol_id"]: library_of(row) for row in outside}
        return found

    async def _module_paths(self, connection: Connection, snapshot: Snapshot) -> Mapping[int, str]:
        key = place_of(snapshot)
        if key not in self._modules:
            rows = await connection.fetch(PATHS, *key)
            paths = [row["path"] for row in rows]
            self._modules[key] = await asyncio.to_thread(lambda: {file_symbol_id(path): path for path in paths})
            while len(self._modules) > self.MOST_GENERATIONS:
                self._modules.popitem(last=False)
        self._modules.move_to_end(key)
        return self._modules[key]


async def lines(connection: Connection, snapshot: Snapshot, sites: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """The text of each (file id, line), at most ``LONGEST_LINE`` characters of it."""
    if not sites:
        return {}
    wanted = list(dict.fromkeys(sites))
    rows = await connection.fetch(LINES, snapshot.repository_id, [site[0] for site in wanted], [site[1] for site in wanted])
    return {(row["file_id"], row["line"]): row["text"] for row in rows}
