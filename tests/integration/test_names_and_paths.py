"""Questions that name a file, filters by definition, and the definition that a result shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.domain.query import Filters, Modality, Strategy
from app.domain.ranking import SearchAnswer
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

TREE = {
    "src/web/app.py": "class Web:\n    def py(self):\n        return self\n\n\nclass src:\n    pass\n",
    "src/core/app.py": "def start():\n    return 1\n",
    "src/core/session_store.py": "def open_it():\n    return 'app py web src'\n",
    "tools/run.py": (
        "import functools\n\n\ndef around(call):\n    @functools.wraps(call)\n    def wrapper(*given):\n        return call(*given)\n\n"
        "    return wrapper\n\n\nclass Runner:\n    def go(self):\n        return helper()\n\n    def stop(self):\n        return 0\n\n\n"
        "def helper():\n    return 1\n"
    ),
}


def paths(answer: SearchAnswer) -> list[str]:
    return [result.path for result in answer.results]


@pytest.fixture
async def tree(bench: Bench, tmp_path: Path) -> Bench:
    await bench.index(write_tree(tmp_path / "tree", TREE), name="tree")
    return bench


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ("where is session_store.py", ["src/core/session_store.py"]),
        ("where is src/web/app.py", ["src/web/app.py"]),
        ("where is web/app.py", ["src/web/app.py"]),
        ("where is app.py", ["src/web/app.py", "src/core/app.py"]),
    ],
)
async def test_a_file_is_found_by_its_path(tree: Bench, question: str, files: list[str]) -> None:
    answer = await tree.search(question)
    assert answer.routing.strategy is Strategy.DIRECT
    assert sorted(paths(answer)) == sorted(files)


@pytest.mark.parametrize("path", ["session_store.py", "core/app.py", "./src/core/app.py"])
async def test_a_path_alone_finds_its_file_first(tree: Bench, path: str) -> None:
    answer = await tree.search(path)
    assert paths(answer)[0].endswith(path.removeprefix("./"))


async def test_a_qualified_name_is_no_path(tree: Bench) -> None:
    assert paths(await tree.search("where is Web.py defined")) == ["src/web/app.py"]


async def test_files_found_by_their_names_must_hold_the_wanted_definition(tree: Bench) -> None:
    assert paths(await tree.search("session store", filters=Filters(kinds=("class",)))) == []
    assert paths(await tree.search("session store", filters=Filters(symbols=("start",)))) == []
    assert paths(await tree.search("session store"))[0] == "src/core/session_store.py"


SIGILS = {
    "src/schemas.ts": "export interface $Gate {\n  shut: boolean;\n}\n",
    "src/classic.ts": 'import { $Gate } from "./schemas";\n\nexport interface Gate extends $Gate {\n  gate: Gate;\n}\n',
    "src/doors.py": "class Door:\n    def __len__(self):\n        return 1\n\n\ndef _knock():\n    return Door()\n",
    "src/len_of_door.py": "def len_of(door):\n    return len(door)  # len of a door, len of any door\n",
    "tests/test_doors.py": "def make_door_of_wood():\n    return 1\n",
}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("$Gate", "src/schemas.ts"),
        ("Gate", "src/classic.ts"),
        ("__len__", "src/doors.py"),
        ("knock", "src/doors.py"),
        ("_knock", "src/doors.py"),
        ("make_door_of_wood", "tests/test_doors.py"),
    ],
)
@pytest.mark.parametrize("question", ["{}", "where is {} defined"])
async def test_a_name_is_taken_as_it_is_written(bench: Bench, tmp_path: Path, name: str, path: str, question: str) -> None:
    await bench.index(write_tree(tmp_path / "tree", SIGILS), name="tree")
    assert paths(await bench.search(question.format(name)))[0] == path


PARENTS = {
    "src/router.py": "class Router:\n    def route(self):\n        return Router().route()\n\n\nLONGEST_ROUTE = 8\n",
    "src/route.py": "class Other:\n    def route(self):\n        return 'router route, route router: a Router and its route'\n",
    "src/talk.py": "def talk():\n    return 'LONGEST_ROUTE of a router: longest route LONGEST_ROUTE'\n",
    "tests/test_route.py": "class FakeRouter:\n    def route(self):\n        return 1\n\n\ndef unmistakable_step():\n    return 2\n",
}


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("Router.route", "src/router.py"),
        ("Router::route", "src/router.py"),
        ("FakeRouter.route", "tests/test_route.py"),
        ("LONGEST_ROUTE", "src/router.py"),
        ("unmistakabel_step", "tests/test_route.py"),
        ("where is unmistakble_step defined", "tests/test_route.py"),
        ("tests/test_route.py", "tests/test_route.py"),
        ("test_route.py", "tests/test_route.py"),
        ("src/talk.py", "src/talk.py"),
    ],
)
async def test_what_is_named_comes_first(bench: Bench, tmp_path: Path, question: str, path: str) -> None:
    await bench.index(write_tree(tmp_path / "tree", PARENTS), name="tree")
    assert paths(await bench.search(question))[0] == path


async def test_a_method_of_a_parent_that_has_none_is_looked_for_elsewhere(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "tree", PARENTS), name="tree")
    assert {"src/router.py", "src/route.py"} <= set(paths(await bench.search("where is Unknown.route defined")))


@pytest.mark.parametrize("modalities", [(Modality.TEXT,), (Modality.STRUCTURAL,), (Modality.TEXT, Modality.SEMANTIC)])
async def test_a_name_that_only_a_test_defines_lifts_it_in_every_list(
    bench: Bench, tmp_path: Path, modalities: tuple[Modality, ...]
) -> None:
    talk = {f"src/door_{i}.py": f"def door_{i}():\n    return 'make_door_of_wood, of wood: a door'\n" for i in range(5)}
    await bench.index(write_tree(tmp_path / "tree", {**SIGILS, **talk}), name="tree")
    assert paths(await bench.search("make_door_of_wood", modalities=modalities))[0] == "tests/test_doors.py"


async def test_a_result_shows_the_definition_it_was_found_for(tree: Bench) -> None:
    for question, qualified in (("class Runner", "Runner"), ("def wrapper", "around.wrapper"), ("who calls helper", "Runner.go")):
        symbol = (await tree.search(question)).results[0].symbol
        assert symbol is not None
        assert symbol.qualified == qualified, question


async def test_a_filter_for_kinds_decides_which_definition_is_shown(tree: Bench) -> None:
    for kind in ("class", "method", "function"):
        answer = await tree.search("runner go helper", filters=Filters(kinds=(kind,)))
        assert answer.results
        assert {result.symbol.kind for result in answer.results if result.symbol} == {kind}


async def test_what_is_too_long_for_a_name_is_not_compared_with_every_name(tree: Bench) -> None:
    answer = await tree.search("a" * 10_000, modalities=())
    assert not answer.partial
    assert answer.results == ()


async def test_text_alone_puts_the_definition_of_a_name_before_what_says_it_more_often(bench: Bench, tmp_path: Path) -> None:
    talk = "\n".join(f"# Gate {i}: the gate of a Gate opens the Gate" for i in range(60))
    tree = {
        "a_talk.py": f"{talk}\n",
        "barrier.py": f"{talk}\n\n\ndef build(kind):\n    return [kind]\n\n\nclass Gate:\n    height = 2\n",
    }
    await bench.index(write_tree(tmp_path / "gates", tree), name="gates")
    first = (await bench.search("Gate", modalities=(Modality.TEXT,))).results[0]
    assert (first.path, first.symbol and first.symbol.qualified) == ("barrier.py", "Gate")


async def test_a_misspelt_question_is_answered_with_similar_words_and_says_so(bench: Bench, tmp_path: Path) -> None:
    tree = {
        "auth.py": "def authenticate_visitor(token):\n    return bool(token)\n",
        "ferry.py": "def departure_schedule(day):\n    return day\n",
    }
    await bench.index(write_tree(tmp_path / "spelling", tree), name="spelling")
    answer = await bench.search("authentcate vistor", modalities=(Modality.TEXT,))
    assert paths(answer) == ["auth.py"]
    assert all(evidence.fuzzy for evidence in answer.results[0].evidence)
    assert {"similar_words", "fuzzy_only"} <= {warning.code for warning in answer.warnings}
    right = await bench.search("authenticate visitor", modalities=(Modality.TEXT,))
    assert not {"similar_words", "fuzzy_only"} & {warning.code for warning in right.warnings}
    assert paths(await bench.search("zzqxv wwqyk", modalities=(Modality.TEXT,))) == []
