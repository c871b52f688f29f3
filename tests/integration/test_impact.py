"""What a change reaches, on a real index."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from app.domain.code import EdgeClass
from app.domain.errors import InvalidRequest
from app.domain.symbols import ImpactAnswer, ImpactRequest, IndexedSide, Interval, SymbolsRequest, UsesRequest
from app.retrievers.walk import MOST_NODES, MOST_STEPS
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

CHAIN = {
    "lib/low.py": "def low():\n    return 1\n",
    "lib/mid.py": "from lib.low import low\n\n\ndef mid():\n    return low()\n",
    "lib/high.py": "from lib.mid import mid\n\n\ndef high(name):\n    return getattr(mid(), name)\n",
    "tests/test_high.py": "from lib.high import high\n\n\ndef test_high():\n    assert high('real')\n",
    "lib/aside.py": "def aside():\n    return getattr(object, 'x')\n",
}


async def impact(bench: Bench, name: str, **request: object) -> ImpactAnswer:
    (symbol,) = (await bench.service.symbols.find(SymbolsRequest(name))).symbols
    return await bench.service.impact.of_symbol(ImpactRequest(symbol_id=symbol.id, **request))  # type: ignore[arg-type]


def reached(answer: ImpactAnswer) -> dict[str, int]:
    return {entry.symbol.qualified: entry.distance for entry in answer.impact.certain}


def possible(answer: ImpactAnswer) -> dict[str, int]:
    return {entry.symbol.qualified: entry.distance for entry in answer.impact.possible}


async def test_a_change_reaches_its_users_and_theirs(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", CHAIN), "t")
    answer = await impact(bench, "low")
    functions = {name: distance for name, distance in reached(answer).items() if not name.endswith(".py")}
    assert functions == {"mid": 1, "high": 2, "test_high": 3}
    (last,) = [entry for entry in answer.impact.certain if entry.symbol.qualified == "test_high"]
    assert [(hop.symbol.qualified, hop.path, hop.line, hop.relation) for hop in last.hops] == [
        ("test_high", "tests/test_high.py", 5, "calls"),
        ("high", "lib/high.py", 5, "calls"),
        ("mid", "lib/mid.py", 5, "calls"),
    ]
    assert last.changed_id == answer.changed[0].symbol.id
    assert [file.path for file in answer.impact.files] == ["lib/mid.py", "lib/high.py"]
    ((test_file, names),) = [(file.path, file.symbols) for file in answer.impact.tests]
    assert (test_file, names) == ("tests/test_high.py", ("test_high",))
    assert (answer.impact.file_count, answer.impact.test_count) == (Interval(2, 2), Interval(1, 1))
    (spot,) = answer.impact.blind_spots
    assert (spot.kind, spot.path, spot.line, spot.name, spot.symbol) == ("reflection", "lib/high.py", 5, "getattr", "high")
    assert (answer.impact.truncated, answer.snapshot.generation, answer.indexed) == ((), 1, None)


async def test_depth_is_a_bound_that_is_told(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", CHAIN), "t")
    answer = await impact(bench, "low", depth=2)
    assert max(reached(answer).values()) == 2
    assert answer.impact.truncated == ("depth",)
    short = await impact(bench, "low", limit=1)
    assert (len(short.impact.certain), short.impact.symbol_count) == (1, (await impact(bench, "low")).impact.symbol_count)


async def test_recursion_and_cycles_end(bench: Bench, tmp_path: Path) -> None:
    ring = {
        f"m{i}.py": f"from m{(i + 1) % 5} import f{(i + 1) % 5}\n\n\ndef f{i}(n):\n    f{i}(n - 1)\n    f{(i + 1) % 5}(n)\n"
        for i in range(5)
    }
    await bench.index(write_tree(tmp_path / "t", ring), "t")
    answer = await impact(bench, "f0", depth=10)
    functions = {name: distance for name, distance in reached(answer).items() if not name.endswith(".py")}
    assert functions == {"f4": 1, "f3": 2, "f2": 3, "f1": 4}
    assert answer.impact.truncated == ()


async def test_constructors_members_and_overrides(bench: Bench, tmp_path: Path) -> None:
    tree = {
        "base.py": (
            "def seed():\n    return 0\n\n\nclass Base:\n    def __init__(self):\n        self.value = seed()\n\n"
            "    def run(self):\n        return 1\n\n\nclass Child(Base):\n    def run(self):\n        return 2\n"
        ),
        "use.py": (
            "from base import Base, Child\n\n\ndef make():\n    return Base()\n\n\ndef go(b: Base):\n    return b.run()\n\n\n"
            "def annotated(b: Base) -> None:\n    pass\n"
        ),
    }
    await bench.index(write_tree(tmp_path / "t", tree), "t")
    seed = await impact(bench, "seed")
    assert reached(seed)["Base.__init__"] == 1
    assert reached(seed)["make"] == 2, "who instantiates a class runs its constructor"
    assert "annotated" not in reached(seed), "who only names it does not"
    (make,) = [entry for entry in seed.impact.certain if entry.symbol.qualified == "make"]
    assert (make.hops[0].line, make.hops[-1].symbol.qualified, make.hops[-1].relation) == (5, "Base.__init__", "calls")

    base = reached(await impact(bench, "Base"))
    assert base["go"] == 1
    assert base["make"] == 1
    assert "Base.run" not in base, "a member belongs to the change"

    child = await impact(bench, "Child.run")
    assert "go" not in reached(child)
    assert possible(child)["go"] == 1, "a call of the base's method may run the override"


async def test_what_a_name_may_mean_is_possible_and_only_once_on_a_way(bench: Bench, tmp_path: Path) -> None:
    tree = {f"k{i}.py": f"class K{i}:\n    def run_all(self):\n        pass\n" for i in range(3)} | {
        "use.py": (
            "def go(x):\n    x.run_all()\n\n\ndef outer(x):\n    go(x)\n\n\nclass Far:\n    def outer_most(self, x):\n        outer(x)\n"
        ),
        "far.py": "def by_name(x):\n    x.outer_most()\n\n\nclass Other:\n    def outer_most(self):\n        pass\n",
    }
    await bench.index(write_tree(tmp_path / "t", tree), "t")
    answer = await impact(bench, "K1.run_all")
    assert (reached(answer), possible(answer)) == ({}, {"go": 1, "outer": 2, "Far.outer_most": 3})
    assert {entry.edge_class for entry in answer.impact.possible} == {EdgeClass.POSSIBLE}
    assert answer.impact.symbol_count == Interval(0, 3)
    assert possible(await impact(bench, "K1"))["go"] == 2, "through a member"
    certain = await impact(bench, "go")
    assert (reached(certain), possible(certain)) == ({"outer": 1, "Far.outer_most": 2}, {"by_name": 3})


async def test_a_hub_with_ten_thousand_callers_is_bounded(bench: Bench, tmp_path: Path) -> None:
    tree = {"hub.py": "def hub():\n    pass\n"}
    for i in range(20):
        functions = "".join(f"def user_{i}_{j}():\n    hub()\n\n\n" for j in range(500))
        tree[f"users{i:02}.py"] = f"from hub import hub\n\n\n{functions}def all_{i}():\n    user_{i}_0()\n"
    await bench.index(write_tree(tmp_path / "t", tree), "t")
    answer = await impact(bench, "hub")
    assert "breadth" in answer.impact.truncated
    assert MOST_STEPS / 2 < answer.impact.symbol_count.at_most <= MOST_NODES + MOST_STEPS
    (hub,) = (await bench.service.symbols.find(SymbolsRequest("hub"))).symbols
    callers = await bench.service.symbols.callers(UsesRequest(hub.id, limit=100))
    assert callers.part.counts[EdgeClass.EXACT] == 10_000
    assert len({caller.symbol.id for caller in callers.part.items}) == 100
    assert callers.next_cursor is not None
    assert callers.part.complete


DIFF = "--- a/lib/low.py\n+++ b/lib/low.py\n@@ -1,2 +1,2 @@\n def low():\n-    return 1\n+    return 2\n"


async def test_a_diff_is_mapped_on_the_side_that_is_indexed(bench: Bench, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "t", CHAIN)
    await bench.index(root, "t")
    before = await bench.service.impact.of_diff(ImpactRequest("t", diff=DIFF))
    assert (before.indexed, [change.symbol.qualified for change in before.changed]) == (IndexedSide.BASE, ["low"])
    assert before.changed[0].lines == (2,)
    assert {"mid", "high", "test_high"} <= reached(before).keys()
    assert [(file.path, file.status, file.indexed, file.symbols) for file in before.changed_files] == [("lib/low.py", "modified", True, 1)]
    assert before.warnings == ()
    (root / "lib/low.py").write_text("def low():\n    return 2\n")
    await bench.index(root, "t")
    after = await bench.service.impact.of_diff(ImpactRequest("t", diff=DIFF))
    assert (after.indexed, reached(after)) == (IndexedSide.HEAD, reached(before))
    told = await bench.service.impact.of_diff(ImpactRequest("t", diff=DIFF, indexed=IndexedSide.BASE))
    assert told.indexed is IndexedSide.BASE
    assert [notice.code for notice in told.warnings] == ["diff_does_not_match"]


async def test_what_a_diff_is_told_about(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", CHAIN), "t")
    nowhere = DIFF.replace("lib/low.py", "lib/nowhere.py")
    answer = await bench.service.impact.of_diff(ImpactRequest("t", diff=nowhere))
    assert (answer.changed, answer.impact.certain) == ((), ())
    assert {notice.code for notice in answer.warnings} == {"files_not_indexed", "diff_does_not_match"}
    new_file = "--- /dev/null\n+++ b/lib/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
    answer = await bench.service.impact.of_diff(ImpactRequest("t", diff=DIFF + new_file))
    assert [(file.status, file.indexed) for file in answer.changed_files] == [("modified", True), ("added", False)]
    assert answer.warnings == ()
    once, series = [await bench.service.impact.of_diff(ImpactRequest("t", diff=diff)) for diff in (DIFF, DIFF + DIFF)]
    assert series.changed == once.changed, "a series of patches names each symbol once"
    assert len(series.changed_files) == 2 * len(once.changed_files)
    empty = await bench.service.impact.of_diff(ImpactRequest("t", diff=""))
    assert (empty.changed, empty.impact.symbol_count) == ((), Interval(0, 0))
    with pytest.raises(InvalidRequest):
        await bench.service.impact.of_diff(ImpactRequest("t", diff="not a diff"))


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout.strip()


async def test_two_commits_are_compared(bench: Bench, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "t", CHAIN)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    git(root, "branch", "fork")
    (root / "lib/low.py").write_text("def low():\n    return 2\n")
    git(root, "commit", "-qam", "two")
    two = git(root, "rev-parse", "HEAD")
    await bench.index(root, "t")
    answer = await bench.service.impact.of_diff(ImpactRequest("t", base="main~1", head="main"))
    assert (answer.indexed, [change.symbol.qualified for change in answer.changed]) == (IndexedSide.HEAD, ["low"])
    assert answer.snapshot.revision == two
    assert "test_high" in reached(answer)

    git(root, "checkout", "-q", "fork")
    (root / "lib/aside.py").write_text("def aside():\n    return 5\n")
    git(root, "commit", "-qam", "three")
    forked = await bench.service.impact.of_diff(ImpactRequest("t", base="main", head="fork"))
    assert [change.symbol.qualified for change in forked.changed] == ["aside"], "what happened on main since is no part of it"
    for base, head, field in (("nope", "main", "base"), ("main", "--output=/tmp/x", "head")):
        with pytest.raises(InvalidRequest, match="there is no commit") as refused:
            await bench.service.impact.of_diff(ImpactRequest("t", base=base, head=head))
        assert refused.value.field == field


async def test_comparing_runs_nothing_that_the_tree_configures(bench: Bench, tmp_path: Path) -> None:
    root = write_tree(tmp_path / "t", CHAIN | {".gitattributes": "*.py diff=evil\n"})
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    (root / "lib/low.py").write_text("def low():\n    return 2\n")
    git(root, "commit", "-qam", "two")
    for name in ("diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager", "core.fsmonitor"):
        git(root, "config", name, f"touch {tmp_path}/ran-{name};")
    await bench.index(root, "t")
    answer = await bench.service.impact.of_diff(ImpactRequest("t", base="main~1", head="main"))
    assert [change.symbol.qualified for change in answer.changed] == ["low"]
    assert list(tmp_path.glob("ran-*")) == []


async def test_a_folder_has_no_commits(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", CHAIN), "t")
    with pytest.raises(InvalidRequest, match="no git work tree"):
        await bench.service.impact.of_diff(ImpactRequest("t", base="main", head="main"))
    (tmp_path / "t").rename(tmp_path / "moved")
    with pytest.raises(InvalidRequest, match="cannot be read any more"):
        await bench.service.impact.of_diff(ImpactRequest("t", base="main", head="main"))


async def test_the_repository_may_go_without_saying_only_where_there_is_one(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", CHAIN), "t")
    assert (await bench.service.impact.of_diff(ImpactRequest(diff=DIFF))).snapshot.repository == "t"
    await bench.index(tmp_path / "t", "u")
    with pytest.raises(InvalidRequest, match="name the repository"):
        await bench.service.impact.of_diff(ImpactRequest(diff=DIFF))
