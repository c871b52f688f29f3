"""Why a file is not shown, what an empty answer proves, files as indexed, saved scopes: on a real index."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.domain.errors import CursorExpired, FileNotIndexed, InvalidRequest, ScopeNotFound
from app.domain.files import FileRequest, Gate, WhyNot
from app.domain.query import Dedupe, Filters, Modality, SearchRequest
from app.domain.scopes import SavedScope
from app.search.why_not import changed
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

PATIENCE_MS = 10_000


async def why_not(bench: Bench, query: str, path: str, **request: Any) -> WhyNot:
    return await bench.service.why_not.explain(SearchRequest(query, timeout_ms=PATIENCE_MS, **request), "shop", path)


async def shown_after(bench: Bench, found: WhyNot) -> bool:
    """Whether the change that was proposed shows the file."""
    assert found.change is not None
    answer = await bench.service.search.search(changed(found.request, found.change.fields))
    return found.path in {result.path for result in answer.results}


async def test_the_gates(bench: Bench, tmp_path: Path) -> None:
    files = {f"shop/part_{number:02}.py": f"def part_{number}():\n    return add_tax({number})\n" for number in range(30)}
    files |= {"shop/money.py": "def add_tax(amount):\n    return amount\n", "shop/copy.py": "def add_tax(amount):\n    return amount\n"}
    files |= {
        "tests/test_money.py": "def test_add_tax():\n    assert add_tax(1)\n",
        "web/app.js": "export const x = 1;\n",
        "notes.txt": "nothing\n",
    }
    root = write_tree(tmp_path / "shop", files)
    (root / "picture.png").write_bytes(b"\x89PNG\0\0")
    await bench.index(root)

    found = await why_not(bench, "find the string add_tax", "shop/gone.py")
    assert (found.gate, found.change) == (Gate.NOT_INDEXED, None)
    found = await why_not(bench, "find the string add_tax", "picture.png")
    assert (found.gate, "binary" in found.detail) == (Gate.NOT_INDEXED, True)

    found = await why_not(bench, "find the string add_tax", "shop/money.py")
    assert (found.gate, found.rank is not None) == (Gate.SHOWN, True)

    for query in (
        "add_tax lang:javascript",
        "add_tax file:web/**",
        "add_tax kind:class",
        "add_tax symbol:other",
        "add_tax -amount",
        "add_tax -lang:python",
    ):
        found = await why_not(bench, query, "shop/money.py")
        assert found.gate is Gate.FILTERED, query
    found = await why_not(bench, "find the string add_tax", "shop/money.py", filters=Filters(languages=("javascript",), kinds=("class",)))
    assert (found.gate, dict(found.change.fields) if found.change else None) == (
        Gate.FILTERED,
        {"filters": {"languages": None, "kinds": None}},
    )
    assert await shown_after(bench, found), (found.gate, found.detail, found.change, found.retrievers)

    found = await why_not(bench, "find the string add_tax", "shop/part_29.py", limit=2)
    assert found.gate is Gate.BELOW_PAGE
    assert await shown_after(bench, found), (found.gate, found.detail, found.change, found.retrievers)

    found = await why_not(bench, "find the string add_tax", "tests/test_money.py", limit=10)
    assert found.gate in (Gate.DEMOTED, Gate.BELOW_PAGE)
    assert await shown_after(bench, found), (found.gate, found.detail, found.change, found.retrievers)

    texts = {path: (await bench.service.source.read(FileRequest("shop", path))).lines for path in ("shop/money.py", "shop/copy.py")}
    assert texts["shop/money.py"] == texts["shop/copy.py"]
    merged = [await why_not(bench, "def add_tax", path, dedupe=Dedupe.CONTENT) for path in texts]
    assert {found.gate for found in merged} == {Gate.SHOWN, Gate.MERGED}
    merged_one = next(found for found in merged if found.gate is Gate.MERGED)
    assert await shown_after(bench, merged_one), merged_one

    found = await why_not(bench, "find the string add_tax", "notes.txt")
    assert (found.gate, found.change) == (Gate.NO_MATCH, None)
    assert [(verdict.modality, verdict.matches) for verdict in found.retrievers if verdict.ran] == [(Modality.TEXT, False)]
    found = await why_not(bench, "where is part_7 used", "shop/part_07.py", modalities=(Modality.GRAPH,))
    assert found.gate is Gate.NO_MATCH
    assert await shown_after(bench, found), (found.gate, found.detail, found.change, found.retrievers)


async def test_source_as_indexed(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    text = (shop / "shop/cart.py").read_text()
    found = await bench.service.source.read(FileRequest("shop", "shop/cart.py"))
    assert "\n".join(found.lines) + "\n" == text
    assert (found.entry.language, found.entry.lines, found.entry.outcome) == ("python", text.count("\n"), "indexed")
    assert [symbol.qualified for symbol in found.symbols] == ["Cart", "Cart.total", "Cart.checkout"]
    part = await bench.service.source.read(FileRequest("shop", "shop/cart.py", first_line=9, last_line=10))
    assert (list(part.lines), [symbol.qualified for symbol in part.symbols]) == (text.split("\n")[8:10], ["Cart", "Cart.total"])
    assert list((await bench.service.source.read(FileRequest("shop", "shop/cart.py", first_line=13))).lines) == text.split("\n")[12:-1]
    with pytest.raises(InvalidRequest, match="13 lines"):
        await bench.service.source.read(FileRequest("shop", "shop/cart.py", first_line=14))
    with pytest.raises(FileNotIndexed):
        await bench.service.source.read(FileRequest("shop", "nope.py"))


async def test_a_saved_scope_narrows_a_search(bench: Bench, shop: Path) -> None:
    await bench.index(shop)
    scope = SavedScope("pages", ("shop",), Filters(languages=("javascript",)), "what browsers run")
    assert await bench.service.scopes.put(scope)
    assert not await bench.service.scopes.put(scope)
    assert replace(await bench.service.scopes.get("pages"), changed_at=None) == scope
    paths = {result.path for result in (await bench.search("cart", scope="pages", timeout_ms=PATIENCE_MS)).results}
    assert paths == {"web/app.js"}
    wider = await bench.search("cart", scope="pages", filters=Filters(languages=("python",)), timeout_ms=PATIENCE_MS)
    assert {result.language for result in wider.results} == {"python"}
    with pytest.raises(InvalidRequest):
        await bench.search("cart", scope="pages", repositories=("other",))
    await bench.service.scopes.delete("pages")
    with pytest.raises(ScopeNotFound):
        await bench.search("cart", scope="pages")
    with pytest.raises(ScopeNotFound):
        await bench.service.scopes.delete("pages")


async def test_pages_of_one_generation(bench: Bench, tmp_path: Path) -> None:
    """The next page is of the index that the first was of, also when another has been published since."""
    root = write_tree(
        tmp_path / "shop", {f"part_{number:02}.py": f"def part_{number}():\n    return add_tax({number})\n" for number in range(12)}
    )
    await bench.index(root)
    asked = SearchRequest("add_tax", literal=True, limit=5, timeout_ms=PATIENCE_MS)
    whole = [result.path for result in (await bench.service.search.search(replace(asked, limit=12))).results]
    first = await bench.service.search.search(asked)
    assert first.next_cursor is not None
    following = replace(asked, cursor=first.next_cursor)
    second = await bench.service.search.search(following)
    for number in range(6):
        (root / f"part_{number:02}.py").write_text("pass\n")
    await bench.index(root)
    again = await bench.service.search.search(following)
    assert [result.path for result in again.results] == [result.path for result in second.results] == whole[5:10]
    assert [result.snippet for result in again.results] == [result.snippet for result in second.results]
    assert len((await bench.service.search.search(replace(asked, limit=12))).results) == 6
    async with bench.backend.connect() as connection:
        await connection.execute("DELETE FROM generation WHERE generation = 1")
    with pytest.raises(CursorExpired):
        await bench.service.search.search(following)


async def test_absence_is_proven_only_where_it_is_true(bench: Bench, tmp_path: Path) -> None:
    """Literals, half of them somewhere in the tree, also in files that the index could not read."""
    random.seed(7)
    words = ["".join(random.choices("abcdefghij", k=8)) for _ in range(200)]
    read, unread, absent = words[:60], words[60:100], words[100:]
    files = {f"dir/{number:02}.txt": "\n".join(read[number * 6 : number * 6 + 6]) + "\n" for number in range(10)}
    root = write_tree(tmp_path / "shop", files)
    await bench.index(root)
    for word in [*read, *absent]:
        answer = await bench.search(word, literal=True, timeout_ms=PATIENCE_MS)
        assert bool(answer.results) == (word in read)
        assert (answer.absence is not None and answer.absence["proven"] is True) == (word in absent)
    (root / "blob.bin").write_bytes(b"\0" + "\n".join(unread).encode())
    await bench.index(root)
    for word in [*unread, *absent[:10]]:
        answer = await bench.search(word, literal=True, timeout_ms=PATIENCE_MS)
        assert answer.absence is not None
        assert answer.absence["proven"] is False
        assert answer.absence["unread"] == [{"repository": "shop", "path": "blob.bin", "reason": "binary"}]
    assert re.search("[0-9]", str((await bench.search("zzz", literal=True)).absence))
