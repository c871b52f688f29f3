"""Real processes, really lost: files that hang, crash or eat memory cost themselves their symbols and nobody else anything."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import importlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.config import IndexSettings
from app.domain.analysis import FileAnalysis, SkippedFile, SourceFile
from app.domain.code import Outcome, PathClass
from app.domain.index import RepositorySource, SkipReason
from app.indexing.analyse import Result, Unchanged
from app.indexing.discover import discover
from app.indexing.parse import ParsePool, ParserStopped, ParserUnavailable, extractor_version

HOSTILE = """
import ctypes, os, re, signal, time
from app.domain.code import Extraction, Symbol, SymbolKind

def extract(spec, text):
    if "HANG_IN_C" in text:
        re.match("(a+)+$", "a" * 64 + "b")
    if "HANG_IN_PYTHON" in text:
        while True:
            pass
    if "KILLED" in text:
        os.kill(os.getpid(), signal.SIGKILL)
    if "SEGFAULT" in text:
        ctypes.string_at(0)
    if "ABORT" in text:
        os.abort()
    if "LEAVE" in text:
        os._exit(0)
    if "MEMORY" in text:
        kept = [bytearray(50_000_000) for _ in range(1_000)]
    if "RAISE" in text:
        raise RecursionError("too deep")
    if "ONCE" in text:
        flag = text.split("ONCE ")[1].strip()
        if not os.path.exists(flag):
            open(flag, "w").close()
            os.abort()
    if "SLEEP" in text:
        time.sleep(1_000)
    return Extraction(symbols=(Symbol("f", "f", SymbolKind.FUNCTION, 1, 1, 1, 0, "", "", True, None),))

def unimportable_here(spec, text):
    return Extraction()
"""

SETTINGS = IndexSettings(parse_seconds=0.5, parse_processes=2, parse_memory_bytes=300_000_000)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    folder = tmp_path / "importable"
    folder.mkdir()
    (folder / "hostile_extractor.py").write_text(HOSTILE)
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("hostile_extractor")
    sys.modules.pop("hostile_extractor")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    return root


def run(pool: ParsePool, files: Sequence[SourceFile], known: Mapping[str, frozenset[bytes]] | None = None) -> list[Result]:
    async def collect() -> list[Result]:
        return [result async for result in pool.analyse_all(files, known or {})]

    return asyncio.run(collect())


def write(root: Path, contents: Mapping[str, bytes | str]) -> tuple[SourceFile, ...]:
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content if isinstance(content, bytes) else content.encode())
    return discover(RepositorySource(str(root)), 1_000_000_000).files


def by_path(results: Iterable[Result]) -> dict[str, FileAnalysis]:
    return {result.path: result for result in results if isinstance(result, FileAnalysis)}


def reasons(results: Iterable[Result]) -> dict[str, SkipReason]:
    return {result.path: result.reason for result in results if isinstance(result, SkippedFile)}


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return condition()


def parsers(parent: int) -> list[psutil.Process]:
    """The descendants that are niced: parser processes, but not the fork server."""
    return [child for child in psutil.Process(parent).children(recursive=True) if child.nice() >= 10]


FATAL = {
    "hang_c.py": ("HANG_IN_C", SkipReason.PARSE_TIMEOUT),
    "hang_python.py": ("HANG_IN_PYTHON", SkipReason.PARSE_TIMEOUT),
    "killed.py": ("KILLED", SkipReason.PARSE_CRASH),
    "segfault.py": ("SEGFAULT", SkipReason.PARSE_CRASH),
    "abort.py": ("ABORT", SkipReason.PARSE_CRASH),
    "leave.py": ("LEAVE", SkipReason.PARSE_CRASH),
    "memory.py": ("MEMORY", SkipReason.PARSE_CRASH),
    "raise.py": ("RAISE", SkipReason.PARSE_ERROR),
}


def test_a_file_that_kills_its_parser_stays_searchable_as_text_and_harms_no_other(tree: Path, hostile: Any) -> None:
    contents = {f"good{number:03}.py": f"def f(): return {number}\n" for number in range(100)}
    files = write(tree, contents | {path: f"x = '{text}'\n" for path, (text, _) in FATAL.items()})
    with ParsePool(SETTINGS, hostile.extract) as pool:
        results = run(pool, files)
    assert [result.path for result in results] == [file.path for file in files], "one result per file, in order"
    analyses = by_path(results)
    for path, (text, reason) in FATAL.items():
        assert (path, analyses[path].outcome, analyses[path].reason) == (path, Outcome.TEXT_ONLY, reason)
        assert text in analyses[path].chunks[0].text
        assert analyses[path].counts.terms
        assert analyses[path].language == "python"
    for path in contents:
        assert (analyses[path].outcome, analyses[path].reason) == (Outcome.INDEXED, None)
        assert [symbol.name for symbol in analyses[path].extraction.symbols] == ["f"]


def test_a_crash_that_does_not_repeat_costs_nothing(tree: Path, hostile: Any, tmp_path: Path) -> None:
    files = write(tree, {"a.py": f"ONCE {tmp_path / 'flag'}", "b.py": "x"})
    with ParsePool(SETTINGS, hostile.extract) as pool:
        assert [analysis.outcome for analysis in by_path(run(pool, files)).values()] == [Outcome.INDEXED, Outcome.INDEXED]


def test_a_process_that_died_idle_is_replaced(tree: Path, hostile: Any) -> None:
    files = write(tree, {f"{number}.py": "x" for number in range(4)})
    with ParsePool(SETTINGS, hostile.extract) as pool:
        run(pool, files)
        for process in parsers(os.getpid()):
            process.kill()
            process.wait(10)
        assert all(analysis.outcome is Outcome.INDEXED for analysis in by_path(run(pool, files)).values())


def test_a_pool_that_rests_has_no_processes_until_there_is_work(tree: Path, hostile: Any) -> None:
    files = write(tree, {f"{number}.py": "x" for number in range(4)})
    with ParsePool(SETTINGS, hostile.extract) as pool:
        run(pool, files)
        before = {process.pid for process in parsers(os.getpid())}
        pool.rest()
        assert before
        assert not parsers(os.getpid())
        assert all(analysis.outcome is Outcome.INDEXED for analysis in by_path(run(pool, files)).values())


def test_an_extractor_that_cannot_be_imported_stops_the_run(tree: Path, hostile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tree, {"a.py": "x"})
    monkeypatch.setattr(sys, "path", sys.path[1:])
    with ParsePool(SETTINGS, hostile.unimportable_here) as pool, pytest.raises(ParserUnavailable):
        run(pool, files)


def test_parsers_are_bounded_niced_and_gone_after_closing(tree: Path, hostile: Any) -> None:
    files = write(tree, {f"{number}.py": "x" for number in range(200)})
    with ParsePool(SETTINGS, hostile.extract) as pool:
        run(pool, files)
        running = parsers(os.getpid())
        assert 1 <= len(running) <= 2
        assert all(process.nice() >= 10 for process in running)
    assert wait_until(lambda: not parsers(os.getpid()))


def test_closing_the_pool_ends_a_run_that_hangs(tree: Path, hostile: Any) -> None:
    files = write(tree, {"a.py": "SLEEP"})

    async def close_meanwhile() -> None:
        pool = ParsePool(SETTINGS, hostile.extract)
        waiting = asyncio.ensure_future(anext(pool.analyse_all(files, {})))
        assert await asyncio.to_thread(wait_until, lambda: bool(parsers(os.getpid())))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(pool.close)
        with pytest.raises(ParserStopped):
            await waiting

    asyncio.run(close_meanwhile())
    assert not parsers(os.getpid())


def test_a_consumer_that_leaves_early_leaves_a_usable_pool(tree: Path, hostile: Any) -> None:
    files = write(tree, {f"{number:03}.py": "x" for number in range(300)})

    async def first() -> Result:
        results = pool.analyse_all(files, {})
        try:
            return await anext(results)
        finally:
            await results.aclose()  # type: ignore[attr-defined]

    with ParsePool(SETTINGS, hostile.extract) as pool:
        assert asyncio.run(first()).path == "000.py"
        assert len(run(pool, files)) == 300


def test_reading_ahead_is_bounded(tree: Path, hostile: Any) -> None:
    files = write(tree, {f"{number:04}.py": "x" for number in range(1_000)})
    taken: list[str] = []

    class Counted(list[SourceFile]):
        def __iter__(self) -> Iterator[SourceFile]:
            for file in super().__iter__():
                taken.append(file.path)
                yield file

    async def first_of_all() -> None:
        results = pool.analyse_all(Counted(files), {})
        await anext(results)
        await asyncio.sleep(0.5)
        assert len(taken) < 300
        await results.aclose()  # type: ignore[attr-defined]

    with ParsePool(SETTINGS, hostile.extract) as pool:
        asyncio.run(first_of_all())


PARENT = """
import asyncio, sys
from app.config import IndexSettings
from app.domain.index import RepositorySource
from app.indexing.discover import discover
from app.indexing.parse import ParsePool
import hostile_extractor

async def main():
    files = discover(RepositorySource(sys.argv[1]), 1_000_000).files
    with ParsePool(IndexSettings(parse_seconds=1_000, parse_processes=2), hostile_extractor.extract) as pool:
        async for result in pool.analyse_all(files, {}):
            pass

if __name__ == "__main__":
    asyncio.run(main())
"""


@pytest.mark.parametrize("work", ["HANG_IN_C", "SLEEP"])
def test_no_process_survives_the_kill_of_its_parent(tree: Path, hostile: Any, tmp_path: Path, work: str) -> None:
    write(tree, {f"{number:02}.py": work for number in range(64)})
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    paths = os.pathsep.join([str(Path(__file__).parents[2]), str(tmp_path / "importable")])
    family: list[psutil.Process] = []
    parent = subprocess.Popen([sys.executable, str(script), str(tree)], env=os.environ | {"PYTHONPATH": paths})
    try:
        assert wait_until(lambda: len(parsers(parent.pid)) == 2, 60)
        family = psutil.Process(parent.pid).children(recursive=True)
        parent.send_signal(signal.SIGKILL)
        parent.wait(10)
        assert wait_until(lambda: not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in family))
    finally:
        parent.kill()
        parent.wait(10)
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def test_unchanged_files_are_only_hashed(tree: Path, hostile: Any) -> None:
    files = write(tree, {"a.py": "KILLED", "b.py": "y"})
    known = {"a.py": frozenset({sha256(b"KILLED").digest(), b"older"}), "b.py": frozenset({sha256(b"x").digest()})}
    with ParsePool(SETTINGS, hostile.extract) as pool:
        unchanged, changed = run(pool, files, known)
    assert unchanged == Unchanged("a.py", sha256(b"KILLED").digest())
    assert isinstance(changed, FileAnalysis)
    assert changed.sha256 == sha256(b"y").digest()


def test_files_that_changed_their_nature_after_the_listing(tree: Path, hostile: Any, tmp_path: Path) -> None:
    files = write(tree, dict.fromkeys(["gone.py", "pipe.py", "link.py", "grown.py", "below/a.py"], "x"))
    (tree / "gone.py").unlink()
    (tree / "pipe.py").unlink()
    os.mkfifo(tree / "pipe.py")
    (tree / "link.py").unlink()
    (tree / "link.py").symlink_to("/etc/hostname")
    (tree / "grown.py").write_bytes(b"x" * 2_000)
    (tree / "below").rename(tmp_path / "outside")
    (tree / "below").symlink_to(tmp_path / "outside")
    with ParsePool(SETTINGS.model_copy(update={"max_file_bytes": 1_000}), hostile.extract) as pool:
        assert reasons(run(pool, files)) == {
            "gone.py": SkipReason.UNREADABLE,
            "pipe.py": SkipReason.SPECIAL_FILE,
            "link.py": SkipReason.SYMLINK,
            "grown.py": SkipReason.TOO_LARGE,
            "below/a.py": SkipReason.SYMLINK,
        }


def test_every_kind_of_file_through_the_real_extractor(tree: Path) -> None:
    python = "def größe():\n    '''日本語'''\n    return 1\n"
    files = write(
        tree,
        {
            "plain.py": "import os\n\n\nclass A:\n    def method(self):\n        return os.name\n",
            "utf16.py": codecs.BOM_UTF16_LE + python.encode("utf-16-le"),
            "sjis.py": "# 日本語のコメントです、こんにちは\ndef f():\n    pass\n".encode("shift_jis"),
            "gb.py": "# 这是一个中文注释，说明如何解析\ndef f():\n    pass\n".encode("gb18030"),
            "bom.py": codecs.BOM_UTF8 + b"def f():\n    pass\n",
            "crlf.py": b"x = 1\r\n\r\ndef f():\r\n    pass\r\n",
            "cr.py": b"x = 1\r\rdef f():\r    pass\r",
            "stray.py": b"def caf\xe9():\n    pass\n",
            "late_nul.py": b"x = 1\n" * 2_000 + b"# \0\ndef f():\n    pass\n",
            "empty.py": b"",
            "newline.py": b"\n",
            "no_final_newline.py": b"def f(): pass",
            "nul.bin": b"\0\1\2\3",
            "image.svg.png": b"\x89PNG\r\n\x1a\n1234",
            "pointer.psd": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
            "long.txt": b"word " * 1_000_000,
            "app.min.js": b"function f(a){return a};" * 100,
            "deep.py": b"(" * 100_000 + b")" * 100_000,
            "nested.js": b"[" * 100_000,
            "big.py": b"def f():\n    pass\n" * 60_000,
            "vendor/lib.py": "def f(): pass\n",
            "generated.py": "# Code generated by x. DO NOT EDIT.\ndef f(): pass\n",
            "README": "words\n",
        },
    )
    settings = IndexSettings(parse_processes=2, max_parse_bytes=1_000_000)
    with ParsePool(settings) as pool:
        results = run(pool, files)
    analyses = by_path(results)
    assert reasons(results) == {"nul.bin": SkipReason.BINARY, "image.svg.png": SkipReason.BINARY, "pointer.psd": SkipReason.LFS_POINTER}
    assert len(analyses) == len(files) - 3

    def lines_of(path: str, name: str) -> list[int]:
        return [symbol.start_line for symbol in analyses[path].extraction.symbols if symbol.name == name]

    assert lines_of("plain.py", "method") == [5]
    assert lines_of("utf16.py", "größe") == [1]
    assert lines_of("stray.py", "café") == [1]
    assert lines_of("late_nul.py", "f") == [2_002]
    for path, line in {"sjis.py": 2, "gb.py": 2, "bom.py": 1, "crlf.py": 3, "cr.py": 3, "no_final_newline.py": 1}.items():
        assert (path, lines_of(path, "f")) == (path, [line])
    assert [analyses[path].encoding for path in ("utf16.py", "sjis.py", "gb.py")] == ["utf-16-le", "cp932", "gb18030"]
    assert [analyses[path].lines for path in ("empty.py", "newline.py", "no_final_newline.py", "crlf.py", "cr.py")] == [0, 1, 1, 4, 4]
    assert analyses["empty.py"].chunks == ()
    assert len(analyses["long.txt"].chunks[0].text) == 5_000_000
    assert (analyses["long.txt"].outcome, analyses["long.txt"].reason) == (Outcome.TEXT_ONLY, SkipReason.NO_PARSER)
    assert (analyses["app.min.js"].outcome, analyses["app.min.js"].reason) == (Outcome.TEXT_ONLY, SkipReason.MINIFIED)
    assert (analyses["big.py"].outcome, analyses["big.py"].reason) == (Outcome.TEXT_ONLY, SkipReason.TOO_LARGE)
    assert analyses["app.min.js"].path_class is PathClass.GENERATED
    assert analyses["generated.py"].path_class is PathClass.GENERATED
    assert analyses["vendor/lib.py"].path_class is PathClass.VENDOR
    for analysis in analyses.values():
        assert len(analysis.symbol_chunk) == len(analysis.symbol_words) == len(analysis.extraction.symbols)
        for symbol, ordinal in zip(analysis.extraction.symbols, analysis.symbol_chunk, strict=True):
            assert analysis.chunks[ordinal].start_line <= symbol.name_line <= analysis.chunks[ordinal].end_line


def test_what_is_stored_depends_on_the_settings_too() -> None:
    assert extractor_version(IndexSettings()) == extractor_version(IndexSettings(parse_processes=7))
    assert extractor_version(IndexSettings()) != extractor_version(IndexSettings(chunk_lines=20))


def test_a_few_dozen_files_are_work_for_all_processes(tree: Path, hostile: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tree, {f"{number:04}.py": "x" for number in range(30)})
    batches: list[int] = []
    original = ParsePool._analyse

    def noted(self: ParsePool, batch: list[Any]) -> list[Result]:
        batches.append(len(batch))
        return original(self, batch)

    monkeypatch.setattr(ParsePool, "_analyse", noted)
    with ParsePool(SETTINGS, hostile.extract) as pool:
        assert len(run(pool, files)) == 30
    assert len(batches) >= 2 * SETTINGS.parse_processes
    assert max(batches) <= 30 // SETTINGS.parse_processes // 2
