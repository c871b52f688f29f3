"""Questions for definitions of a kind, by signature, base and place."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.query import Filters, Modality
from app.retrievers.constructs import Construct, read_construct
from tests.integration.conftest import Bench, write_tree

TREE = {
    "app/http/routes.py": (
        "class Route(Base):\n    async def answer(self) -> Reply:\n        pass\n\n"
        "    def sync(self, reply: Reply) -> None:\n        pass\n\n\n"
        "async def serve():\n    pass\n"
    ),
    "app/store/pool.py": (
        "class Pool(lib.Base):\n    async def take(self):\n        pass\n\n\nclass Other:\n    pass\n\n\nclass PoolError(Exception): ...\n"
    ),
    "web/api.ts": "export async function load(id: string): Promise<Reply> {\n  return fetch(id);\n}\nfunction plain() {}\n",
}


@pytest.mark.parametrize(
    ("question", "construct"),
    [
        ("async functions in app/http", Construct(("function", "method"), (r"\yasync\y",), None, "app/http")),
        ("Find all classes that inherit from Retriever", Construct(("class",), base="Retriever")),
        ("classes implementing lib.Base in app/store?", Construct(("class",), base="Base", place="app/store")),
        ("asynkrone funktioner i app/http", Construct(("function", "method"), (r"\yasync\y",), None, "app/http")),
        ("klasser der arver fra Retriever", Construct(("class",), base="Retriever")),
        ("app/http 中的异步函数", Construct(("function", "method"), (r"\yasync\y",), None, "app/http")),
        ("继承 Retriever 的类", Construct(("class",), base="Retriever")),
        ("all enums", None),
        ("import cycles in app", None),
        ("class diagram of billing", None),
        ("how do async functions work in app/http", None),
        ("type errors when saving", None),
    ],
)
def test_what_is_asked_for(question: str, construct: Construct | None) -> None:
    assert read_construct(question) == construct


@pytest.mark.anyio
async def test_constructs_are_found(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", TREE), "t")

    async def found(question: str, **filters: tuple[str, ...]) -> set[str | None]:
        answer = await bench.search(question, modalities=(Modality.STRUCTURAL,), filters=Filters(**filters), limit=50)  # type: ignore[arg-type]
        return {evidence.symbol for result in answer.results for evidence in result.evidence if not evidence.fuzzy}

    assert await found("async functions in app/http") == {"Route.answer", "serve"}
    assert await found("async functions") == {"Route.answer", "serve", "Pool.take", "load"}
    assert await found("classes that inherit Base") == {"Route", "Pool"}
    assert await found("classes that inherit Base in app/store") == {"Pool"}
    assert await found("methods of Route") == {"Route.answer", "Route.sync"}
    assert await found("functions returning Reply") == {"Route.answer", "load"}
    assert await found("methods taking a Reply") == {"Route.sync"}
    assert await found("async functions", languages=("typescript",)) == {"load"}
    assert await found("asynkrone metoder af Route") == {"Route.answer"}
    assert await found("?", kinds=("class",), symbols=("*Error",)) == {"PoolError"}, "no words: the filters alone say what is meant"


@pytest.mark.anyio
async def test_such_a_question_is_answered_by_default_too(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", TREE), "t")
    answer = await bench.search("async functions in app/http")
    assert answer.results[0].path == "app/http/routes.py"
    assert answer.relevance == "strong"
