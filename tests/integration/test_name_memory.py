"""Names and postings give the same answers from memory as from the database, for the generation that was asked for."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.bootstrap import Service, compose
from app.domain.query import SearchRequest
from app.domain.ranking import Candidate
from app.observability import metrics
from app.storage import generation_memory
from tests.integration.conftest import SHOP, Bench, write_tree

pytestmark = pytest.mark.anyio

OTHER = {
    "lib/cart_total.py": "class CartTotal:\n    def add(self, tax): pass\n\n    def add_tax(self): pass\n\nclass _carttotal: pass\n",
    "lib/nothing.py": "",
    "lib/Add.ts": "export interface AddTax { total(): number }\nexport const addTax = 1\nexport function add_tax() {}\n",
    "lib/overloads.py": "def add_tax(): pass\n\ndef add_tax(a): pass\n\nif True:\n    def add_tax(b): pass\n",
}
QUESTIONS = (
    "how is tax added to the total of a cart",
    "where is add_tax defined",
    "where is Cart.total defined",
    "addtax",
    "CartTotal",
    "what does nothing do",
    "how do repositories configure things",
    "grænseværdi 购物车",
    "totl",
)


def _reads(kind: str, source: str) -> float:
    line = rf'^fourfold_ranking_reads_total\{{kind="{kind}",source="{source}"\}} (\S+)$'
    found = re.search(line, metrics.render()[0].decode(), re.MULTILINE)
    return float(found[1]) if found else 0.0


async def _ranked(service: Service, question: str, repositories: Sequence[str]) -> list[Candidate]:
    found = await service.search.rank(SearchRequest(question, tuple(repositories)))
    return [candidate._replace(chunks=tuple(candidate.chunks)) for candidate in found.found.candidates]


async def _asked(service: Service, *repositories: str) -> list[list[Candidate]]:
    return [await _ranked(service, question, repositories) for question in QUESTIONS]


async def _by_database(bench: Bench, monkeypatch: pytest.MonkeyPatch, *repositories: str) -> list[list[Candidate]]:
    with monkeypatch.context() as changed:
        changed.setattr(generation_memory, "MOST_CHUNKS", 0)
        before = _reads("names", "memory"), _reads("postings", "memory")
        found = await _asked(compose(bench.backend), *repositories)
        assert (_reads("names", "memory"), _reads("postings", "memory")) == before
        return found


async def _by_memory(service: Service, *repositories: str) -> list[list[Candidate]]:
    for _ in range(2_000):
        before = _reads("names", "memory"), _reads("postings", "memory")
        await _ranked(service, QUESTIONS[0], repositories)
        if _reads("names", "memory") > before[0] and _reads("postings", "memory") > before[1]:
            break
        await asyncio.sleep(0.01)
    before = _reads("names", "database"), _reads("postings", "database")
    found = await _asked(service, *repositories)
    assert (_reads("names", "database"), _reads("postings", "database")) == before
    return found


async def test_memory_finds_what_the_database_finds(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.index(write_tree(tmp_path / "shop", SHOP))
    await bench.index(write_tree(tmp_path / "other", OTHER), "other")
    for repositories in (("shop",), ("other",), ("shop", "other")):
        read = await _by_database(bench, monkeypatch, *repositories)
        assert sum(map(bool, read)) > 5
        assert await _by_memory(compose(bench.backend), *repositories) == read


async def test_each_generation_has_its_own(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = write_tree(tmp_path / "shop", SHOP)
    await bench.index(tree)
    service = compose(bench.backend)
    first = await _by_memory(service, "shop")
    assert first == await _by_database(bench, monkeypatch, "shop")
    write_tree(tree, OTHER | {"shop/money.py": "def add_tax(amount):\n    return amount\n"})
    (tree / "shop/report.py").unlink()
    await bench.index(tree)
    second = await _by_memory(service, "shop")
    assert second != first
    assert second == await _by_database(bench, monkeypatch, "shop")


async def test_a_repository_without_definitions_is_remembered_too(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.index(write_tree(tmp_path / "texts", {"tax.txt": "how is tax added to the total\n"}), "texts")
    found = await _by_memory(compose(bench.backend), "texts")
    assert found[0]
    assert found == await _by_database(bench, monkeypatch, "texts")
