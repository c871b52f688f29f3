"""Walks over the edge table: a question's symbols, their uses, and what a change reaches; every walk is bounded in depth and breadth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from app.domain.code import EdgeClass, SymbolKind
from app.domain.query import RetrievalQuery
from app.domain.symbol_id import file_symbol_id
from app.domain.words import folded
from app.retrievers.scope import FIRST_FREE, LIVE, SCOPE, scope_arguments
from app.retrievers.sites import Site
from app.storage.engine import Connection

MOST_TARGETS: Final = 50
MOST_SITES: Final = 2_000

_CENTRALITY: Final = """
    LEFT JOIN centrality z ON z.repository_id = c.repository_id AND z.branch_id = s.branch_id AND z.symbol_id = c.symbol_id
        AND z.from_gen <= s.generation AND z.to_gen > s.generation
"""

# The filters restrict what is shown, not what is followed: LIVE without them.
_LIVE_ANYWHERE: Final = """
    JOIN file f ON f.repository_id = c.repository_id AND f.file_id = c.file_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
"""

_UNFILTERED_SCOPE: Final = """
    WITH scope AS (
        SELECT * FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
    )
"""

BY_NAME: Final = f"""{_UNFILTERED_SCOPE}
    SELECT c.repository_id, c.file_id, c.symbol_id, c.name, c.qualified, c.kind, c.name_line, f.path, COALESCE(z.value, 0) AS centrality
    FROM scope s
    JOIN symbol c ON c.repository_id = s.repository_id AND c.lname = ANY($4::text[])
    {_LIVE_ANYWHERE} {_CENTRALITY}
    ORDER BY centrality DESC, f.path, c.ordinal
    LIMIT 1000
"""

BY_FILE: Final = f"""{_UNFILTERED_SCOPE}
    SELECT c.repository_id, c.file_id, c.symbol_id, c.name, c.qualified, c.kind, c.name_line, f.path, COALESCE(z.value, 0) AS centrality
    FROM scope s
    JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id AND f.from_gen <= s.generation
        AND f.to_gen > s.generation AND (f.path = $4 OR f.path LIKE $5)
    JOIN symbol c ON c.repository_id = s.repository_id AND c.file_id = f.file_id
    {_CENTRALITY}
    ORDER BY f.path, c.ordinal
    LIMIT 1000
"""

MEMBERS: Final = """
    SELECT m.repository_id, m.symbol_id, m.qualified
    FROM unnest($1::int[], $2::int[], $3::text[]) AS w(repository_id, file_id, qualified)
    JOIN symbol m ON m.repository_id = w.repository_id AND m.file_id = w.file_id AND starts_with(m.qualified, w.qualified || '.')
"""

USES: Final = f"""{_UNFILTERED_SCOPE}
    SELECT e.repository_id, e.file_id, e.line, e.kind, e.class AS edge_class, e.source, e.target, c.qualified AS source_name,
           COALESCE(z.value, 0) AS centrality
    FROM unnest($4::int[], $5::bigint[]) AS w(repository_id, symbol_id)
    JOIN scope s ON s.repository_id = w.repository_id
    JOIN edge e ON e.repository_id = w.repository_id AND e.branch_id = s.branch_id AND e.target = w.symbol_id
        AND e.from_gen <= s.generation AND e.to_gen > s.generation
    LEFT JOIN symbol c ON c.repository_id = e.repository_id AND c.symbol_id = e.source AND c.file_id = e.file_id
    LEFT JOIN centrality z ON z.repository_id = e.repository_id AND z.branch_id = s.branch_id AND z.symbol_id = e.source
        AND z.from_gen <= s.generation AND z.to_gen > s.generation
    ORDER BY e.class, centrality DESC, e.file_id, e.line
    LIMIT $6
"""

USED: Final = f"""{_UNFILTERED_SCOPE}
    SELECT c.repository_id, c.file_id, c.name_line AS line, e.kind, e.class AS edge_class, c.qualified AS source_name,
           COALESCE(z.value, 0) AS centrality
    FROM unnest($4::int[], $5::bigint[]) AS w(repository_id, symbol_id)
    JOIN scope s ON s.repository_id = w.repository_id
    JOIN edge e ON e.repository_id = w.repository_id AND e.branch_id = s.branch_id AND e.source = w.symbol_id
        AND e.from_gen <= s.generation AND e.to_gen > s.generation
    JOIN symbol c ON c.repository_id = e.repository_id AND c.symbol_id = e.target
    {_LIVE_ANYWHERE} {_CENTRALITY}
    ORDER BY e.class, centrality DESC, c.file_id, c.name_line
    LIMIT $6
"""

# A reference of this name that no edge explains: it may mean any of the symbols that bear the name.
POSSIBLE: Final = f"""{SCOPE}
    SELECT c.repository_id, c.file_id, c.line, c.kind, c.name, y.qualified AS source_name
    FROM scope s
    JOIN reference c ON c.repository_id = s.repository_id AND c.name = ANY(${FIRST_FREE}::text[])
    {LIVE}
    LEFT JOIN symbol y ON y.repository_id = c.repository_id AND y.file_id = c.file_id AND y.ordinal = c.enclosing
    WHERE NOT EXISTS (
        SELECT 1 FROM edge e
        WHERE e.repository_id = c.repository_id AND e.branch_id = s.branch_id AND e.file_id = c.file_id AND e.reference = c.ordinal
          AND e.from_gen <= s.generation AND e.to_gen > s.generation
    )
    ORDER BY f.path, c.line
    LIMIT {MOST_SITES + 1}
"""


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol that the question is about."""

    repository_id: int
    file_id: int
    symbol_id: int
    name: str
    qualified: str
    kind: SymbolKind
    line: int
    path: str
    centrality: float


@dataclass(frozen=True, slots=True)
class Targets:
    """The symbols that a question's operand or words resolve to, most central first; several candidates stay several.

    ``names`` are the bare names to look for where nothing could be resolved.
    """

    symbols: tuple[Target, ...]
    names: tuple[str, ...]
    modules: tuple[tuple[int, int], ...] = ()

    def first(self, count: int) -> Targets:
        """The most central ones."""
        return Targets(self.symbols[:count], self.names, self.modules)


async def resolve_targets(connection: Connection, query: RetrievalQuery) -> Targets:
    """Resolve the operand, or without one the identifiers and words of the question, to symbols."""
    operands = query.classification.operands
    if operands and _is_path(operands[0]):
        in_file = await _file_targets(connection, query, operands[0])
        if in_file.symbols or in_file.modules:
            return in_file
    names = operands[:1] or tuple(written for written, _ in query.terms.identifiers) or (*query.terms.words, *query.terms.wholes)
    segments = {name: _segments(name) for name in names}
    rows = await connection.fetch(BY_NAME, *scope_arguments(query)[:3], sorted({folded(parts[-1]) for parts in segments.values()}))
    candidates = [_target(row) for row in rows]
    chosen = [target for parts in segments.values() for target in _matching(candidates, parts)]
    symbols = tuple(dict.fromkeys(chosen))[:MOST_TARGETS]
    return Targets(symbols, tuple(sorted({target.name for target in symbols} | {parts[-1] for parts in segments.values()})))


def _is_path(operand: str) -> bool:
    return "/" in operand or operand.rpartition(".")[2] in {"py", "js", "ts", "go", "rs", "c", "h", "rb", "php", "cs", "java", "cpp", "tsx"}


def _segments(name: str) -> list[str]:
    parts = [part for part in name.replace("::", ".").replace("#", ".").replace("->", ".").rstrip("().").split(".") if part]
    return parts or [name]


def _matching(candidates: Sequence[Target], parts: Sequence[str]) -> list[Target]:
    """Candidates of the last segment's name, as written when there are any; of those the ones in the named parent when there are any."""
    named = [target for target in candidates if target.name == parts[-1]] or [
        target for target in candidates if folded(target.name) == folded(parts[-1])
    ]
    if len(parts) > 1:
        return [target for target in named if _within(target, parts[-2])] or named
    return named


def _within(target: Target, parent: str) -> bool:
    file_name = target.path.rpartition("/")[2].partition(".")[0]
    return parent in target.qualified.split(".")[:-1] or parent == file_name


async def _file_targets(connection: Connection, query: RetrievalQuery, path: str) -> Targets:
    escaped = path.strip("/").replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = await connection.fetch(BY_FILE, *scope_arguments(query)[:3], path.strip("/"), f"%/{escaped}")
    targets = tuple(_target(row) for row in rows)
    modules = tuple(dict.fromkeys((target.repository_id, file_symbol_id(target.path)) for target in targets))
    return Targets(targets, (), modules)


def _target(row: asyncpg.Record) -> Target:
    return Target(
        row["repository_id"],
        row["file_id"],
        row["symbol_id"],
        row["name"],
        row["qualified"],
        SymbolKind(row["kind"]),
        row["name_line"],
        row["path"],
        row["centrality"],
    )


async def direct_uses(connection: Connection, query: RetrievalQuery, targets: Targets) -> tuple[list[Site], bool]:
    """The sites of all edges that end at the targets."""
    rows = await _edges(connection, query, USES, [*_keys(targets)])
    return [_site(row, 1) for row in rows[:MOST_SITES]], len(rows) <= MOST_SITES


async def possible_uses(connection: Connection, query: RetrievalQuery, targets: Targets) -> tuple[list[Site], bool]:
    """References of the targets' names that no edge explains."""
    if not targets.names:
        return [], True
    rows = await connection.fetch(POSSIBLE, *scope_arguments(query)[:6], None, None, list(targets.names))
    sites = [
        Site(row["repository_id"], row["file_id"], row["line"], row["kind"], EdgeClass.POSSIBLE, 1, 0.0, row["source_name"])
        for row in rows[:MOST_SITES]
    ]
    return sites, len(rows) <= MOST_SITES


async def dependents(connection: Connection, query: RetrievalQuery, targets: Targets) -> list[Site]:
    """One hop around the targets: what uses them and what they use."""
    keys = _keys(targets)
    uses = await _edges(connection, query, USES, keys)
    used = await _edges(connection, query, USED, keys)
    return [_site(row, 1) for row in [*uses[:MOST_SITES], *used[:MOST_SITES]]]


async def impact(connection: Connection, query: RetrievalQuery, targets: Targets, depth: int) -> tuple[list[Site], bool]:
    """What a change to the targets reaches, breadth first; a type is used through its members too, one step further away."""
    sites: list[Site] = []
    complete = True
    routes: dict[tuple[int, int], tuple[tuple[str, ...], EdgeClass]] = {
        (target.repository_id, target.symbol_id): ((), EdgeClass.EXACT) for target in targets.symbols
    }
    routes.update(dict.fromkeys(targets.modules, ((), EdgeClass.EXACT)))
    frontier = list(routes)
    pending = await _members(connection, targets)
    for distance in range(1, depth + 1):
        rows = await _edges(connection, query, USES, frontier) if frontier else []
        complete = complete and len(rows) <= MOST_SITES
        reached: list[tuple[int, int]] = []
        for row in rows[:MOST_SITES]:
            via, weakest = routes[row["repository_id"], row["target"]]
            edge_class = max(weakest, EdgeClass(row["edge_class"]), key=list(EdgeClass).index)
            sites.append(_site(row, distance, edge_class, via))
            source = (row["repository_id"], row["source"])
            if source not in routes:
                routes[source] = ((*via, row["source_name"] or "(module)"), edge_class)
                reached.append(source)
        for key, name in pending:
            if key not in routes:
                routes[key] = ((name,), EdgeClass.EXACT)
                reached.append(key)
        pending = []
        frontier = reached
        if len(sites) > MOST_SITES:
            return sites[:MOST_SITES], False
    return sites, complete and not frontier


async def _members(connection: Connection, targets: Targets) -> list[tuple[tuple[int, int], str]]:
    types = [target for target in targets.symbols if target.kind.is_type]
    rows = await connection.fetch(
        MEMBERS, [target.repository_id for target in types], [target.file_id for target in types], [target.qualified for target in types]
    )
    return [((row["repository_id"], row["symbol_id"]), row["qualified"]) for row in rows]


def _keys(targets: Targets) -> list[tuple[int, int]]:
    return [*((target.repository_id, target.symbol_id) for target in targets.symbols), *targets.modules]


async def _edges(connection: Connection, query: RetrievalQuery, statement: str, keys: Sequence[tuple[int, int]]) -> list[asyncpg.Record]:
    return await connection.fetch(
        statement, *scope_arguments(query)[:3], [key[0] for key in keys], [key[1] for key in keys], MOST_SITES + 1
    )


def _site(row: asyncpg.Record, distance: int, edge_class: EdgeClass | None = None, via: tuple[str, ...] = ()) -> Site:
    return Site(
        row["repository_id"],
        row["file_id"],
        row["line"],
        row["kind"],
        edge_class or EdgeClass(row["edge_class"]),
        distance,
        row["centrality"],
        row["source_name"],
        via,
    )
