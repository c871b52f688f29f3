"""The bounded walk against the arrows: from symbols to what uses them, one level of the edge table at a time.

Every level is one statement that reads at most ``MOST_STEPS`` edges, and a symbol is entered once, so that cycles and recursion end and a
hub costs no more than its bound. What was cut is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import asyncpg

from app.domain.code import EdgeClass, SymbolKind
from app.domain.query import Snapshot
from app.domain.symbol_id import file_symbol_id
from app.storage.engine import Connection
from app.storage.symbol_rows import place_of

MOST_STEPS: Final = 2_000
"""Edges that one level reads at most."""

MOST_NODES: Final = 3_000
"""Symbols that a walk enters at most."""

MOST_NAMED: Final = 20_000
"""References of a name that are looked at in search of unresolved ones."""

CONSTRUCTS: Final = "constructs"
"""The relation of a class to its constructor: whoever instantiates the one runs the other."""

CONTAINS: Final = "contains"
"""The relation of a member to its type: a change to the type is a change to its members."""

_CLASSES: Final = {edge_class.value: edge_class for edge_class in EdgeClass}  # looked up by the thousand
_ORDER: Final = {EdgeClass.EXACT: 0, EdgeClass.LIKELY: 1, EdgeClass.POSSIBLE: 2}

USERS: Final = """
    SELECT e.source, e.target, e.kind, e.class AS edge_class, e.file_id, e.line
    FROM edge e
    WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.target = ANY($4::bigint[]) AND e.from_gen <= $3 AND e.to_gen > $3
      AND ($6::text[] IS NULL OR e.kind = ANY($6))
    ORDER BY e.class, e.file_id, e.line
    LIMIT $5
"""

# A symbol id is the same in every version of its file: the live one decides.
CONSTRUCTED: Final = f"""
    SELECT o.symbol_id AS source, c.symbol_id AS target, c.file_id, c.name_line AS line
    FROM symbol c
    JOIN file f ON f.repository_id = $1 AND f.file_id = c.file_id AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    JOIN symbol o ON o.repository_id = $1 AND o.file_id = c.file_id AND o.ordinal = c.container
    WHERE c.repository_id = $1 AND c.symbol_id = ANY($4::bigint[]) AND c.kind = '{SymbolKind.CONSTRUCTOR}'
"""

# A reference of this name that no edge explains: it may mean any of the symbols that bear the name, unless a function binds it (an empty
# receiver). OFFSET 0 and LIMIT are fences: each reference is looked up by key, however few of them the planner expects.
UNRESOLVED: Final = f"""
    WITH named AS MATERIALIZED (
        SELECT c.file_id, c.line, c.kind, c.name, c.enclosing, c.ordinal FROM reference c
        WHERE c.repository_id = $1 AND c.name = ANY($4::text[]) AND c.receiver IS DISTINCT FROM '' LIMIT {MOST_NAMED + 1}
    ), unexplained AS MATERIALIZED (
        SELECT c.*
        FROM named c
        LEFT JOIN LATERAL (
            SELECT true AS explained FROM edge e
            WHERE e.repository_id = $1 AND e.branch_id = $2 AND e.file_id = c.file_id AND e.reference = c.ordinal
              AND e.from_gen <= $3 AND e.to_gen > $3
            LIMIT 1
        ) x ON true
        WHERE x.explained IS NULL
    )
    SELECT n.looked_at, u.*
    FROM (SELECT count(*) AS looked_at FROM named) n
    LEFT JOIN (
        SELECT c.file_id, c.line, c.kind, c.name, f.path, y.symbol_id
        FROM unexplained c
        CROSS JOIN LATERAL (
            SELECT path FROM file
            WHERE repository_id = $1 AND file_id = c.file_id AND branch_id = $2 AND from_gen <= $3 AND to_gen > $3 OFFSET 0
        ) f
        LEFT JOIN LATERAL (
            SELECT symbol_id FROM symbol WHERE repository_id = $1 AND file_id = c.file_id AND ordinal = c.enclosing OFFSET 0
        ) y ON true
        ORDER BY f.path, c.line
        LIMIT $5
    ) u ON true
    ORDER BY u.path, u.line
"""

Cut = Literal["depth", "breadth"]


class Step(NamedTuple):
    """One edge that was followed, from the symbol ``used`` to the ``source`` that uses it."""

    source: int
    used: Node
    relation: str
    edge_class: EdgeClass
    file_id: int
    line: int

    @property
    def distance(self) -> int:
        return self.used.distance + 1

    @property
    def weakest(self) -> EdgeClass:
        """The class of the least sure edge on the whole way."""
        return weaker(self.used.edge_class, self.edge_class)


@dataclass(frozen=True, slots=True)
class Node:
    """A symbol where a walk begins or that it entered, with the step that led there; None where it begins.

    ``relations``: where set, only these edges lead on from it. ``kind``: where it is known.
    """

    symbol_id: int
    distance: int = 0
    edge_class: EdgeClass = EdgeClass.EXACT
    step: Step | None = None
    relations: frozenset[str] | None = None
    kind: SymbolKind | None = None

    def way(self) -> Iterator[Step]:
        """The steps from here back to where the walk began."""
        node = self
        while node.step is not None:
            yield node.step
            node = node.step.used


@dataclass(frozen=True, slots=True)
class Walk:
    """``nodes`` in the order in which they were entered, those where the walk began among them; ``steps`` are all edges met."""

    nodes: Mapping[int, Node]
    steps: Sequence[Step]
    cut: frozenset[Cut]


def weaker(first: EdgeClass, second: EdgeClass) -> EdgeClass:
    """The less sure of two classes."""
    return second if _ORDER[second] > _ORDER[first] else first


async def walk(connection: Connection, snapshot: Snapshot, begin: Iterable[Node], depth: int, known: Collection[int] = frozenset()) -> Walk:
    """What uses the beginnings, breadth first, up to ``depth`` edges away from distance 0.

    A beginning with a distance joins the walk at its level. Symbols in ``known`` are not entered.
    """
    waiting: dict[int, list[Node]] = {}
    for node in begin:
        waiting.setdefault(node.distance, []).append(node)
    nodes: dict[int, Node] = {}
    steps: list[Step] = []
    cut: set[Cut] = set()
    frontier: list[Node] = []
    for distance in range(depth):
        frontier += _enter(nodes, waiting.pop(distance, ()), known)
        frontier += await _constructed(connection, snapshot, frontier, nodes)
        if not frontier and not waiting:
            break
        rows = await _users(connection, snapshot, frontier)
        if len(rows) > MOST_STEPS:
            cut.add("breadth")
        level = _steps(rows[:MOST_STEPS], frontier)
        steps += level
        frontier = _reach(nodes, level, known)
        if len(nodes) > MOST_NODES:
            return Walk(nodes, steps, frozenset(cut | {"breadth"}))
    last = _enter(nodes, (node for node in waiting.pop(depth, ())), known)
    if frontier or waiting or last:
        cut.add("depth")
    return Walk(nodes, steps, frozenset(cut))


def _enter(nodes: dict[int, Node], candidates: Iterable[Node], known: Collection[int]) -> list[Node]:
    """Those that were not entered before; a node with restricted relations leaves its symbol open for a whole one."""
    entered = []
    for node in candidates:
        if node.symbol_id not in nodes and node.symbol_id not in known:
            if node.relations is None:
                nodes[node.symbol_id] = node
            entered.append(node)
    return entered


def _reach(nodes: dict[int, Node], level: Sequence[Step], known: Collection[int]) -> list[Node]:
    """The symbols that these steps are the first to reach."""
    reached = []
    for step in level:
        if step.source not in nodes and step.source not in known:
            node = nodes[step.source] = Node(step.source, step.distance, step.weakest, step)
            reached.append(node)
    return reached


async def _constructed(connection: Connection, snapshot: Snapshot, frontier: Sequence[Node], nodes: Mapping[int, Node]) -> list[Node]:
    """The classes whose constructors were reached: only who instantiates them is reached through them."""
    whole = (node for node in frontier if node.relations is None)
    reached = {node.symbol_id: node for node in whole if node.kind in (None, SymbolKind.CONSTRUCTOR)}
    rows = await connection.fetch(CONSTRUCTED, *place_of(snapshot), list(reached)) if reached else []
    found = []
    for row in rows:
        used = reached[row["target"]]
        if row["source"] not in nodes:
            step = Step(row["source"], used, CONSTRUCTS, EdgeClass.EXACT, row["file_id"], row["line"])
            found.append(Node(row["source"], used.distance, used.edge_class, step, frozenset({"instantiates"})))
    return found


async def _users(connection: Connection, snapshot: Snapshot, frontier: Sequence[Node]) -> list[asyncpg.Record]:
    targets = list({node.symbol_id for node in frontier})
    leading = (
        None if any(node.relations is None for node in frontier) else sorted({kind for node in frontier for kind in node.relations or ()})
    )
    return await connection.fetch(USERS, *place_of(snapshot), targets, MOST_STEPS + 1, leading) if targets else []


def _steps(rows: Sequence[asyncpg.Record], frontier: Sequence[Node]) -> list[Step]:
    used_by_id = {node.symbol_id: node for node in sorted(frontier, key=lambda node: node.relations is None)}
    steps = []
    for row in rows:
        used = used_by_id[row["target"]]
        if used.relations is None or row["kind"] in used.relations:
            steps.append(Step(row["source"], used, row["kind"], _CLASSES[row["edge_class"]], row["file_id"], row["line"]))
    return steps


class Unresolved(NamedTuple):
    """A use by name alone; ``source`` is the symbol around it, or the file's module node."""

    source: int
    name: str
    kind: str
    file_id: int
    line: int
    path: str


async def unresolved_uses(
    connection: Connection, snapshot: Snapshot, names: Sequence[str], most: int = MOST_STEPS
) -> tuple[list[Unresolved], bool]:
    """References of these names that no edge explains, in the order of their paths, and whether these are all."""
    rows = await connection.fetch(UNRESOLVED, *place_of(snapshot), list(names), most + 1) if names else []
    found = [_unresolved(row) for row in rows[:most] if row["file_id"] is not None]
    return found, len(rows) <= most and (not rows or rows[0]["looked_at"] <= MOST_NAMED)


def _unresolved(row: asyncpg.Record) -> Unresolved:
    source = row["symbol_id"] if row["symbol_id"] is not None else file_symbol_id(row["path"])
    return Unresolved(source, row["name"], row["kind"], row["file_id"], row["line"], row["path"])
