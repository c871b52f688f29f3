"""Exact search against ripgrep, and against RE2 on every line of every file: the same lines, no more and no fewer."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import re2

from app.domain.errors import InvalidRequest, QueryNotServable
from app.domain.query import Dedupe, Filters, Intent, Modality, Strategy
from app.domain.ranking import SearchAnswer
from app.retrievers import literal as exact
from app.retrievers.required import literal_condition, pattern_condition
from app.retrievers.trigrams import has_trigram, to_sql
from tests.integration.conftest import Bench, write_tree

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
QUERIES = 170
SEED = 20_260_101

# What the project's own source has too little of.
ODD_FILES = {
    "odd/scripts.txt": "购物车 cart\n車\nпривет мир\nПРИВЕТ\nΣίσυφος ΣΊΣΥΦΟΣ σας\nGrænseværdi\nGRÆNSEVÆRDI\nnaïve\n한국어 텍스트\ncafé\n",
    "odd/emoji.txt": "🛒 basket\nno\n👩‍💻 zero width joiner\n✓ done\n",
    "odd/quotes.txt": 'say "yes" and \'no\' and `maybe`\n"""\n\'\'\n\\"\n',
    "odd/backslashes.txt": "C:\\temp\\new\n\\\\server\\share\n\\d+\\.\\w*\n\\\n",
    "odd/wildcards.txt": "100% of _all_ %s %d %%\n__init__\na_b axb a%b\n[a-z]* (x|y)? {1,2} ^$ .\n",
    "odd/tabs.txt": "\tone\n\t\ttwo\tthree\n \t mixed\t\n",
    "odd/blank.txt": "\n\n  \n\nlast",
    "odd/empty.txt": "",
    "odd/one.txt": "x",
    "odd/long.txt": "a" * 6_000 + " needle_in_hay " + "b" * 6_000 + "\nshort\n",
    "odd/case.txt": "ECONNREFUSED\neconnrefused\nEConnRefused\n\u212aelvin Kelvin\nſtraße STRASSE\n5 µs 5 μs\n",
}


LITERALS = [
    *("购物车", "车", "車", "привет", "🛒", "👩‍💻", "ï", "한국", "==", "=> ", "%s", "_", "\\", '"""', "\t", "\t\t", "  ", "x", "ab"),
    *("ECONNREFUSED", "C:\\temp", "100%", "__init__", "a_b", "[a-z]*", "needle_in_hay", "'", "naïve"),
]
PATTERNS = [
    *(
        r"^$",
        r"^\s*$",
        r"\s$",
        r"x*",
        r"\t+",
        r"\p{Han}+",
        r"[^\x00-\x7f]",
        r"(?i)ПРИВЕТ",
        r"(?i)σας",
        r"(?i)kelvin",
        r"(?i)græn",
        r"(?i)straße",
        r"(?i)ΣΑΣ",
        r"(?i)\d ΜS",
    ),
    *(r"class \w+Error\(", r"raise \w+\(", r"\\d", r"\Q(x|y)?\E", r"a{3,}", r"(foo|)bar?", r"\d{2,4}", r"(?i:econn)REFUSED"),
]


@dataclass(frozen=True)
class Query:
    text: str
    regex: bool = False


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's own source, and files with what it lacks."""
    root = tmp_path_factory.mktemp("corpus") / "tree"
    for folder in ("app/domain", "app/retrievers", "app/search", "tests/integration"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__", "data", "*.pyc"))
    return write_tree(root, ODD_FILES)


def texts_of(root: Path) -> dict[str, str]:
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_file() and b"\0" not in (data := path.read_bytes()):
            found[path.relative_to(root).as_posix()] = data.decode()
    return found


def matching_lines(texts: Mapping[str, str], query: Query) -> set[tuple[str, int]]:
    """The plain definition: every line by itself."""
    pattern = re2.compile(query.text) if query.regex else None
    return {
        (path, number)
        for path, text in texts.items()
        for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1)
        if (pattern.search(line) if pattern else query.text in line)
    }


def ripgrep(root: Path, query: Query) -> set[tuple[str, int]] | None:
    """What ripgrep prints; None when it is not installed, or does not know the syntax."""
    program = shutil.which("rg")
    if program is None or (query.regex and r"\Q" in query.text):
        return None
    options = ["-n", "--hidden", "--no-ignore", "-g", "!.git", "--no-heading", "--null", "--color", "never"]
    command = [program, *options, *([] if query.regex else ["-F"]), "--", query.text]
    result = subprocess.run(command, cwd=root, capture_output=True, check=False)
    assert result.returncode in (0, 1), result.stderr
    lines = (line.partition(b"\0") for line in result.stdout.split(b"\n") if b"\0" in line)
    return {(path.decode().removeprefix("./"), int(rest.partition(b":")[0])) for path, _, rest in lines}


def escaped(text: str) -> str:
    """As both dialects read it."""
    return re.sub(r"([\\.^$*+?()\[\]{}|])", r"\\\1", text)


def drawn(texts: Mapping[str, str], count: int) -> list[Query]:
    """Queries of every kind, drawn from the texts."""
    draw = random.Random(SEED)
    lines = [line for text in texts.values() for line in text.split("\n") if line.strip()]
    odd = [line for path, text in texts.items() if path.startswith("odd/") for line in text.split("\n") if line.strip()]
    names = [name for line in draw.sample(lines, 2_000) for name in re.findall(r"[A-Za-z_]\w{2,}", line)]

    def piece(line: str, most: int) -> str:
        start = draw.randrange(len(line))
        return line[start : start + draw.randint(1, most)]

    def around(mark: str) -> str:
        line = draw.choice([line for line in (*draw.sample(lines, 3_000), *odd) if mark in line])
        at = line.index(mark)
        return line[max(0, at - draw.randrange(6)) : at + draw.randint(1, 8)]

    kinds = [
        lambda: Query(draw.choice(names)),
        lambda: Query(piece(draw.choice(lines), 30)),
        lambda: Query(piece(draw.choice(lines), 1)),
        lambda: Query(piece(draw.choice(lines), 2)),
        lambda: Query(piece(draw.choice(odd), 4)),
        lambda: Query(around(draw.choice(['"', "'", "\\", "%", "_", "\t", "(", "`"]))),
        lambda: Query("^" + escaped(draw.choice(lines)[: draw.randint(1, 16)]), regex=True),
        lambda: Query(escaped(draw.choice(lines)[-draw.randint(1, 16) :]) + "$", regex=True),
        lambda: Query(rf"\b{draw.choice(names)}\b", regex=True),
        lambda: Query("|".join(draw.sample(names, draw.randint(2, 4))), regex=True),
        lambda: Query(f"(?i){draw.choice(names)}", regex=True),
        lambda: Query(
            draw.choice([r"def {}\(", r"\.{}\b", r"[A-Z][a-z]+{}", r"{}\s*=", r"^ +{}", r"(?:self|cls)\.{}", r"{}.*{}"]).replace(
                "{}", draw.choice(names)
            ),
            regex=True,
        ),
    ]
    fixed = [*map(Query, LITERALS), *(Query(pattern, regex=True) for pattern in PATTERNS)]
    return [*fixed, *(query for _ in range(count) if (query := draw.choice(kinds)()).text.strip("\n "))]


async def every_answer(bench: Bench, query: Query, **request: object) -> list[SearchAnswer]:
    fields = {"literal": not query.regex, "filters": Filters(regex=query.regex), "dedupe": Dedupe.NONE, "limit": 100, "timeout_ms": 10_000}
    answers = [await bench.search(query.text, **(fields | request))]
    while answers[-1].next_cursor:
        answers.append(await bench.search(query.text, cursor=answers[-1].next_cursor, **(fields | request)))
    return answers


def highlighted(answers: list[SearchAnswer]) -> Iterator[tuple[str, int]]:
    return ((result.path, mark.line) for answer in answers for result in answer.results for mark in result.highlights)


async def test_the_lines_are_those_of_ripgrep(bench: Bench, tree: Path) -> None:
    await bench.index(tree, "tree")
    texts = texts_of(tree)
    queries = drawn(texts, QUERIES)
    assert len(queries) >= 200
    for query in queries:
        expected = matching_lines(texts, query)
        answers = await every_answer(bench, query)
        found = list(highlighted(answers))
        assert set(found) == expected, (query, set(found) ^ expected)
        # No chunk twice, and what is counted is what is listed.
        shown = [(result.path, result.start_line) for answer in answers for result in answer.results]
        assert len(shown) == len(set(shown)), query
        last = answers[-1].total
        assert (last.results, last.lines, last.exact) == (len(shown), len(expected), True), query
        assert all(
            a.total.lines is not None and (a.total.lines == len(expected) if a.total.exact else a.total.lines <= len(expected))
            for a in answers
        )
        by_ripgrep = ripgrep(tree, query)
        assert by_ripgrep in (None, expected), (query, by_ripgrep and by_ripgrep ^ expected)


async def test_the_trigrams_that_are_counted_on_exist(bench: Bench, tree: Path) -> None:
    """Where ``has_trigram`` says so, the index must not hand over every row, as it does for a pattern without any."""
    await bench.index(write_tree(tree.parent / "many", {f"{n}.txt": f"zqxj {n}\n" for n in range(50)}), "many")
    texts = [
        *(query.text for query in drawn(texts_of(tree), 60) if not query.regex),
        "(a",
        "a(",
        "ab(",
        "a b",
        "_a",
        "a_",
        "中文(",
        "中文",
        "é(",
        "🛒ab",
        " x",
    ]
    async with bench.backend.pool.connection() as connection:
        await connection.execute("SET enable_seqscan = off; SET enable_indexscan = off")
        try:
            for text in texts:
                condition, values = to_sql(literal_condition(text, any_case=False), "k.text", 1)
                plan = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT 1 FROM chunk k WHERE {condition}", *values)
                scan = next(row[0] for row in plan if "Bitmap Index Scan" in row[0])
                rows = int(float(re.search(r"actual rows=([\d.]+)", scan)[1]))  # type: ignore[index]
                if has_trigram(text):
                    assert rows < 50, (text, [row[0] for row in plan])
        finally:
            await connection.execute("RESET ALL")


async def test_letters_of_every_script_are_parts_of_trigrams(bench: Bench) -> None:
    letters = [chr(code) for code in range(0x80, 0x10000) if chr(code).isalpha() and has_trigram(chr(code) * 3)]
    assert len(letters) > 40_000
    async with bench.backend.pool.connection() as connection:
        without = await connection.fetch("SELECT l FROM unnest($1::text[]) l WHERE cardinality(show_trgm(repeat(l, 3))) = 0", letters)
    assert not without, [row["l"] for row in without]


async def test_the_index_answers_literals_and_alternatives(bench: Bench, tree: Path) -> None:
    await bench.index(tree, "tree")
    async with bench.backend.pool.connection() as connection:
        await connection.execute("ANALYZE chunk")
        for pattern in (r"parse_config", r"class \w+Error\(", r"get_or_create|parse_config|購物車", r"(?i)econnrefused", r"100% of"):
            condition, values = to_sql(pattern_condition(pattern, any_case=False), "k.text", 1)
            await connection.execute("SET enable_seqscan = off")
            plan = await connection.fetch(f"EXPLAIN SELECT 1 FROM chunk k WHERE {condition}", *values)
            await connection.execute("RESET enable_seqscan")
            assert any("chunk_text_trigrams" in row[0] for row in plan), (pattern, [row[0] for row in plan])


async def test_more_than_can_be_ranked_is_listed_in_path_order(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MOST_RANKED", 20)
    monkeypatch.setattr(exact, "CHUNKS_IN_A_PART", 15)
    for name, count in (("first", 35), ("second", 18)):
        files = {f"d{n % 4}/f{n:02}.txt": "\n".join(f"line {i} of needle {n}" for i in range(90)) + "\n" for n in range(count)}
        await bench.index(write_tree(tmp_path / name, files | {"z.txt": "none\n"}), name)
    for query in (Query("needle"), Query(r"needle \d+$", regex=True), Query("e")):
        for limit in (7, 100):
            answers = await every_answer(bench, query, limit=limit)
            lines = [(r.repository, r.path, mark.line) for answer in answers for r in answer.results for mark in r.highlights]
            expected = (35 + 18) * 90 + (2 if query.text == "e" else 0)
            assert len({*lines}) == expected
            assert "path_order" in {warning.code for answer in answers for warning in answer.warnings}
            assert (answers[-1].total.lines, answers[-1].total.exact) == (expected, True)
            assert not answers[0].total.exact
            totals = [answer.total.results for answer in answers]
            assert totals == sorted(totals)
            assert totals[-1] == sum(len(answer.results) for answer in answers)


async def test_a_search_that_runs_out_of_time_goes_on_where_it_stopped(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "MOST_RANKED", 5)
    await bench.index(write_tree(tmp_path / "t", {f"f{n:03}.txt": "needle\n" for n in range(60)}), "t")
    monkeypatch.setattr("app.retrievers.wanted.Clock.is_late", lambda clock, share=0.7: True)
    answers = await every_answer(bench, Query("needle"))
    assert len(answers) <= 61
    assert set(highlighted(answers)) == {(f"f{n:03}.txt", 1) for n in range(60)}


async def test_too_many_for_a_ranking_is_a_lower_bound_with_the_definition_on_top(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact, "MOST_CHUNKS", 10)
    files = {f"a{n:02}.py": f"from z import needle\n\n\nprint(needle({n}))\n" for n in range(40)}
    await bench.index(write_tree(tmp_path / "t", files | {"z.py": "def needle(x):\n    return x\n"}), "t")
    answer = await bench.search("needle", literal=True)
    assert answer.results[0].path == "z.py"
    assert not answer.total.exact
    assert 10 <= answer.total.results < 41
    assert "too_many_matches" in {warning.code for warning in answer.warnings}
    pattern = await bench.search(r"need.*\(3\d\)", filters=Filters(regex=True))
    assert {result.path for result in pattern.results} == {f"a{n}.py" for n in range(30, 40)}
    assert pattern.total.lines == 10


async def test_a_common_literal_is_sampled_all_over_a_large_scope(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LARGE_SCOPE": 150, "PROBED": 50, "SAMPLE_MATCHES": 20, "LONGEST_WAIT": 30.0}.items():
        monkeypatch.setattr(exact, name, value)
    files = {f"{part}/a{n:02}.py": f"print(needle({n}), other_{n})\n" for part in "abcd" for n in range(40)}
    await bench.index(write_tree(tmp_path / "t", files | {"z.py": "def needle(x):\n    return x\n"}), "t")
    answer = await bench.search("needle", literal=True, limit=50)
    assert answer.results[0].path == "z.py"
    assert {result.path[0] for result in answer.results} == set("abcdz")
    assert not answer.total.exact
    assert 15 <= answer.total.results <= 30
    assert "too_many_matches" in {warning.code for warning in answer.warnings}
    again = await bench.search("needle", literal=True, limit=50)
    assert [result.path for result in again.results] == [result.path for result in answer.results]
    filtered = await bench.search("needle", literal=True, filters=Filters(paths=("b/**",)), limit=50)
    assert {result.path[0] for result in filtered.results} == {"b"}
    rare = await bench.search("other_7)", literal=True)
    assert {result.path for result in rare.results} == {f"{part}/a07.py" for part in "abcd"}
    assert rare.total.exact
    every = await every_answer(bench, Query("needle"))
    assert len(set(highlighted(every))) == 161


async def test_the_list_of_a_large_scope_is_not_waited_for(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LARGE_SCOPE": 30, "PROBED": 20, "SAMPLE_MATCHES": 5}.items():
        monkeypatch.setattr(exact, name, value)
    monkeypatch.setattr(exact, "LONGEST_WAIT", 0.0)
    await bench.index(write_tree(tmp_path / "t", {f"a{n:02}.py": f"print(needle({n}))\n" for n in range(40)}), "t")
    answer = await bench.search("needle", literal=True)
    assert answer.total.results == 40
    assert answer.total.exact
    assert not answer.routing.degraded


async def test_literals_rank_whole_words_and_definitions_first(bench: Bench, tmp_path: Path) -> None:
    files = {
        "a.py": "prefix_needle = 1\n",
        "b.py": "from c import needle\n\nx = needle\n",
        "c.py": "def needle():\n    return 1\n",
        "tests/test_c.py": "def needle():\n    pass\n",
    }
    await bench.index(write_tree(tmp_path / "t", files), "t")
    answer = await bench.search("needle", literal=True)
    assert [result.path for result in answer.results] == ["c.py", "b.py", "a.py", "tests/test_c.py"]
    assert (answer.total.results, answer.total.lines, answer.total.exact) == (4, 5, True)
    assert [(e.relation, e.line) for e in answer.results[0].evidence] == [("literal", 1)]
    word = await bench.search("needle", literal=True, filters=Filters(word=True))
    assert "a.py" not in {result.path for result in word.results}


async def test_case_is_as_given_and_a_question_may_be_wrong_about_it(bench: Bench, tmp_path: Path) -> None:
    files = {"upper.txt": "ECONNREFUSED\n", "lower.txt": "econnreset econnrefused\n", "other.txt": "EConnReset\n", "k.txt": "\u212aelvin\n"}
    await bench.index(write_tree(tmp_path / "t", files), "t")

    async def found(text: str, **fields: object) -> tuple[set[str], set[str]]:
        answer = await bench.search(text, **fields)
        return {result.path for result in answer.results}, {warning.code for warning in answer.warnings}

    assert await found("ECONNREFUSED", literal=True) == ({"upper.txt"}, set())
    assert await found("Econnrefused", literal=True) == (set(), set())
    assert await found("Econnrefused", literal=True, filters=Filters(case=False)) == ({"upper.txt", "lower.txt"}, set())
    assert await found("econnreFUSED", filters=Filters(regex=True, case=False)) == ({"upper.txt", "lower.txt"}, set())
    assert await found("KELVIN", literal=True, filters=Filters(case=False)) == ({"k.txt"}, set())
    assert await found('"ECONNREFUSED"') == ({"upper.txt"}, set())
    assert await found('"ECONNRESET"') == ({"lower.txt", "other.txt"}, {"other_case"})
    assert (await found('"ECONNRESET"', filters=Filters(case=True)))[1] != {"other_case"}


async def test_a_literal_of_several_lines_is_found_across_chunks(bench: Bench, tmp_path: Path) -> None:
    lines = [f"line number {n}" for n in range(1, 201)]
    await bench.index(write_tree(tmp_path / "t", {"a.txt": "\n".join(lines) + "\n", "b.txt": "line number 7\nline number 9\n"}), "t")
    for first in range(1, 197):
        wanted = "number " + "\n".join(lines[first - 1 : first + 3]).removeprefix("line number ")
        answers = await every_answer(bench, Query(wanted))
        assert set(highlighted(answers)) == {("a.txt", first + n) for n in range(4)}, wanted
    (answer,) = await every_answer(bench, Query("number 200\n"))
    assert set(highlighted([answer])) == {("a.txt", 200)}
    (absent,) = await every_answer(bench, Query("line number 7\nline number 8\n\n"))
    assert absent.results == ()


async def test_line_ends_of_every_kind_end_lines(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "crlf.txt").write_bytes(b"one end\r\ntwo end\r\n")
    (tmp_path / "t" / "bom.txt").write_bytes(b"\xef\xbb\xbfone end\nlast end")
    await bench.index(tmp_path / "t", "t")
    (answer,) = await every_answer(bench, Query("^(one|two|last) end$", regex=True))
    assert set(highlighted([answer])) == {("crlf.txt", 1), ("crlf.txt", 2), ("bom.txt", 1), ("bom.txt", 2)}


async def test_exact_search_asks_the_text_alone(bench: Bench, tmp_path: Path) -> None:
    await bench.index(write_tree(tmp_path / "t", {"a.py": "def parse_config():\n    pass\n"}), "t")
    for fields in ({"literal": True}, {"filters": Filters(regex=True)}):
        answer = await bench.search("parse_confi[g]", **fields)
        assert answer.routing.strategy is Strategy.DIRECT
        assert [run.modality for run in answer.routing.modalities] == [Modality.TEXT]
        assert answer.routing.classification.intent is Intent.EXACT_MATCH
        assert answer.routing.fallback_from is None
        assert answer.filters.case is True
    absent = await bench.search("parse_confi[g]", literal=True)
    assert (absent.results, absent.total.exact) == ((), True)
    assert absent.absence is not None
    assert absent.absence["proven"] is True


async def test_what_no_trigram_can_be_taken_from_needs_a_bounded_scope(bench: Bench, tmp_path: Path) -> None:
    files = {f"d/f{n}.py": f"print(q({n}))\n" for n in range(6)} | {"x/g.py": "def q():\n    pass\n", "x/h.py": "# == 🛒\n"}
    await bench.index(write_tree(tmp_path / "t", files), "t")
    text = bench.service.search._search._retrievers[Modality.TEXT]
    assert "unindexed_scan" in {warning.code for warning in (await bench.search("==", literal=True)).warnings}
    text._unindexed_scan_chunks = 3  # type: ignore[attr-defined]
    for query in (Query("=="), Query("🛒"), Query("x*", regex=True), Query("[a-z] =", regex=True)):
        with pytest.raises(QueryNotServable) as caught:
            await bench.search(query.text, literal=not query.regex, filters=Filters(regex=query.regex))
        assert caught.value.field == "query"
    narrowed = await bench.search("==", literal=True, filters=Filters(paths=("x/**",)))
    assert [result.path for result in narrowed.results] == ["x/h.py"]
    defined = await bench.search("q", literal=True)
    assert [result.path for result in defined.results][:1] == ["x/g.py"]
    assert not defined.total.exact
    assert {warning.code for warning in defined.warnings} == {"definitions_only"}


async def test_filters_narrow_exact_search(bench: Bench, tree: Path) -> None:
    await bench.index(tree, "tree")
    texts = {path: text for path, text in texts_of(tree).items() if path.startswith("app/search/")}
    for query in (Query("class"), Query(r"def \w+\(", regex=True), Query("Σ")):
        answers = await every_answer(bench, query, filters=Filters(paths=("app/search/**",), regex=query.regex))
        assert set(highlighted(answers)) == matching_lines(texts, query)


@pytest.mark.parametrize("pattern", ["([", "(?<=a)b", r"\1", "a{1001}", "x\\", r"foo\nbar", r"a\C"])
async def test_what_is_no_pattern_is_refused_with_the_reason(bench: Bench, tmp_path: Path, pattern: str) -> None:
    await bench.index(write_tree(tmp_path / "t", {"a.txt": "text\n"}), "t")
    with pytest.raises(InvalidRequest) as caught:
        await bench.search(pattern, filters=Filters(regex=True))
    assert caught.value.field == "query"


async def test_a_hostile_pattern_holds_nothing_beyond_its_deadline(bench: Bench, tmp_path: Path) -> None:
    """The answer comes in time, and says so when it is not whole; how far it gets depends on the machine."""
    files = {f"f{n}.txt": ("".join(random.Random(n).choices("abcdefgh xyz", k=1_400)) + "\n") * 20 for n in range(20)}
    await bench.index(write_tree(tmp_path / "t", files), "t")
    answer = await bench.search(r"([ab].{12}c|.{20}a.{30}b){20}\d", filters=Filters(regex=True), timeout_ms=300)
    assert answer.took_ms < 2_500
    assert answer.results == ()
    assert answer.absence is not None
    assert answer.absence["proven"] is answer.total.exact
    assert (await bench.search("abc", literal=True, limit=1)).results
