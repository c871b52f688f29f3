"""What is remembered of files stands for their content only as long as it must be the same."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from app.config import IndexSettings
from app.domain.analysis import SkippedFile, SourceFile
from app.domain.index import RepositorySource, SkipReason
from app.indexing import analyse, seen
from app.indexing.analyse import Unchanged, content_digest, glance
from app.indexing.discover import discover
from app.indexing.seen import SeenFiles, SeenRepositories

SETTINGS = IndexSettings()


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read."""
    names: list[str] = []
    original = analyse._read

    def noted(path: str, most: int) -> object:
        names.append(Path(path).name)
        return original(path, most)

    monkeypatch.setattr(analyse, "_read", noted)
    return names


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that were written just now are old enough."""
    monkeypatch.setattr(seen, "RACY_NS", 0)


def file(path: Path) -> SourceFile:
    (found,) = [found for found in discover(RepositorySource(str(path.parent)), 1_000).files if found.path == path.name]
    return found


def digest(text: str) -> bytes:
    return content_digest(hashlib.sha256(text.encode()).digest(), {})


def test_an_untouched_file_is_read_once(tmp_path: Path, read: list[str], settled: None) -> None:
    path, memory = tmp_path / "a.py", SeenFiles()
    path.write_text("old\n")
    time.sleep(0.02)
    for known, expected in ((digest("old\n"), Unchanged("a.py", digest("old\n"))), (b"", None)):
        assert glance(file(path), frozenset([known]), SETTINGS, memory) == expected
    assert read == ["a.py"]


@pytest.mark.parametrize("times", ["other", "restored"])
@pytest.mark.parametrize("how", ["written", "replaced"])
def test_a_changed_file_is_read_again_whatever_its_times_say(tmp_path: Path, settled: None, how: str, times: str) -> None:
    path, memory, known = tmp_path / "a.py", SeenFiles(), frozenset([digest("old\n")])
    path.write_text("old\n")
    before = path.stat()
    time.sleep(0.02)
    assert isinstance(glance(file(path), known, SETTINGS, memory), Unchanged)
    assert len(memory) == 1
    target = path if how == "written" else tmp_path / "b.py"
    target.write_text("new\n")
    if times == "restored":
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
    target.rename(path)
    assert glance(file(path), known, SETTINGS, memory) is None


def test_a_file_that_has_just_changed_is_not_remembered(tmp_path: Path, read: list[str]) -> None:
    path, memory, known = tmp_path / "a.py", SeenFiles(), frozenset([digest("old\n")])
    path.write_text("old\n")
    for _ in range(2):
        glance(file(path), known, SETTINGS, memory)
    assert (read, len(memory)) == (["a.py", "a.py"], 0)


def test_what_is_skipped_is_remembered_with_its_reason(tmp_path: Path, read: list[str], settled: None) -> None:
    path, memory = tmp_path / "logo.png", SeenFiles()
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    time.sleep(0.02)
    for _ in range(2):
        assert glance(file(path), frozenset(), SETTINGS, memory) == SkippedFile("logo.png", SkipReason.BINARY)
    assert read == ["logo.png"]


def test_a_file_that_cannot_be_read_is_not_remembered(tmp_path: Path, settled: None) -> None:
    path, memory = tmp_path / "a.py", SeenFiles()
    path.write_text("old\n")
    found = file(path)
    path.unlink()
    time.sleep(0.02)
    assert glance(found, frozenset(), SETTINGS, memory) == SkippedFile("a.py", SkipReason.UNREADABLE)
    assert len(memory) == 0


def test_other_attributes_make_another_version_without_reading(tmp_path: Path, read: list[str], settled: None) -> None:
    path, memory, known = tmp_path / "a.py", SeenFiles(), frozenset([digest("old\n")])
    path.write_text("old\n")
    time.sleep(0.02)
    found = file(path)
    assert glance(found, known, SETTINGS, memory) == Unchanged("a.py", digest("old\n"))
    generated = SourceFile(found.path, found.absolute, {"linguist-generated": True}, found.size, found.stamp)
    assert glance(generated, known, SETTINGS, memory) is None
    assert read == ["a.py"]


def test_memory_is_bounded_and_forgets_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seen, "MOST_FILES", 3)
    repositories = SeenRepositories()
    stamp = seen.Stamp(1, 1, 1, 1, 1)
    for repository, count in ((1, 2), (2, 2)):
        for number in range(count):
            repositories.of(repository).remember(str(number), seen.Seen(stamp, b"", None), time.time_ns())
    assert [len(repositories.of(repository)) for repository in (2, 1)] == [2, 0], "the one that was used last stays"
    monkeypatch.setattr(seen, "FORGET_SECONDS", -1.0)
    assert len(repositories.of(2)) == 0
    large = SeenFiles()
    for number in range(4):
        large.remember(str(number), seen.Seen(stamp, b"", None), time.time_ns())
    large.keep({"1", "9"})
    assert len(large) == 1
