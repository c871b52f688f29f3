"""Comparing in memory finds what the database finds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.bootstrap import backend, compose
from app.config import Settings
from app.domain.query import Modality, SearchRequest
from app.domain.ranking import SearchAnswer
from app.indexing.parse import ParsePool
from tests.integration.conftest import SHOP, Bench, write_tree

pytestmark = pytest.mark.anyio

QUESTIONS = ("how is tax added to the total of a cart", "monthly report of sales", "render the items", "checkout error when empty")


@pytest.fixture
async def meaning(database_url: str, parse_pool: ParsePool, anyio_backend: str) -> AsyncIterator[Bench]:
    async with backend(Settings(database_url=database_url, embedder="static")) as opened:
        yield Bench(opened, compose(opened), parse_pool)


def _found(answer: SearchAnswer) -> list[tuple[str, int, float]]:
    return [(result.path, result.start_line, round(result.score, 5)) for result in answer.results]


async def test_meaning_is_the_same_in_memory_and_in_the_database(meaning: Bench, tmp_path: Path) -> None:
    others = {f"lib/m{number}.py": f"def helper_{number}(report):\n    return report.total + {number}\n" for number in range(30)}
    await meaning.index(write_tree(tmp_path / "a", SHOP | others))
    opened = meaning.backend
    embedding = opened.settings.embedding.model_copy(update={"memory_chunks": 0})
    without = compose(replace(opened, settings=opened.settings.model_copy(update={"embedding": embedding})))
    for question in QUESTIONS:
        request = SearchRequest(question, modalities=(Modality.SEMANTIC,), limit=30)
        assert _found(await meaning.service.search.search(request)) == _found(await without.search.search(request)), question


async def test_an_edit_is_seen_at_once(meaning: Bench, tmp_path: Path) -> None:
    await meaning.index(write_tree(tmp_path / "a", SHOP))
    for question in ("zebra crossing", "tax on top of an amount"):
        await meaning.search(question)
    await meaning.index(write_tree(tmp_path / "a", {"shop/zebra.py": "def zebra_crossing():\n    '''A zebra crossing.'''\n"}))
    assert (await meaning.search("zebra crossing")).results[0].path == "shop/zebra.py"
    (tmp_path / "a" / "shop" / "zebra.py").unlink()
    await meaning.index(tmp_path / "a")
    assert all(result.path != "shop/zebra.py" for result in (await meaning.search("zebra crossing")).results)
