"""The whole write and read path on a real database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from app.bootstrap import compose
from app.config import SearchSettings
from app.domain.errors import NotIndexed, RepositoryNotFound
from app.domain.index import JobState, RepositorySource
from app.domain.query import Dedupe, Filters, Intent, Modality, Preset, SearchRequest, Strategy
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio


def paths(answer: object) -> list[str]:
    return [result.path for result in answer.results]  # type: ignore[attr-defined]


async def test_each_route_answers(bench: Bench, shop: Path) -> None:
    job = await bench.index(shop)
    assert job.state is JobState.SUCCEEDED
    assert job.error is None

    definition = await bench.search("def add_tax")
    assert (definition.routing.strategy, paths(definition)) == (Strategy.DIRECT, ["shop/money.py"])
    assert definition.results[0].symbol is not None
    assert definition.results[0].symbol.signature == "def add_tax(amount: int) -> int"

    callers = await bench.search("who calls add_tax")
    assert callers.routing.modalities[0].modality is Modality.GRAPH
    assert set(paths(callers)) == {"shop/cart.py", "shop/report.py"}
    calls = {(r.path, e.line, e.edge_class) for r in callers.results for e in r.evidence if e.relation == "calls"}
    assert calls == {("shop/cart.py", 10, "exact"), ("shop/report.py", 5, "exact")}

    impact = await bench.search("what breaks if I change add_tax")
    assert impact.routing.classification.intent is Intent.IMPACT_ANALYSIS
    assert {"shop/cart.py", "shop/report.py", "tests/test_cart.py"} <= set(paths(impact))

    literal = await bench.search('"ECARTEMPTY"')
    assert paths(literal) == ["shop/cart.py"]
    assert literal.total.lines == 1

    words = await bench.search("how is value added tax computed")
    assert words.routing.strategy is Strategy.WEIGHTED_RRF
    assert paths(words)[0] == "shop/money.py"


async def test_every_line_of_every_file_is_found_literally(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    for file in sorted(shop.rglob("*.*")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if len(line.strip()) >= 3:
                answer = await bench.search(line.strip(), literal=True, limit=100)
                assert file.relative_to(shop).as_posix() in paths(answer), line


async def test_words_of_any_script_and_short_patterns_are_found(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    for literal in ("Grænseværdi", "购物车", "🛒", "车", "=="):
        answer = await bench.search(literal, literal=True)
        assert answer.results, literal
    absent = await bench.search("no such text anywhere", literal=True)
    assert absent.absence == {"proven": True, "files_searched": 7, "files_total": 7, "unread": []}


async def test_percent_underscore_and_backslash_are_literal(bench: Bench, tmp_path: Path) -> None:
    await bench.index(
        write_tree(tmp_path / "t", {"a.txt": "100% sure\n", "b.txt": "a_b\n", "c.txt": "axb 100 sure\n", "d.txt": "C:\\temp\n"})
    )
    assert paths(await bench.search("100% s", literal=True)) == ["a.txt"]
    assert paths(await bench.search("a_b", literal=True)) == ["b.txt"]
    assert paths(await bench.search("C:\\temp", literal=True)) == ["d.txt"]


async def test_filters_act_before_ranking(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    only_js = await bench.search("cart", filters=Filters(languages=("javascript",)))
    assert paths(only_js) == ["web/app.js"]
    without = await bench.search("cart", filters=Filters(paths=("shop/**", "!shop/cart.py")))
    assert without.results
    assert all(path.startswith("shop/") and path != "shop/cart.py" for path in paths(without))


async def test_pages_follow_one_another(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", {f"f{i:02}.txt": f"needle number {i}\n" for i in range(25)}))
    seen: list[str] = []
    cursor = None
    while True:
        page = await bench.search("needle", literal=True, limit=10, cursor=cursor, dedupe=Dedupe.NONE)
        seen += paths(page)
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == sorted(seen)
    assert len(seen) == 25


async def test_a_change_costs_its_own_files_and_replaces_them(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    (shop / "shop/money.py").write_text("def add_vat(amount):\n    return amount\n")
    (shop / "shop/report.py").unlink()
    (shop / "shop/cart.py").rename(shop / "shop/basket.py")
    job = await bench.index(shop)
    assert job.result["analysed"] == 2
    assert job.result["unchanged"] == 4
    gone = await bench.search("def add_tax")
    assert not [e for result in gone.results for e in result.evidence if e.relation == "definition" and not e.fuzzy]
    assert paths(await bench.search("def add_vat")) == ["shop/money.py"]
    assert "shop/report.py" not in paths(await bench.search("add_tax", literal=True))
    assert paths(await bench.search('"ECARTEMPTY"')) == ["shop/basket.py"]


async def test_an_unchanged_tree_is_cheap_and_keeps_its_answers(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    first = await bench.search("how is tax computed")
    job = await bench.index(shop)
    assert (job.result["analysed"], job.result["unchanged"]) == (0, 7)
    second = await bench.search("how is tax computed")
    assert [(r.path, r.score) for r in first.results] == [(r.path, r.score) for r in second.results]


async def test_repositories_do_not_leak_into_each_other(bench: Bench, shop: Path, tmp_path: Path) -> None:
    await bench.index(shop)
    await bench.index(write_tree(tmp_path / "other", {"x.py": "def add_tax():\n    pass\n"}), "other")
    assert {r.repository for r in (await bench.search("def add_tax")).results} == {"shop", "other"}
    assert {r.repository for r in (await bench.search("def add_tax", repositories=("other",))).results} == {"other"}
    await bench.service.repositories.delete("other")
    assert {r.repository for r in (await bench.search("def add_tax")).results} == {"shop"}


async def test_unknown_and_unindexed_repositories_are_told_apart(bench: Bench, shop: Path) -> None:
    with pytest.raises(RepositoryNotFound):
        await bench.search("cart", repositories=("nowhere",))
    await bench.service.repositories.put("shop", RepositorySource(str(shop)))
    with pytest.raises(NotIndexed):
        await bench.search("cart", repositories=("shop",))


async def test_a_tree_that_is_gone_fails_with_the_reason_and_keeps_the_index(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    shop.rename(shop.with_name("moved"))
    job = await bench.index(shop)
    assert job.state is JobState.FAILED
    assert job.error is not None
    assert "the last index stays in place" in job.error
    assert (await bench.search("def add_tax")).results


async def test_stale_is_told(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    assert not (await bench.service.repositories.get("shop")).stale
    (shop / "new.py").write_text("x = 1\n")
    await bench.service.jobs.enqueue("shop")
    assert (await bench.service.repositories.get("shop")).stale
    assert (await bench.search("cart")).scope.snapshots[0].stale


async def test_a_store_that_is_slow_for_everybody_is_waited_for(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    search = SearchSettings(retriever_deadline_ms=50, deadline_ms=10_000)
    service = compose(replace(bench.backend, settings=bench.backend.settings.model_copy(update={"search": search})))
    async with bench.backend.connect() as holder:
        transaction = holder.transaction()
        await transaction.start()
        await holder.execute("LOCK TABLE chunk, symbol, posting, edge, file IN ACCESS EXCLUSIVE MODE")
        asked = asyncio.create_task(service.search.search(SearchRequest("how is tax added to the total", preset=Preset.THOROUGH)))
        await asyncio.sleep(0.5)  # every retriever's deadline is over
        assert not asked.done()
        await transaction.rollback()
    assert (await asked).results
