"""Random and mutated queries are answered or refused, never failed; ``python -m benchmarks.fuzz`` asks many more."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fuzz import fuzz, queries
from tests.integration.conftest import Bench

pytestmark = pytest.mark.anyio


async def test_no_query_makes_the_service_fail(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    outcome = await fuzz(bench.service, count=300, seed=11, deadline_ms=10_000)
    assert outcome.failures == []
    assert sum(outcome.statuses.values()) == 300
    assert set(outcome.statuses) <= {200, 404, 422}
    assert outcome.statuses[200] > 200


def test_the_queries_are_the_same_every_time() -> None:
    first, second = queries(3), queries(3)
    assert [next(first) for _ in range(50)] == [next(second) for _ in range(50)]
