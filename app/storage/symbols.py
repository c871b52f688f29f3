"""Reads the symbol table: definitions by name, by id, by file, by centrality."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.globs import split_excluded, split_globs
from app.domain.query import Scope, Snapshot
from app.domain.ranking import SymbolSummary
from app.domain.symbol_id import file_symbol_id, format_id, parse_id
from app.domain.symbols import IndexedFile, NameMatch, SymbolDetails, SymbolsRequest
from app.domain.words import folded
from app.storage.like import escaped
from app.storage.pool import Pool
from app.storage.symbol_rows import COLUMNS, CONTAINER, LIVE, RANK, SymbolRows, details_of, library_of, modules, place_of

MOST_CENTRAL = """
    SELECT s.symbol_id, s.name, s.qualified, s.kind, s.signature, s.start_line, s.end_line
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    JOIN ref d ON d.repository_id = r.id AND d.is_default
    JOIN centrality z ON z.repository_id = r.id AND z.branch_id = b.branch_id AND z.from_gen <= d.generation AND z.to_gen > d.generation
    JOIN symbol s ON s.repository_id = r.id AND s.symbol_id = z.symbol_id
    JOIN file f ON f.repository_id = r.id AND f.branch_id = b.branch_id AND f.file_id = s.file_id AND f.from_gen <= d.generation
        AND f.to_gen > d.generation AND f.path_class = 'source'
    WHERE r.name = $1
    ORDER BY z.value DESC, f.path, s.ordinal
    LIMIT $2
"""

_SCOPE: Final = "unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)"

_ORDER: Final = "k.closeness DESC, k.path_class <> 'source', k.centrality DESC, NOT k.exported, k.path, k.repository_id, k.ordinal"

# The last condition is always true: it gives every parameter a type in statements that do not use all of them.
FIND: Final = f"""
    WITH matching AS (
        SELECT c.repository_id, c.file_id, c.ordinal, c.symbol_id, c.exported, f.path, f.path_class, f.language, s.branch_id, s.generation,
               {{closeness}} AS closeness
        FROM {_SCOPE}
        JOIN symbol c ON c.repository_id = s.repository_id AND {{condition}}
        JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id AND f.file_id = c.file_id
            AND f.from_gen <= s.generation AND f.to_gen > s.generation
        WHERE ($4::text[] IS NULL OR f.language = ANY($4)) AND ($5::text[] IS NULL OR f.path ~ ANY($5))
          AND ($6::text[] IS NULL OR NOT f.path ~ ANY($6)) AND ($7::text[] IS NULL OR c.kind = ANY($7))
          AND (($8::text, $9::text) IS NULL OR true)
          AND ($12::text[] IS NULL OR f.language IS NULL OR NOT f.language = ANY($12))
    ), closest AS (
        SELECT * FROM matching WHERE {{closest}}
    ), kept AS (
        SELECT k.* FROM (SELECT m.*, COALESCE(z.value, 0) AS centrality FROM closest m LEFT JOIN {{centrality}}) k
        ORDER BY {_ORDER} OFFSET $10 LIMIT $11
    )
    SELECT k.*, c.name, c.qualified, c.kind, c.signature, c.doc, c.start_line, c.end_line, c.name_line,
           o.symbol_id AS container_id, o.qualified AS container, (SELECT count(*) FROM closest) AS total
    FROM kept k
    JOIN symbol c ON c.repository_id = k.repository_id AND c.file_id = k.file_id AND c.ordinal = k.ordinal
    LEFT JOIN symbol o ON o.repository_id = c.repository_id AND o.file_id = c.file_id AND o.ordinal = c.container
    ORDER BY {_ORDER}
"""

_OF_EACH: Final = """
    centrality z ON z.repository_id = m.repository_id AND z.branch_id = m.branch_id AND z.symbol_id = m.symbol_id
        AND z.from_gen <= m.generation AND z.to_gen > m.generation
"""
# For a whole repository, looking each symbol up takes longer than reading them all; OFFSET 0 keeps the planner from it.
_OF_ALL: Final = f"""
    (SELECT z.* FROM {_SCOPE} JOIN centrality z ON z.repository_id = s.repository_id AND z.branch_id = s.branch_id
        AND z.from_gen <= s.generation AND z.to_gen > s.generation OFFSET 0) z
    ON z.repository_id = m.repository_id AND z.branch_id = m.branch_id AND z.symbol_id = m.symbol_id
"""
_CLOSEST_ALONE: Final = "closeness = (SELECT max(closeness) FROM matching)"

# What libraries define has a name and users, and nothing else that could be asked for.
LIBRARIES: Final = """
    SELECT x.repository_id, x.symbol_id, x.name, count(*) OVER () AS total
    FROM external x
    WHERE x.repository_id = ANY($1::int[]) AND right('.' || x.name, length($2) + 1) = '.' || $2
    ORDER BY x.name, x.repository_id OFFSET $3 LIMIT $4
"""

# Files are found by what uses them or what they use; one without any edge is found where its repository is named.
HOLDERS: Final = f"""
    SELECT s.repository_id FROM {_SCOPE}
    JOIN symbol c ON c.repository_id = s.repository_id AND c.symbol_id = $4
    JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id AND f.file_id = c.file_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
    UNION
    SELECT s.repository_id FROM {_SCOPE}
    JOIN centrality z ON z.repository_id = s.repository_id AND z.branch_id = s.branch_id AND z.symbol_id = $4
        AND z.from_gen <= s.generation AND z.to_gen > s.generation
    UNION
    SELECT x.repository_id FROM external x WHERE x.repository_id = ANY($1::int[]) AND x.symbol_id = $4
"""

MEMBERS: Final = f"""
    SELECT {COLUMNS} FROM symbol c {LIVE} {RANK} {CONTAINER}
    WHERE c.repository_id = $1 AND o.symbol_id = $4 ORDER BY c.ordinal LIMIT $5
"""

TOP_LEVEL: Final = f"""
    SELECT {COLUMNS} FROM symbol c {LIVE} {RANK} {CONTAINER}
    WHERE c.repository_id = $1 AND f.path = $4 AND c.container IS NULL ORDER BY c.ordinal LIMIT $5
"""

FILE_SYMBOLS: Final = f"""
    SELECT {COLUMNS} FROM symbol c {LIVE} {RANK} {CONTAINER}
    WHERE c.repository_id = $1 AND f.path = ANY($4::text[]) ORDER BY f.path, c.ordinal
"""

FILE_TEXT: Final = """
    SELECT f.path, string_agg(c.text, E'\\n' ORDER BY c.start_line) AS text
    FROM file f JOIN chunk c ON c.repository_id = $1 AND c.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3 AND f.path = ANY($4::text[])
    GROUP BY f.path
"""

FILE_IMPORTS: Final = """
    SELECT f.path, array_agg(DISTINCT i.line) AS lines
    FROM file f JOIN import i ON i.repository_id = $1 AND i.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3 AND f.path = ANY($4::text[])
    GROUP BY f.path
"""


class Symbols:
    """The SymbolStore of PostgreSQL."""

    def __init__(self, pool: Pool, rows: SymbolRows) -> None:
        self._pool = pool
        self._rows = rows

    async def most_central(self, repository: str, limit: int) -> Sequence[SymbolSummary]:
        """The definitions in source files that most of the repository depends on."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(MOST_CENTRAL, repository, limit)
        return [
            SymbolSummary(
                id=format_id(row["symbol_id"]),
                name=row["name"],
                qualified=row["qualified"],
                kind=row["kind"],
                signature=row["signature"],
                start_line=row["start_line"],
                end_line=row["end_line"],
            )
            for row in rows
        ]

    async def find(self, scope: Scope, wanted: SymbolsRequest, offset: int) -> tuple[Sequence[SymbolDetails], int]:
        """See ports.SymbolStore."""
        names = {snapshot.repository_id: snapshot.repository for snapshot in scope.snapshots}
        include, exclude = split_globs(wanted.paths)
        languages, other_languages = split_excluded(wanted.languages)
        by, written, asked = _condition(wanted)
        async with self._pool.connection() as connection:
            rows = await connection.fetch(
                FIND.format(
                    closeness=by.closeness,
                    condition=by.condition,
                    closest=_CLOSEST_ALONE if by.alone else "true",
                    centrality=_OF_ALL if by.every else _OF_EACH,
                ),
                *scope.columns,
                languages or None,
                include or None,
                exclude or None,
                list(wanted.kinds) or None,
                written,
                asked,
                offset,
                wanted.limit,
                other_languages or None,
            )
            if not rows and written and wanted.match is NameMatch.EXACT and not (wanted.kinds or wanted.languages or wanted.paths):
                libraries = await connection.fetch(LIBRARIES, list(names), written, offset, wanted.limit)
                return [library_of(row) for row in libraries], libraries[0]["total"] if libraries else 0
        found = [details_of(row, names[row["repository_id"]]) for row in rows]
        return found, rows[0]["total"] if rows else 0

    async def holders(self, scope: Scope, symbol_id: str) -> Sequence[Snapshot]:
        """See ports.SymbolStore."""
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(HOLDERS, *scope.columns, parse_id(symbol_id))
        holding = {row["repository_id"] for row in rows}
        return [snapshot for snapshot in scope.snapshots if snapshot.repository_id in holding]

    async def get(self, snapshot: Snapshot, symbol_id: str) -> SymbolDetails | None:
        """See ports.SymbolStore."""
        wanted = parse_id(symbol_id)
        async with self._pool.keyed() as connection:
            return (await self._rows.describe(connection, snapshot, [wanted])).get(wanted)

    async def members(self, snapshot: Snapshot, symbol: SymbolDetails, limit: int) -> Sequence[SymbolDetails]:
        """See ports.SymbolStore."""
        if symbol.place is None:
            return []
        is_file = symbol.id == format_id(file_symbol_id(symbol.place.path))
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(
                TOP_LEVEL if is_file else MEMBERS, *place_of(snapshot), symbol.place.path if is_file else parse_id(symbol.id), limit
            )
        return [details_of(row, snapshot.repository) for row in rows]

    async def files(self, snapshot: Snapshot, paths: Sequence[str]) -> Mapping[str, IndexedFile]:
        """See ports.SymbolStore."""
        wanted = list(dict.fromkeys(paths))
        at = place_of(snapshot)
        async with self._pool.keyed() as connection:
            known = await modules(connection, snapshot, wanted)
            symbols = await connection.fetch(FILE_SYMBOLS, *at, wanted)
            texts = {row["path"]: row["text"] for row in await connection.fetch(FILE_TEXT, *at, wanted)}
            imports = {row["path"]: row["lines"] for row in await connection.fetch(FILE_IMPORTS, *at, wanted)}
        defined: dict[str, list[SymbolDetails]] = {path: [] for path in wanted}
        for row in symbols:
            defined[row["path"]].append(details_of(row, snapshot.repository))
        found = {}
        for module in known.values():
            path = module.qualified
            text = texts.get(path)
            found[path] = IndexedFile(
                path, module, text.split("\n") if text is not None else [], defined[path], frozenset(imports.get(path, ()))
            )
        return found


@dataclass(frozen=True, slots=True)
class _NameCondition:
    """SQL on a symbol ``c``; $8 is the name as written, $9 what the index is asked for. ``alone``: only the closest ones count;
    ``every``: it excludes nothing.
    """

    condition: str
    closeness: str
    alone: bool = False
    every: bool = False


_ANY: Final = _NameCondition("true", "0", every=True)
_EXACT: Final = _NameCondition("c.lname = $9", "(c.name = $8)::int", alone=True)
_QUALIFIED: Final = _NameCondition(
    "c.lname = $9 AND right('.' || lower(c.qualified), length($8) + 1) = '.' || lower($8)",
    "(right('.' || c.qualified, length($8) + 1) = '.' || $8)::int",
    alone=True,
)
_GLOB: Final = _NameCondition("c.name ILIKE $9", "(c.name LIKE $9)::int")
_PREFIX: Final = _NameCondition("c.lname LIKE $9", "starts_with(c.name, $8)::int + (c.name = $8)::int")
_FUZZY: Final = _NameCondition("c.name % $8", "similarity(c.name, $8)")

# With parents: $8 are the names joined by dots, as a pattern; the index is asked for the last one.
_PARENTS: Final = "'.' || c.qualified {like} '%.' || $8"
_QUALIFIED_GLOB: Final = _NameCondition(f"c.name ILIKE $9 AND {_PARENTS.format(like='ILIKE')}", f"({_PARENTS.format(like='LIKE')})::int")


def _condition(wanted: SymbolsRequest) -> tuple[_NameCondition, str | None, str | None]:
    """The condition, and the values of $8 and $9."""
    name = (wanted.name or "*").strip()
    if wanted.name is None or (set(name) == {"*"} and wanted.match is NameMatch.EXACT):
        return _ANY, None, None
    dotted = ".".join(part for part in re.split(r"\.|::|#|->", name) if part) or name
    last = dotted.rpartition(".")[2] or dotted
    if wanted.match is NameMatch.FUZZY:
        return _FUZZY, last, None
    if wanted.match is NameMatch.PREFIX:
        if dotted != last:
            return _QUALIFIED_GLOB, escaped(dotted) + "%", escaped(last) + "%"
        return _PREFIX, dotted, escaped(folded(dotted)) + "%"
    if "*" in name:
        return (_GLOB, name, _glob(name)) if dotted == last else (_QUALIFIED_GLOB, _glob(dotted), _glob(last))
    return (_QUALIFIED if "." in dotted else _EXACT), dotted, folded(last)


def _glob(name: str) -> str:
    return "%".join(map(escaped, name.split("*")))
