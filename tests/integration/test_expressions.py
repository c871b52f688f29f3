"""Boolean expressions are answered best first: with all their parts before some, rare ones before common ones, code before tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.query import Dedupe, SearchRequest
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

TREE = {
    **{f"a/common_{number:02}.py": "def handle():\n    return session\n" for number in range(20)},
    "a/part_of_a_word.py": "ticketing = 1\n",
    "b/rare.py": "def pay(ticket):\n    return ticket\n",
    "c/both.py": "def renew(session, ticket):\n    return session\n",
    "d/other_case.py": "TICKET = 1\n",
    "tests/test_both.py": "def test_renewal(session, ticket):\n    assert session\n",
    "z/definition.py": "class ticket:\n    pass\n",
    "z/neither.py": "nothing = 1\n",
}


@pytest.mark.parametrize("query", ["session or ticket", "ticket OR session", '"session" or ticket', "regex:/sess[i]on/ or ticket"])
async def test_both_parts_then_the_rarer_one(bench: Bench, tmp_path: Path, query: str) -> None:
    await bench.index(write_tree(tmp_path / "t", TREE), "t")
    answer = await bench.service.search.search(SearchRequest(query, limit=100))
    paths = [result.path for result in answer.results]
    assert len(paths) == answer.total.results == len(TREE) - 1
    assert paths[0] == "c/both.py"
    rare = ["z/definition.py", "b/rare.py", "a/part_of_a_word.py", "d/other_case.py"]
    assert [path for path in paths if path in rare] == rare
    assert paths.index("tests/test_both.py") > paths.index("c/both.py")
    assert max(map(paths.index, rare[:2])) < paths.index("a/common_00.py")


async def test_pages_of_a_ranked_expression_are_the_whole_list(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", TREE), "t")
    for dedupe in Dedupe:
        whole = await bench.service.search.search(SearchRequest("session or ticket", limit=100, dedupe=dedupe))
        paged: list[str] = []
        request = SearchRequest("session or ticket", limit=7, dedupe=dedupe)
        while True:
            part = await bench.service.search.search(request)
            paged += [result.path for result in part.results]
            if part.next_cursor is None:
                break
            request = SearchRequest("session or ticket", limit=7, dedupe=dedupe, cursor=part.next_cursor)
        assert paged == [result.path for result in whole.results]
