"""Unified diffs, and what they touch."""

from __future__ import annotations

import difflib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.code import PathClass
from app.domain.errors import InvalidRequest
from app.domain.symbols import IndexedFile, IndexedSide, Place, SymbolDetails
from app.search.diff import FileDiff, parse_diff
from app.search.touched import agreement, touched

GIT = """\
diff --git a/old.py b/new.py
similarity index 90%
rename from old.py
rename to new.py
--- a/old.py
+++ b/new.py
@@ -1,4 +1,4 @@ def f():
 one
-two
+TWO
 three
 four
\\ No newline at end of file
diff --git a/added.py b/added.py
new file mode 100644
--- /dev/null
+++ b/added.py
@@ -0,0 +1,2 @@
+a
+b
diff --git a/gone.py b/gone.py
deleted file mode 100644
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
"""


def details(qualified: str, kind: str, start: int, end: int, path: str = "a.py") -> SymbolDetails:
    place = Place("r", path, PathClass.SOURCE, "python", start, end, start)
    return SymbolDetails(
        f"{abs(hash((qualified, kind))):016x}"[:16], qualified.rpartition(".")[2], qualified, kind, "", "", True, 0.0, place
    )


LINES = ["import os", "", "class A:", "    x = 1", "    def f(self):", "        self.y = 2", "        return 3", "", "print(A())"]
FILE = IndexedFile(
    "a.py",
    details("a.py", "module", 1, 9),
    LINES,
    [details("A", "class", 3, 7), details("A.x", "field", 4, 4), details("A.f", "method", 5, 7), details("A.y", "field", 6, 6)],
    frozenset({1}),
)


def changed(old: list[str], new: list[str], side: IndexedSide) -> dict[str, tuple[int, ...]]:
    text = "".join(line + "\n" for line in difflib.unified_diff(old, new, "a/a.py", "b/a.py", lineterm=""))
    (diff,) = parse_diff(text)
    return {change.symbol.qualified: change.lines for change in touched(diff, FILE, side)}


def test_git_diffs_are_understood() -> None:
    renamed, added, gone, picture = parse_diff(GIT)
    assert (renamed.base_path, renamed.head_path, renamed.status) == ("old.py", "new.py", "renamed")
    (block,) = renamed.blocks
    assert (block.base, block.head) == (((2, "two"),), ((2, "TWO"),))
    assert renamed.context == ((1, 1, "one"), (3, 3, "three"), (4, 4, "four"))
    assert (added.base_path, added.status, added.blocks[0].base_after) == (None, "added", 0)
    assert (gone.head_path, gone.shown_path, gone.status) == (None, "gone.py", "deleted")
    assert (picture.status, picture.blocks) == ("modified", ())


@pytest.mark.parametrize(
    ("header", "paths"),
    [
        ("--- src/a.py\t2024-01-01\n+++ src/a.py\t2024-01-02\n", ("src/a.py", "src/a.py")),
        ("--- i/a.py\n+++ w/a.py\n", ("a.py", "a.py")),
        ("--- a/a.py\n+++ a.py\n", ("a/a.py", "a.py")),
        ("--- ./src/a.py\n+++ ./src/a.py\n", ("src/a.py", "src/a.py")),
        (
            'diff --git "my caf\\303\\251.py" "my caf\\303\\251.py"\n--- "my caf\\303\\251.py"\n+++ "my caf\\303\\251.py"\n',
            ("my café.py",) * 2,
        ),
        ("diff --git a dir/my file.py a dir/my file.py\n--- a dir/my file.py\t\n+++ a dir/my file.py\t\n", ("a dir/my file.py",) * 2),
        ('--- "a/\\xZZ\\777"\n+++ "b/\\xZZ\\777"\n', ("\\xZZ\ufffd",) * 2),
        ('--- "a/caf\\303\\251 \\"x\\".py"\n+++ "b/caf\\303\\251 \\"x\\".py"\n', ('café "x".py', 'café "x".py')),
    ],
)
def test_paths_as_tools_write_them(header: str, paths: tuple[str, str]) -> None:
    (diff,) = parse_diff(header + "@@ -1 +1 @@\n-a\n+b\n")
    assert (diff.base_path, diff.head_path) == paths


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello", "no file header"),
        ("@@ -1 +1 @@\n-a\n+b\n", "no file header"),
        ("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n", "shorter than its header"),
        ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n-b\n+c\n", "longer than its header"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n c\n", "longer than its header"),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n[-c-]{+d+}\n", "line 6 is no line of a hunk"),
        ("--- a/x\n+++ b/x\n@@ what @@\n-a\n+b\n", "line 3 is no header of a hunk"),
        (f"--- a/x\n+++ b/x\n@@ -{'9' * 20} +1 @@\n-a\n+b\n", "line 3 is no header of a hunk"),
        ("diff --cc x\n--- a/x\n+++ b/x\n@@@ -1 -1 +1 @@@\n- a\n -b\n++c\n", "merge"),
        ("--- \n+++ \n@@ -1 +1 @@\n-a\n+b\n", "no name"),
        ("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+b\n", "no name"),
    ],
)
def test_what_is_no_diff_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        parse_diff(text)
    assert refused.value.field == "diff"
    assert reason in refused.value.message


@pytest.mark.parametrize(
    "dressed",
    [
        GIT.replace("\n", "\r\n"),
        "commit 1234\n\n    A message with @@ and --- in it\n\n" + GIT,
        "From: x\nSubject: y\n\n---\n new.py | 2 +-\n\n" + GIT + "-- \n2.39\n\n",
        "\n".join(f"\x1b[1m{line}\x1b[m" for line in GIT.split("\n")),
        GIT.removesuffix("\n"),
    ],
)
def test_a_diff_is_read_as_terminals_mails_and_other_systems_pass_it_on(dressed: str) -> None:
    assert parse_diff(dressed) == parse_diff(GIT)


def test_what_has_no_lines_is_told_by_the_header_alone() -> None:
    text = (
        "diff --git a/my logo.png b/my logo.png\nnew file mode 100644\nindex 0000000..1111111\n"
        "Binary files /dev/null and b/my logo.png differ\n"
        "diff --git a/empty b/empty\ndeleted file mode 100644\nindex e69de29..0000000\n"
        "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
        "diff --git a/old name.py b/new.py\nsimilarity index 100%\nrename from old name.py\nrename to new.py\n"
        "diff --git a/x.bin b/x.bin\nindex 1..2 100644\nGIT binary patch\nliteral 5\nMc$_OqELBc)\n\nliteral 3\nKcmb>O\n\n"
    )
    told = [(diff.base_path, diff.head_path, diff.blocks) for diff in parse_diff(text)]
    assert told == [
        (None, "my logo.png", ()),
        ("empty", None, ()),
        ("run", "run", ()),
        ("old name.py", "new.py", ()),
        ("x.bin", "x.bin", ()),
    ]


def test_a_copy_is_a_new_file() -> None:
    text = "diff --git a/a.py b/c.py\ncopy from a.py\ncopy to c.py\n--- a/a.py\n+++ b/c.py\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
    (diff,) = parse_diff(text)
    assert (diff.base_path, diff.head_path, diff.status) == (None, "c.py", "added")
    assert [(block.base, block.head) for block in diff.blocks] == [((), ((2, "TWO"),))]


def test_lines_that_look_like_headers_belong_to_their_hunk() -> None:
    (diff,) = parse_diff("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- old\n-+++ new\n+++ old\n+@@ -1 +1 @@\n")
    (block,) = diff.blocks
    assert (block.base, block.head) == (((1, "-- old"), (2, "+++ new")), ((1, "++ old"), (2, "@@ -1 +1 @@")))


def test_lines_beyond_the_end_touch_nothing() -> None:
    (diff,) = parse_diff("--- a/a.py\n+++ b/a.py\n@@ -500 +500 @@\n-x\n+y\n")
    assert touched(diff, FILE, IndexedSide.BASE) == []


def test_an_empty_diff_is_a_diff() -> None:
    assert parse_diff("") == parse_diff("\n") == []


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12), st.integers(0, 3))
def test_both_sides_can_be_read_back(old: list[str], new: list[str], context: int) -> None:
    """Every line that a diff tells is where it says, on both sides; a block without lines stands between the right ones."""
    text = "".join(line + "\n" for line in difflib.unified_diff(old, new, "a/f", "b/f", n=context, lineterm=""))
    for diff in parse_diff(text):
        for side, lines in ((IndexedSide.BASE, old), (IndexedSide.HEAD, new)):
            file = replace(FILE, path="f", lines=lines)
            assert agreement([diff], {"f": file}, side) == 1.0
        rebuilt, at = [], 0
        for block in diff.blocks:
            start = block.base[0][0] - 1 if block.base else block.base_after
            rebuilt += old[at:start] + [line for _, line in block.head]
            at = start + len(block.base)
            assert block.head_after + len(block.head) == len(rebuilt)
        assert rebuilt + old[at:] == new


@pytest.mark.parametrize("side", IndexedSide)
@pytest.mark.parametrize(
    ("line", "text", "symbols"),
    [
        (7, "        return 4", {"A.f"}),
        (4, "    x = 9", {"A.x"}),
        (6, "        self.y = 9", {"A.f", "A.y"}),
        (3, "class A(B):", {"A"}),
        (9, "print(1)", {"a.py"}),
        (1, "import sys", set()),
    ],
)
def test_a_changed_line_touches_the_innermost_definition(side: IndexedSide, line: int, text: str, symbols: set[str]) -> None:
    other = [*LINES[: line - 1], text, *LINES[line:]]
    old, new = (LINES, other) if side is IndexedSide.BASE else (other, LINES)
    assert changed(old, new, side).keys() == symbols


def test_an_insertion_touches_what_it_is_in_the_middle_of() -> None:
    assert changed(LINES, [*LINES[:6], "        new()", *LINES[6:]], IndexedSide.BASE) == {"A.f": (6,)}
    assert changed(LINES, [*LINES, "", "def added():", "    pass"], IndexedSide.BASE) == {}
    assert changed([*LINES[:6], "        old()", *LINES[6:]], LINES, IndexedSide.HEAD) == {"A.f": (6,)}


@given(st.data())
def test_the_innermost_definition_is_the_shortest_around_a_line(data: st.DataObject) -> None:
    """On nested spans drawn by chance, beside a search through all of them."""
    spans: list[tuple[int, int]] = []

    def nest(start: int, end: int) -> None:
        while start <= end and data.draw(st.booleans()):
            first = data.draw(st.integers(start, end))
            last = data.draw(st.integers(first, end))
            spans.append((first, last))
            nest(first, last)
            start = last + 1

    nest(1, 12)
    symbols = [details(f"s{number}", "function", first, last) for number, (first, last) in enumerate(spans)]
    file = replace(FILE, symbols=symbols, lines=[f"line {number}" for number in range(1, 13)], import_lines=frozenset())
    line = data.draw(st.integers(1, 12))
    (diff,) = parse_diff(f"--- a/a.py\n+++ b/a.py\n@@ -{line} +{line} @@\n-line {line}\n+changed\n")
    around = [number for number, (first, last) in enumerate(spans) if first <= line <= last]
    expected = f"s{max(around, key=lambda n: (spans[n][0] - spans[n][1], n))}" if around else "a.py"
    assert [change.symbol.qualified for change in touched(diff, file, IndexedSide.BASE)] == [expected]


def test_a_rename_touches_the_module() -> None:
    (diff,) = parse_diff("diff --git a/a.py b/b.py\nsimilarity index 100%\nrename from a.py\nrename to b.py\n")
    assert [change.symbol.qualified for change in touched(diff, FILE, IndexedSide.BASE)] == ["a.py"]


def test_the_side_that_is_indexed_agrees_with_its_lines() -> None:
    def agreements(file: IndexedFile, diffs: list[FileDiff]) -> list[float]:
        return [agreement(diffs, {"a.py": file}, side) for side in IndexedSide]

    new = [*LINES[:6], "        return 4", *LINES[7:]]
    text = "".join(line + "\n" for line in difflib.unified_diff(LINES, new, "a/a.py", "b/a.py", n=0, lineterm=""))
    diffs = list(parse_diff(text))
    assert agreements(FILE, diffs) == [1.0, 0.0]
    assert agreements(replace(FILE, lines=new), diffs) == [0.0, 1.0]
    assert agreements(replace(FILE, lines=["other"]), diffs) == [0.0, 0.0]
