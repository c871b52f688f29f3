"""The edges around one symbol: its uses, its callers, what it calls. What a change reaches is in ``impact_walk``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final, NamedTuple, TypeVar

import asyncpg

from app.domain.code import EdgeClass, EdgeKind, ReferenceKind, SymbolKind
from app.domain.query import Snapshot
from app.domain.symbol_id import file_symbol_id, format_id, parse_id
from app.domain.symbols import Impact, ListPart, Relative, Site, SymbolDetails, UnresolvedCall, Use
from app.retrievers.impact_walk import impact
from app.retrievers.walk import MOST_STEPS, Unresolved, unresolved_uses
from app.storage.engine import Connection
from app.storage.pool import Pool
from app.storage.symbol_rows import SymbolRows, lines, place_of

T = TypeVar("T")

CALLS: Final = (EdgeKind.CALLS.value, EdgeKind.INSTANTIATES.value)
SITES_SHOWN: Final = 100
UNRESOLVED_SHOWN: Final = 200

_COUNTS: Final = """
    count(*) FILTER (WHERE edge_class = 'exact') AS exact, count(*) FILTER (WHERE edge_class = 'likely') AS likely
"""

# The counts come with every page, also with one that is empty.
REFERENCES: Final = f"""
    WITH found AS MATERIALIZED (
        SELECT e.source, e.file_id, e.line, e.kind, e.class AS edge_class
        FROM edge e
        WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.target = $4 AND e.class = ANY($5::text[])
          AND e.from_gen <= $3 AND e.to_gen > $3
    )
    SELECT n.exact, n.likely, p.*
    FROM (SELECT {_COUNTS} FROM found) n
    LEFT JOIN (
        SELECT u.*, v.path, v.path_class, v.language
        FROM found u JOIN file_version v ON v.repository_id = $1 AND v.file_id = u.file_id
        ORDER BY u.edge_class, v.path_class <> 'source', v.path, u.line, u.kind OFFSET $6 LIMIT $7
    ) p ON true
    ORDER BY p.edge_class, p.path_class <> 'source', p.path, p.line, p.kind
"""

_RELATIVES: Final = f"""
    WITH found AS MATERIALIZED (
        SELECT e.{{end}} AS symbol_id, min(e.class) AS edge_class, min(e.line) AS first_line, min(e.file_id) AS file_id,
               array_agg(e.line ORDER BY e.line, e.kind) AS lines, array_agg(e.kind ORDER BY e.line, e.kind) AS kinds,
               array_agg(e.class ORDER BY e.line, e.kind) AS classes
        FROM edge e
        WHERE e.repository_id = $1 AND e.branch_id = $2 AND {{condition}} AND e.kind = ANY($5::text[]) AND e.class = ANY($6::text[])
          AND e.from_gen <= $3 AND e.to_gen > $3
        GROUP BY e.{{end}}
    ), page AS (
        SELECT u.*, row_number() OVER (ORDER BY {{order}}) AS position
        FROM found u
        LEFT JOIN centrality z ON z.repository_id = $1 AND z.branch_id = $2 AND z.symbol_id = u.symbol_id
            AND z.from_gen <= $3 AND z.to_gen > $3
        ORDER BY position OFFSET $7 LIMIT $8
    )
    SELECT n.exact, n.likely, p.*
    FROM (SELECT {_COUNTS} FROM found) n LEFT JOIN page p ON true
    ORDER BY p.position
"""

CALLERS: Final = _RELATIVES.format(end="source", condition="e.target = $4", order="u.edge_class, z.value DESC NULLS LAST, u.symbol_id")

# Who hands a function on as a value may call it, or have it called: a callback, an entry of a table, a decorator's argument.
HANDED_ON: Final = f"""
    SELECT e.source, e.file_id, e.line, v.path
    FROM edge e JOIN file_version v ON v.repository_id = $1 AND v.file_id = e.file_id
    WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.target = $4 AND e.kind = '{EdgeKind.REFERENCES}'
      AND e.from_gen <= $3 AND e.to_gen > $3
      AND NOT EXISTS (
        SELECT 1 FROM edge k
        WHERE k.repository_id = $1 AND k.branch_id = $2 AND k.target = $4 AND k.source = e.source AND k.kind = ANY($5::text[])
          AND k.from_gen <= $3 AND k.to_gen > $3
      )
    ORDER BY v.path_class <> 'source', v.path, e.line
    LIMIT $6
"""

_IN_SYMBOL: Final = """
    {row}.file_id = (
        SELECT file_id FROM file WHERE repository_id = $1 AND branch_id = $2 AND path = $4 AND from_gen <= $3 AND to_gen > $3
    ) AND {row}.line BETWEEN {first} AND {last}
"""

CALLEES: Final = _RELATIVES.format(
    end="target",
    condition=_IN_SYMBOL.format(row="e", first="$9", last="$10"),
    order="u.edge_class = 'possible', u.first_line, u.symbol_id",
)

UNRESOLVED_CALLS: Final = f"""
    WITH unresolved AS MATERIALIZED (
        SELECT c.name, c.receiver, c.line, c.ordinal
        FROM reference c
        WHERE c.repository_id = $1 AND {_IN_SYMBOL.format(row="c", first="$5", last="$6")} AND c.kind = $7
          AND c.name <> '' AND c.receiver IS DISTINCT FROM ''
          AND NOT EXISTS (
            SELECT 1 FROM edge e
            WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.file_id = c.file_id AND e.reference = c.ordinal
              AND e.from_gen <= $3 AND e.to_gen > $3
          )
        ORDER BY c.ordinal
        LIMIT {UNRESOLVED_SHOWN}
    ), namesakes AS MATERIALIZED (
        SELECT w.name, count(*) AS candidates
        FROM (SELECT DISTINCT name FROM unresolved) w
        JOIN symbol y ON y.repository_id = $1 AND y.lname = lower(w.name) AND y.name = w.name
        JOIN file f ON f.repository_id = $1 AND f.file_id = y.file_id AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
        GROUP BY w.name
    )
    SELECT u.name, u.receiver, u.line, COALESCE(n.candidates, 0) AS candidates
    FROM unresolved u LEFT JOIN namesakes n ON n.name = u.name
    ORDER BY u.ordinal
"""


class _Found(NamedTuple):
    """A use on its way to be shown."""

    source: int
    file_id: int
    line: int
    kind: str
    edge_class: str
    path: str


class _Relative(NamedTuple):
    """A caller or callee on its way to be shown; its sites have no text yet."""

    symbol_id: int
    file_id: int
    edge_class: EdgeClass
    sites: tuple[Site, ...]
    site_count: int


class EdgeGraph:
    """The SymbolGraph of PostgreSQL."""

    def __init__(self, pool: Pool, rows: SymbolRows) -> None:
        self._pool = pool
        self._rows = rows

    async def references(
        self, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], offset: int, limit: int
    ) -> ListPart[Use]:
        """See ports.SymbolGraph."""
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(REFERENCES, *place_of(snapshot), parse_id(symbol.id), list(classes), offset, limit)
            possible, complete = await _possible(connection, snapshot, symbol, classes, None)
            counts = _counts(rows, len(possible))
            resolved = [
                _Found(row["source"], row["file_id"], row["line"], row["kind"], row["edge_class"], row["path"]) for row in _page(rows)
            ]
            unresolved = [
                _Found(use.source, use.file_id, use.line, use.kind, EdgeClass.POSSIBLE, use.path)
                for use in _after(possible, counts, offset, limit)
            ]
            items = await self._uses(connection, snapshot, [*resolved, *unresolved])
        return ListPart(items, counts, complete)

    async def callers(
        self, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], offset: int, limit: int
    ) -> ListPart[Relative]:
        """See ports.SymbolGraph."""
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(CALLERS, *place_of(snapshot), parse_id(symbol.id), CALLS, list(classes), offset, limit)
            possible, complete = await _possible(connection, snapshot, symbol, classes, ReferenceKind.CALL)
            handed_on = await _handed_on(connection, snapshot, symbol, classes)
            possible, complete = [*handed_on[:MOST_STEPS], *possible], complete and len(handed_on) <= MOST_STEPS
            grouped: dict[int, list[Unresolved]] = {}
            for use in possible:
                grouped.setdefault(use.source, []).append(use)
            counts = _counts(rows, len(grouped))
            unresolved = _after(list(grouped.values()), counts, offset, limit)
            relatives = [*map(_relative, _page(rows)), *map(_possible_relative, unresolved)]
            paths = [use.path for uses in unresolved for use in uses[:1]]
            items = await self._relatives(connection, snapshot, relatives, paths)
        return ListPart(items, counts, complete)

    async def callees(
        self, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], offset: int, limit: int
    ) -> tuple[ListPart[Relative], Sequence[UnresolvedCall]]:
        """See ports.SymbolGraph."""
        if symbol.place is None:
            return ListPart((), _counts([], 0), True), ()
        at = place_of(snapshot)
        span = (symbol.place.start_line, symbol.place.end_line)
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(CALLEES, *at, symbol.place.path, CALLS, list(classes), offset, limit, *span)
            items = await self._relatives(connection, snapshot, [*map(_relative, _page(rows))], ())
            unresolved: Sequence[asyncpg.Record] = ()
            if EdgeClass.POSSIBLE in classes:
                unresolved = await connection.fetch(UNRESOLVED_CALLS, *at, symbol.place.path, *span, ReferenceKind.CALL.value)
        calls = tuple(UnresolvedCall(row["name"], row["receiver"], row["line"], row["candidates"]) for row in unresolved)
        return ListPart(items, _counts(rows, 0), len(calls) < UNRESOLVED_SHOWN), calls

    async def impact(self, snapshot: Snapshot, changed: Sequence[SymbolDetails], depth: int, limit: int) -> Impact:
        """See ports.SymbolGraph."""
        async with self._pool.keyed() as connection:
            return await impact(connection, self._rows, snapshot, changed, depth, limit)

    async def _uses(self, connection: Connection, snapshot: Snapshot, found: Sequence[_Found]) -> tuple[Use, ...]:
        symbols = await self._rows.describe(connection, snapshot, {item.source for item in found}, {item.path for item in found})
        texts = await lines(connection, snapshot, [(item.file_id, item.line) for item in found])
        uses = []
        for item in found:
            symbol = symbols.get(item.source)
            if symbol is not None and symbol.place is not None:
                site = Site(item.line, item.kind, EdgeClass(item.edge_class), texts.get((item.file_id, item.line), ""))
                uses.append(Use(item.path, symbol.place.path_class, symbol.place.language, symbol, site))
        return tuple(uses)

    async def _relatives(
        self, connection: Connection, snapshot: Snapshot, found: Sequence[_Relative], paths: Iterable[str]
    ) -> tuple[Relative, ...]:
        symbols = await self._rows.describe(connection, snapshot, {item.symbol_id for item in found}, paths)
        texts = await lines(connection, snapshot, [(item.file_id, site.line) for item in found for site in item.sites])
        relatives = []
        for item in found:
            if item.symbol_id in symbols:
                sites = tuple(
                    Site(site.line, site.relation, site.edge_class, texts.get((item.file_id, site.line), "")) for site in item.sites
                )
                relatives.append(Relative(symbols[item.symbol_id], item.edge_class, sites, item.site_count))
        return tuple(relatives)


async def _possible(
    connection: Connection, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass], kind: ReferenceKind | None
) -> tuple[list[Unresolved], bool]:
    """Uses of the symbol's name that no edge explains; a file as a whole has no name to be used by."""
    is_file = symbol.place is not None and symbol.id == format_id(file_symbol_id(symbol.place.path))
    if EdgeClass.POSSIBLE not in classes or symbol.place is None or is_file:
        return [], True
    found, complete = await unresolved_uses(connection, snapshot, [symbol.name])
    return [use for use in found if kind is None or use.kind == kind], complete


async def _handed_on(connection: Connection, snapshot: Snapshot, symbol: SymbolDetails, classes: Sequence[EdgeClass]) -> list[Unresolved]:
    """Where a function is read as a value by who does not call it for certain; one more than the bound when there are more."""
    if EdgeClass.POSSIBLE not in classes or symbol.place is None or not SymbolKind(symbol.kind).is_callable:
        return []
    rows = await connection.fetch(HANDED_ON, *place_of(snapshot), parse_id(symbol.id), CALLS, MOST_STEPS + 1)
    return [Unresolved(r["source"], symbol.name, EdgeKind.REFERENCES, r["file_id"], r["line"], r["path"]) for r in rows]


def _counts(rows: Sequence[asyncpg.Record], possible: int) -> Mapping[EdgeClass, int]:
    exact, likely = (rows[0]["exact"], rows[0]["likely"]) if rows else (0, 0)
    return {EdgeClass.EXACT: exact, EdgeClass.LIKELY: likely, EdgeClass.POSSIBLE: possible}


def _page(rows: Sequence[asyncpg.Record]) -> list[asyncpg.Record]:
    """The rows of a page without the one that only counts."""
    return [row for row in rows if row["edge_class"] is not None]


def _after(possible: Sequence[T], counts: Mapping[EdgeClass, int], offset: int, limit: int) -> Sequence[T]:
    """The part of a page that follows its resolved entries."""
    resolved = counts[EdgeClass.EXACT] + counts[EdgeClass.LIKELY]
    return possible[max(0, offset - resolved) : max(0, offset + limit - resolved)]


def _relative(row: asyncpg.Record) -> _Relative:
    parts = zip(row["lines"], row["kinds"], row["classes"], strict=True)
    sites = tuple(Site(line, kind, EdgeClass(edge_class)) for line, kind, edge_class in islice(parts, SITES_SHOWN))
    return _Relative(row["symbol_id"], row["file_id"], EdgeClass(row["edge_class"]), sites, len(row["lines"]))


def _possible_relative(uses: Sequence[Unresolved]) -> _Relative:
    sites = tuple(Site(use.line, use.kind, EdgeClass.POSSIBLE) for use in uses[:SITES_SHOWN])
    return _Relative(uses[0].source, uses[0].file_id, EdgeClass.POSSIBLE, sites, len(uses))
