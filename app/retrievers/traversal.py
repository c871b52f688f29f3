"""Answers a search from the edge table: the symbols that a question names, their uses, and what a change to them reaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import asyncpg

from app.domain.code import EdgeClass, SymbolKind
from app.domain.query import RetrievalQuery, Snapshot
from app.retrievers.scope import FILE_FILTERS, FIRST_FREE, SCOPE, file_arguments, scope_arguments
from app.retrievers.sites import Site
from app.retrievers.targets import CENTRALITY, LIVE_ANYWHERE, UNFILTERED_SCOPE, Targets
from app.retrievers.walk import CONTAINS, Node, Step, walk
from app.storage.engine import Connection
from app.storage.symbol_rows import place_of

MOST_SITES: Final = 2_000

_CLASSES: Final = list(EdgeClass)

MEMBERS: Final = """
    SELECT m.repository_id, m.symbol_id, m.name_line, w.position
    FROM unnest($1::int[], $2::int[], $3::text[]) WITH ORDINALITY AS w(repository_id, file_id, qualified, position)
    JOIN symbol m ON m.repository_id = w.repository_id AND m.file_id = w.file_id AND starts_with(m.qualified, w.qualified || '.')
"""

USED: Final = f"""{UNFILTERED_SCOPE}
    SELECT c.repository_id, c.file_id, c.name_line AS line, e.kind, e.class AS edge_class, e.target, c.qualified AS source_name,
           COALESCE(z.value, 0) AS centrality
    FROM unnest($4::int[], $5::bigint[]) AS w(repository_id, symbol_id)
    JOIN scope s ON s.repository_id = w.repository_id
    JOIN edge e ON e.repository_id = w.repository_id AND e.branch_id = s.branch_id AND e.source = w.symbol_id
        AND e.from_gen <= s.generation AND e.to_gen > s.generation
    JOIN symbol c ON c.repository_id = e.repository_id AND c.symbol_id = e.target
    {LIVE_ANYWHERE} {CENTRALITY}
    ORDER BY e.class, centrality DESC, c.file_id, c.name_line
    LIMIT $6
"""

SOURCES: Final = """
    SELECT w.symbol_id, c.qualified, COALESCE(z.value, 0) AS centrality
    FROM unnest($4::bigint[], $5::int[]) AS w(symbol_id, file_id)
    LEFT JOIN symbol c ON c.repository_id = $1 AND c.symbol_id = w.symbol_id AND c.file_id = w.file_id
    LEFT JOIN centrality z ON z.repository_id = $1 AND z.branch_id = $2 AND z.symbol_id = w.symbol_id AND z.from_gen <= $3 AND z.to_gen > $3
"""

# A reference of this name that no edge explains: it may mean any of the symbols that bear the name, unless a function binds it (an
# empty receiver). OFFSET 0 and LIMIT are fences: each reference is looked up by key, whatever a plan made once expects of the names.
POSSIBLE: Final = f"""{SCOPE}, unexplained AS MATERIALIZED (
        SELECT s.branch_id, s.generation, c.*
        FROM scope s
        CROSS JOIN LATERAL (
            SELECT n.repository_id, n.file_id, n.line, n.kind, n.name, n.enclosing, n.ordinal FROM reference n
            WHERE n.repository_id = s.repository_id AND n.name = ANY(${FIRST_FREE}::text[]) AND n.receiver IS DISTINCT FROM '' OFFSET 0
        ) c
        LEFT JOIN LATERAL (
            SELECT true AS explained FROM edge e
            WHERE e.repository_id = c.repository_id AND e.branch_id = s.branch_id AND e.file_id = c.file_id AND e.reference = c.ordinal
              AND e.from_gen <= s.generation AND e.to_gen > s.generation
            LIMIT 1
        ) x ON true
        WHERE x.explained IS NULL
    )
    SELECT c.repository_id, c.file_id, c.line, c.kind, c.name, y.qualified AS source_name
    FROM unexplained c
    CROSS JOIN LATERAL (
        SELECT f.path FROM file f
        WHERE f.repository_id = c.repository_id AND f.file_id = c.file_id AND f.branch_id = c.branch_id
          AND f.from_gen <= c.generation AND f.to_gen > c.generation
          {FILE_FILTERS}
        OFFSET 0
    ) f
    LEFT JOIN LATERAL (
        SELECT o.qualified FROM symbol o
        WHERE o.repository_id = c.repository_id AND o.file_id = c.file_id AND o.ordinal = c.enclosing OFFSET 0
    ) y ON true
    ORDER BY f.path, c.line
    LIMIT {MOST_SITES + 1}
"""


async def direct_uses(
    connection: Connection, query: RetrievalQuery, targets: Targets, relations: frozenset[str] | None = None
) -> tuple[list[Site], bool]:
    """The sites of all edges that end at the targets, or of those of some relations."""
    sites: list[Site] = []
    complete = True
    for snapshot, begin in _beginnings(query, targets):
        walked = await walk(connection, snapshot, [replace(node, relations=relations) for node in begin], depth=1)
        steps = walked.steps if relations is None else [step for step in walked.steps if step.relation in relations]
        sites += await _sites(connection, snapshot, steps)
        complete = complete and "breadth" not in walked.cut
    return sites[:MOST_SITES], complete and len(sites) <= MOST_SITES


async def possible_uses(connection: Connection, query: RetrievalQuery, targets: Targets) -> tuple[list[Site], bool]:
    """References of the targets' names that no edge explains."""
    if not targets.names:
        return [], True
    rows = await connection.fetch(POSSIBLE, *file_arguments(query), list(targets.names))
    sites = [
        Site(row["repository_id"], row["file_id"], row["line"], row["kind"], EdgeClass.POSSIBLE, 1, 0.0, row["source_name"])
        for row in rows[:MOST_SITES]
    ]
    return sites, len(rows) <= MOST_SITES


async def dependents(connection: Connection, query: RetrievalQuery, targets: Targets) -> list[Site]:
    """One hop around the targets: what uses them and what they use."""
    uses, _ = await direct_uses(connection, query, targets)
    keys = [*((target.repository_id, target.symbol_id) for target in targets.symbols), *targets.modules]
    used = await connection.fetch(USED, *scope_arguments(query)[:3], [key[0] for key in keys], [key[1] for key in keys], MOST_SITES)
    return [*uses, *(_used_site(row) for row in used)]


async def uses_of(
    connection: Connection, query: RetrievalQuery, targets: Targets, relations: frozenset[str] | None
) -> tuple[list[Site], bool]:
    """What the targets and their members use, where it is defined, each once; of some relations alone, if there are any such."""
    members = await _members(connection, targets)
    inside = {(target.repository_id, target.symbol_id) for target in targets.symbols} | set(targets.modules)
    inside |= {(repository_id, node.symbol_id) for repository_id, nodes in members.items() for node in nodes}
    keys = sorted(inside)
    rows = await connection.fetch(USED, *scope_arguments(query)[:3], [key[0] for key in keys], [key[1] for key in keys], MOST_SITES)
    used = [row for row in rows if (row["repository_id"], row["target"]) not in inside] or rows  # recursion is better than nothing
    of_kind = [row for row in used if relations is None or row["kind"] in relations]
    return list(dict.fromkeys(_used_site(row) for row in of_kind or used)), len(rows) < MOST_SITES


async def impact(connection: Connection, query: RetrievalQuery, targets: Targets, depth: int) -> tuple[list[Site], bool]:
    """What a change to the targets reaches, breadth first; a type is used through its members too, one step further away."""
    sites: list[Site] = []
    complete = True
    members = await _members(connection, targets)
    for snapshot, begin in _beginnings(query, targets):
        walked = await walk(connection, snapshot, [*begin, *members.get(snapshot.repository_id, ())], depth)
        sites += await _sites(connection, snapshot, walked.steps)
        complete = complete and not walked.cut
    return sites[:MOST_SITES], complete and len(sites) <= MOST_SITES


def _beginnings(query: RetrievalQuery, targets: Targets) -> Iterator[tuple[Snapshot, list[Node]]]:
    """Each snapshot that holds targets, with them."""
    keys = [*((target.repository_id, target.symbol_id, target.kind) for target in targets.symbols)]
    keys += [(repository_id, symbol_id, SymbolKind.MODULE) for repository_id, symbol_id in targets.modules]
    for snapshot in query.scope.snapshots:
        begin = [Node(symbol_id, kind=kind) for repository_id, symbol_id, kind in keys if repository_id == snapshot.repository_id]
        if begin:
            yield snapshot, begin


async def _members(connection: Connection, targets: Targets) -> Mapping[int, Sequence[Node]]:
    """The members of the types among the targets, by repository, each with the step from its type."""
    types = [target for target in targets.symbols if target.kind.is_type]
    rows = await connection.fetch(
        MEMBERS, [target.repository_id for target in types], [target.file_id for target in types], [target.qualified for target in types]
    )
    found: dict[int, list[Node]] = defaultdict(list)
    for row in rows:
        target = types[row["position"] - 1]
        step = Step(row["symbol_id"], Node(target.symbol_id), CONTAINS, EdgeClass.EXACT, target.file_id, row["name_line"])
        found[row["repository_id"]].append(Node(row["symbol_id"], step.distance, step.weakest, step))
    return found


async def _sites(connection: Connection, snapshot: Snapshot, steps: Sequence[Step]) -> list[Site]:
    """The steps as sites: nearest first, then the surest, then the most central."""
    ends = {step.source: step.file_id for step in steps}
    ends |= {inner.source: inner.file_id for step in steps for inner in step.used.way()}
    rows = await connection.fetch(SOURCES, *place_of(snapshot), list(ends), list(ends.values())) if ends else []
    known = {row["symbol_id"]: (row["qualified"], row["centrality"]) for row in rows}
    sites = [_site(snapshot, step, known) for step in steps]
    return sorted(sites, key=lambda site: (site.distance, _CLASSES.index(site.edge_class), -site.centrality, site.file_id, site.line))


def _site(snapshot: Snapshot, step: Step, known: Mapping[int, tuple[str | None, float]]) -> Site:
    name, centrality = known[step.source]
    way = (known[inner.source][0] or "(module)" for inner in step.used.way())
    return Site(
        snapshot.repository_id,
        step.file_id,
        step.line,
        step.relation,
        step.weakest,
        step.distance,
        centrality,
        name,
        tuple(reversed([*way])),
    )


def _used_site(row: asyncpg.Record) -> Site:
    return Site(
        row["repository_id"],
        row["file_id"],
        row["line"],
        row["kind"],
        EdgeClass(row["edge_class"]),
        1,
        row["centrality"],
        row["source_name"],
    )
