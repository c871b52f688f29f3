"""The bounded walk beside a plain breadth-first search, on graphs drawn by chance."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import networkx as nx
import pytest

from app.domain.code import EdgeClass
from app.domain.query import Snapshot
from app.retrievers import walk as module
from app.retrievers.walk import Node, walk
from app.storage.engine import Connection
from tests.integration.conftest import Bench

pytestmark = pytest.mark.anyio

INSERT = """
    INSERT INTO edge (repository_id, branch_id, source, target, kind, class, file_id, reference, line, from_gen, to_gen)
    SELECT 1, 1, s, t, 'calls', c, 1, line, line, f, g
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::int[], $5::int[]) WITH ORDINALITY AS e(s, t, c, f, g, line)
"""
FOREVER = 2_147_483_647
ORDER = list(EdgeClass)


def snapshot(generation: int = 1) -> Snapshot:
    return Snapshot(1, "r", 1, generation, "x", datetime(2025, 1, 1, tzinfo=UTC), False, 0, 0, 0, 0, {})


async def insert(connection: Connection, edges: list[tuple[int, int, EdgeClass]], first: int = 1, end: int = FOREVER) -> None:
    columns = [[edge[column] for edge in edges] for column in range(3)]
    await connection.execute(INSERT, *columns, [first] * len(edges), [end] * len(edges))


async def test_distances_are_those_of_the_shortest_ways(bench: Bench) -> None:
    dice = random.Random(11)
    async with bench.backend.connect() as connection:
        for _ in range(25):
            await connection.execute("TRUNCATE edge")
            nodes = range(1, dice.randint(2, 14))
            count = dice.randint(1, 40)
            edges = [(dice.choice(nodes), dice.choice(nodes), dice.choice(ORDER[:2])) for _ in range(count)]
            await insert(connection, edges)
            begin, depth = dice.choice(nodes), dice.randint(1, 6)
            found = await walk(connection, snapshot(), [Node(begin)], depth)
            graph: nx.DiGraph[int] = nx.DiGraph()
            graph.add_nodes_from(nodes)
            graph.add_edges_from((target, source) for source, target, _ in edges)
            expected = nx.single_source_shortest_path_length(graph, begin, cutoff=depth)
            assert {identifier: node.distance for identifier, node in found.nodes.items()} == expected
            for node in found.nodes.values():
                way = list(node.way())
                assert len(way) == node.distance
                assert all((step.source, step.used.symbol_id, step.edge_class) in edges for step in way)
                assert [step.used.symbol_id for step in way[:-1]] == [step.source for step in way[1:]]
                assert node.edge_class is max((step.edge_class for step in way), key=ORDER.index, default=EdgeClass.EXACT)
            deeper = nx.single_source_shortest_path_length(graph, begin)
            assert "breadth" not in found.cut
            assert ("depth" in found.cut) or len(deeper) == len(expected)


async def test_only_the_edges_of_the_generation_are_followed(bench: Bench) -> None:
    async with bench.backend.connect() as connection:
        await insert(connection, [(2, 1, EdgeClass.EXACT)], first=1, end=3)
        await insert(connection, [(3, 1, EdgeClass.EXACT)], first=3)
        for generation, users in ((1, {1, 2}), (2, {1, 2}), (3, {1, 3})):
            assert set((await walk(connection, snapshot(generation), [Node(1)], 3)).nodes) == users


async def test_a_late_beginning_and_a_known_symbol(bench: Bench) -> None:
    async with bench.backend.connect() as connection:
        await insert(connection, [(2, 1, EdgeClass.EXACT), (3, 2, EdgeClass.EXACT), (11, 10, EdgeClass.EXACT), (12, 11, EdgeClass.EXACT)])
        found = await walk(connection, snapshot(), [Node(1), Node(10, distance=2)], 3)
        assert {identifier: node.distance for identifier, node in found.nodes.items()} == {1: 0, 2: 1, 10: 2, 3: 2, 11: 3}
        assert found.cut == {"depth"}
        around = await walk(connection, snapshot(), [Node(1)], 3, known={2})
        assert set(around.nodes) == {1}


async def test_bounds_are_kept_and_told(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STEPS", 10)
    monkeypatch.setattr(module, "MOST_NODES", 25)
    async with bench.backend.connect() as connection:
        await insert(connection, [(100 + i, 1, EdgeClass.EXACT if i % 2 else EdgeClass.LIKELY) for i in range(30)])
        hub = await walk(connection, snapshot(), [Node(1)], 1)
        assert len(hub.steps) == 10
        assert hub.cut == {"breadth", "depth"}
        assert {step.edge_class for step in hub.steps} == {EdgeClass.EXACT}, "the surest are kept"
        await insert(connection, [(1_000 + i, 100 + i % 30, EdgeClass.EXACT) for i in range(300)])
        wide = await walk(connection, snapshot(), [Node(1)], 5)
        assert len(wide.nodes) <= 25 + 10
        assert "breadth" in wide.cut
