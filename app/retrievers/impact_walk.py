"""What a change to some symbols reaches: over resolved edges for certain, and over names that were not resolved possibly.

A way holds at most one step that is only possible: two guesses in a row say nothing any more. ``exact`` and ``likely`` edges make the lower
bound of the interval, what is reached over ``possible`` ones besides makes the upper bound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import asyncpg

from app.domain.code import EdgeClass, EdgeKind, PathClass, ReferenceKind, SymbolKind
from app.domain.query import Snapshot
from app.domain.symbol_id import file_symbol_id, format_id, parse_id
from app.domain.symbols import Affected, AffectedFile, Hop, Impact, Interval, SymbolDetails
from app.retrievers.blind_spots import blind_spots
from app.retrievers.walk import CONSTRUCTS, CONTAINS, Node, Step, Unresolved, Walk, unresolved_uses, walk
from app.storage.engine import Connection
from app.storage.symbol_rows import SymbolRows, place_of

OVERRIDDEN: Final = "overridden"
"""The relation of a base's method to one that overrides it: a call of the one may run the other."""

MOST_NAMES: Final = 200
"""Names of reached symbols whose unresolved uses are followed."""

MOST_NAMESAKES: Final = 10
"""A name that more definitions bear is not followed from symbols that were only reached: its uses mean some other most of the time."""

NAMES_IN_FILE: Final = 20

MEMBERS: Final = """
    SELECT w.symbol_id AS type_id, m.symbol_id, m.file_id, m.name_line
    FROM unnest($4::bigint[], $5::text[], $6::text[]) AS w(symbol_id, path, qualified)
    JOIN file f ON f.repository_id = $1 AND f.branch_id = $2 AND f.path = w.path AND f.from_gen <= $3 AND f.to_gen > $3
    JOIN symbol m ON m.repository_id = $1 AND m.file_id = f.file_id AND starts_with(m.qualified, w.qualified || '.')
"""

BASES: Final = """
    SELECT e.source, e.target, e.file_id, e.line FROM edge e
    WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.source = ANY($4::bigint[]) AND e.kind = 'overrides'
      AND e.from_gen <= $3 AND e.to_gen > $3
    ORDER BY e.source, e.target LIMIT 1000
"""

NAMES: Final = """
    SELECT c.symbol_id, c.name, c.kind
    FROM symbol c
    JOIN file f ON f.repository_id = $1 AND f.file_id = c.file_id AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    WHERE c.repository_id = $1 AND c.symbol_id = ANY($4::bigint[])
"""

NAMESAKES: Final = """
    SELECT w.name, (
        SELECT count(*) FROM (
            SELECT 1 FROM symbol c WHERE c.repository_id = $1 AND c.lname = lower(w.name) AND c.name = w.name LIMIT $3
        ) counted
    ) AS namesakes
    FROM unnest($2::text[]) AS w(name)
"""

BRIEF: Final = """
    SELECT w.symbol_id, c.qualified, z.value AS centrality
    FROM unnest($4::bigint[], $5::int[]) AS w(symbol_id, file_id)
    LEFT JOIN symbol c ON c.repository_id = $1 AND c.symbol_id = w.symbol_id AND c.file_id = w.file_id
    LEFT JOIN centrality z ON z.repository_id = $1 AND z.branch_id = $2 AND z.symbol_id = w.symbol_id AND z.from_gen <= $3 AND z.to_gen > $3
"""

FILES: Final = """
    SELECT v.file_id, v.path, v.path_class, v.language FROM file_version v WHERE v.repository_id = $1 AND v.file_id = ANY($2::int[])
"""

FILE_IDS: Final = """
    SELECT f.file_id FROM file f
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.path = ANY($4::text[]) AND f.from_gen <= $3 AND f.to_gen > $3
"""

_RELATIONS: Final = {
    ReferenceKind.CALL: EdgeKind.CALLS,
    ReferenceKind.INHERIT: EdgeKind.INHERITS,
    ReferenceKind.DECORATE: EdgeKind.DECORATES,
    ReferenceKind.TYPE: EdgeKind.REFERENCES,
    ReferenceKind.READ: EdgeKind.REFERENCES,
}
_INNER: Final = frozenset({CONTAINS, CONSTRUCTS})
_ORDER: Final = list(EdgeClass)


async def impact(
    connection: Connection, rows: SymbolRows, snapshot: Snapshot, changed: Sequence[SymbolDetails], depth: int, limit: int
) -> Impact:
    """See ports.SymbolGraph."""
    roots = {parse_id(symbol.id): symbol for symbol in changed}
    begin = [Node(identifier) for identifier in roots]
    certain = await walk(connection, snapshot, [*begin, *await _members(connection, snapshot, changed)], depth)
    guesses, all_names = await _guesses(connection, snapshot, roots, certain)
    possible = await walk(connection, snapshot, guesses, depth, known=certain.nodes)
    reached = _Reached([*_affected(certain)], [*_affected(possible)])
    await reached.load(connection, snapshot)
    paths = list({symbol.place.path for symbol in changed if symbol.place is not None})
    file_ids = [row["file_id"] for row in await connection.fetch(FILE_IDS, *place_of(snapshot), paths)]
    cut: set[str] = {*certain.cut, *possible.cut} | (set() if all_names else {"names"})
    shown = [*reached.certain[:limit], *reached.possible[:limit]]
    symbols = await _symbols(connection, rows, snapshot, shown, reached) | roots
    listed = [_entry(node, symbols, reached) for node in shown]
    files, tests = reached.files()
    return Impact(
        certain=tuple(entry for entry in listed if entry.edge_class is not EdgeClass.POSSIBLE),
        possible=tuple(entry for entry in listed if entry.edge_class is EdgeClass.POSSIBLE),
        files=tuple(files[:limit]),
        tests=tuple(tests[:limit]),
        symbol_count=Interval(len(reached.certain), len(reached.certain) + len(reached.possible)),
        file_count=_interval(files),
        test_count=_interval(tests),
        blind_spots=await blind_spots(connection, snapshot, [*roots, *reached.ids()], [*file_ids, *reached.file_ids()], limit),
        truncated=tuple(sorted(cut)),
    )


async def _members(connection: Connection, snapshot: Snapshot, changed: Sequence[SymbolDetails]) -> list[Node]:
    """The members of changed types; a type is used through them too, one step further away."""
    types = {parse_id(s.id): s for s in changed if s.place is not None and s.place.path != s.qualified and SymbolKind(s.kind).is_type}
    if not types:
        return []
    paths = [symbol.place.path for symbol in types.values() if symbol.place is not None]
    rows = await connection.fetch(MEMBERS, *place_of(snapshot), list(types), paths, [symbol.qualified for symbol in types.values()])
    return [_inner(row["symbol_id"], Node(row["type_id"]), CONTAINS, row["file_id"], row["name_line"]) for row in rows]


def _inner(symbol_id: int, used: Node, relation: str, file_id: int, line: int) -> Node:
    step = Step(symbol_id, used, relation, EdgeClass.EXACT, file_id, line)
    return Node(symbol_id, step.distance, step.weakest, step)


async def _guesses(
    connection: Connection, snapshot: Snapshot, roots: Mapping[int, SymbolDetails], certain: Walk
) -> tuple[list[Node], bool]:
    """Where the possible part begins: unresolved uses of the names on the way, and callers of what is overridden there."""
    names, all_names = await _names(connection, snapshot, roots, certain)
    uses, all_uses = await unresolved_uses(connection, snapshot, list(names))
    by_name = [_guess(use, names[use.name]) for use in uses]
    rows = await connection.fetch(BASES, *place_of(snapshot), list(certain.nodes))
    return [*by_name, *(_base(row, certain.nodes[row["source"]]) for row in rows)], all_names and all_uses


def _guess(use: Unresolved, used: Node) -> Node:
    relation = _RELATIONS[ReferenceKind(use.kind)]
    step = Step(use.source, used, relation, EdgeClass.POSSIBLE, use.file_id, use.line)
    return Node(use.source, step.distance, EdgeClass.POSSIBLE, step)


def _base(row: asyncpg.Record, overriding: Node) -> Node:
    step = Step(row["target"], overriding, OVERRIDDEN, EdgeClass.POSSIBLE, row["file_id"], row["line"])
    return Node(row["target"], overriding.distance, EdgeClass.POSSIBLE, step, frozenset({EdgeKind.CALLS.value}))


async def _names(
    connection: Connection, snapshot: Snapshot, roots: Mapping[int, SymbolDetails], certain: Walk
) -> tuple[dict[str, Node], bool]:
    """Name → the nearest symbol that bears it, members of a changed type among them, and whether no name had to be left out.

    A constructor is called by its type's name, which an edge explains or the type's own name finds.
    """
    near = [identifier for identifier in certain.nodes if identifier not in roots]
    rows = await connection.fetch(NAMES, *place_of(snapshot), near[: 2 * MOST_NAMES])
    found: dict[str, int] = {}
    for row in rows:
        if row["kind"] != SymbolKind.CONSTRUCTOR:
            found.setdefault(row["name"], row["symbol_id"])
    reached = dict(list(found.items())[:MOST_NAMES])
    counts = await connection.fetch(NAMESAKES, snapshot.repository_id, list(reached), MOST_NAMESAKES + 1)
    telling = {row["name"] for row in counts if row["namesakes"] <= MOST_NAMESAKES}
    names = {name: certain.nodes[identifier] for name, identifier in reached.items() if name in telling}
    for identifier, symbol in roots.items():
        if symbol.place is not None and symbol.kind != SymbolKind.CONSTRUCTOR and identifier != file_symbol_id(symbol.place.path):
            names[symbol.name] = certain.nodes[identifier]
    return names, len(near) <= 2 * MOST_NAMES and len(telling) == len(found)


def _affected(walked: Walk) -> Iterator[Node]:
    """What was reached, without what belongs to the change itself."""
    return (node for node in walked.nodes.values() if node.step is not None and not _is_inner(node))


def _is_inner(node: Node) -> bool:
    return node.step is not None and node.step.relation in _INNER


class _Reached:
    """The reached symbols, certain and possible, and where they are; in order once they are loaded."""

    def __init__(self, certain: Sequence[Node], possible: Sequence[Node]) -> None:
        self.certain = certain
        self.possible = possible
        self.paths: dict[int, tuple[str, PathClass, str | None]] = {}
        self._brief: dict[int, tuple[str | None, float]] = {}

    async def load(self, connection: Connection, snapshot: Snapshot) -> None:
        """Read paths, names and centralities; nearest first, then the surest, source before tests, the most central."""
        nodes = [*self.certain, *self.possible]
        file_ids = {_step(node).file_id for node in nodes}
        file_ids |= {used.step.file_id for node in nodes if (used := _step(node).used).step is not None}
        rows = await connection.fetch(FILES, snapshot.repository_id, list(file_ids))
        self.paths = {row["file_id"]: (row["path"], PathClass(row["path_class"]), row["language"]) for row in rows}
        brief = await connection.fetch(
            BRIEF, *place_of(snapshot), [node.symbol_id for node in nodes], [_step(node).file_id for node in nodes]
        )
        self._brief = {row["symbol_id"]: (row["qualified"], row["centrality"] or 0.0) for row in brief}
        self.certain = sorted(self.certain, key=self._order)
        self.possible = sorted(self.possible, key=self._order)

    def ids(self) -> list[int]:
        return [node.symbol_id for node in (*self.certain, *self.possible)]

    def file_ids(self) -> list[int]:
        return list({_step(node).file_id for node in (*self.certain, *self.possible)})

    def _order(self, node: Node) -> tuple[object, ...]:
        path, path_class, _ = self.paths[_step(node).file_id]
        centrality = self._brief[node.symbol_id][1]
        return (
            node.distance,
            _ORDER.index(node.edge_class),
            path_class is not PathClass.SOURCE,
            -centrality,
            path,
            _step(node).line,
            node.symbol_id,
        )

    def files(self) -> tuple[list[AffectedFile], list[AffectedFile]]:
        """The files of what was reached that are no tests, and those that are, each in the order of their nearest symbol."""
        by_file: dict[int, list[Node]] = {}
        for node in (*self.certain, *self.possible):
            by_file.setdefault(_step(node).file_id, []).append(node)
        files = [self._file(file_id, nodes) for file_id, nodes in by_file.items()]
        tests = [file for file in files if file.path_class is PathClass.TEST]
        return [file for file in files if file.path_class is not PathClass.TEST], tests

    def _file(self, file_id: int, nodes: Sequence[Node]) -> AffectedFile:
        path, path_class, language = self.paths[file_id]
        names = (self._brief[node.symbol_id][0] for node in nodes)
        named = tuple(name for name in names if name is not None)[:NAMES_IN_FILE]
        return AffectedFile(path, path_class, language, nodes[0].distance, nodes[0].edge_class, named, len(nodes))


def _step(node: Node) -> Step:
    assert node.step is not None
    return node.step


def _interval(files: Sequence[AffectedFile]) -> Interval:
    return Interval(sum(file.edge_class is not EdgeClass.POSSIBLE for file in files), len(files))


async def _symbols(
    connection: Connection, rows: SymbolRows, snapshot: Snapshot, nodes: Sequence[Node], reached: _Reached
) -> dict[int, SymbolDetails]:
    """Details of the symbols that are shown and of those on the way to them."""
    wanted: Collection[int] = {step.source for node in nodes for step in node.way()}
    paths = {reached.paths[step.file_id][0] for node in nodes for step in node.way()}
    return await rows.describe(connection, snapshot, wanted, paths)


def _entry(node: Node, symbols: Mapping[int, SymbolDetails], reached: _Reached) -> Affected:
    hops = tuple(
        Hop(symbols[step.source], reached.paths[step.file_id][0], step.line, step.relation, step.edge_class) for step in node.way()
    )
    *_, last = node.way()
    return Affected(symbols[node.symbol_id], node.distance, node.edge_class, format_id(last.used.symbol_id), hops)
