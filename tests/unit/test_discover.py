from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from app.domain.index import RepositorySource, SkipReason
from app.domain.left_out import IgnoreRule, LeftOut, notices
from app.indexing import discover as discovery
from app.indexing.discover import Discovery

LIMIT = 1_000_000


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false", "-c", "protocol.file.allow=always")
    return subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout


def write(root: Path, *paths: str, text: str = "x\n") -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def paths(found: Discovery) -> list[str]:
    return [file.path for file in found.files]


def skips(found: Discovery) -> dict[str, SkipReason]:
    return {file.path: file.reason for file in found.skipped}


def look(root: Path, include: tuple[str, ...] = (), exclude: tuple[str, ...] = (), *, respect_ignore: bool = True) -> Discovery:
    return discovery.discover(RepositorySource(str(root), include, exclude, respect_ignore=respect_ignore), LIMIT)


def revision(root: Path, *, respect_ignore: bool = True) -> str:
    return discovery.revision(RepositorySource(str(root), respect_ignore=respect_ignore))


@pytest.fixture(params=["git", "folder"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An empty tree of either kind: what both must do is tested on both."""
    root = tmp_path / "tree"
    root.mkdir()
    if request.param == "git":
        git(root, "init", "-q")
    return root


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    return root


def test_nested_ignore_files_and_negation(tree: Path) -> None:
    write(
        tree,
        ".gitignore",
        text="*.log\n/only_root\nout/\n!keep.log\ncache/*\n!cache/kept\nlogs/**\n!logs/keep.txt\n\\#hash\nspace\\ \n# no\n",
    )
    write(tree, "a.py", "a.log", "keep.log", "only_root", "sub/only_root", "out/x.py", "sub/out/x.py", "file/out")
    write(tree, "cache/a", "cache/kept", "logs/a", "logs/keep.txt", "#hash", "space ", "space")
    write(tree, "sub/.gitignore", text="!b.log\n*.tmp\r\n/deep/x\n")
    write(tree, "sub/b.log", "sub/c.log", "sub/d.tmp", "d.tmp", "sub/deep/x", "sub/deep/deep/x")
    write(tree, "dark/.gitignore", text="*\n")
    write(tree, "dark/x")
    expected = [
        ".gitignore",
        "a.py",
        "cache/kept",
        "d.tmp",
        "file/out",
        "keep.log",
        "logs/keep.txt",
        "space",
        "sub/.gitignore",
        "sub/b.log",
    ]
    assert paths(look(tree)) == sorted([*expected, "sub/deep/deep/x", "sub/only_root"])


def test_a_folder_that_is_ignored_cannot_be_entered_again(tree: Path) -> None:
    write(tree, ".gitignore", text="build/\n!build/keep.txt\n")
    write(tree, "build/keep.txt", "a")
    assert paths(look(tree)) == [".gitignore", "a"]


def test_an_ignore_rule_that_makes_no_pattern_is_passed_over(tree: Path) -> None:
    write(tree, ".gitignore", text="!\n\\\n[a\n*.o\n")
    write(tree, "a.o", "a.c")
    assert paths(look(tree)) == [".gitignore", "a.c"]


def test_links_and_special_files_are_reported_and_never_followed(tree: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret")
    write(tree, "real/a.py")
    (tree / "loop").symlink_to(tree)
    (tree / "real/up").symlink_to("..")
    (tree / "out").symlink_to(tmp_path / "outside")
    (tree / "link.py").symlink_to("real/a.py")
    (tree / "broken").symlink_to("nowhere")
    found = look(tree)
    assert paths(found) == ["real/a.py"]
    assert skips(found) == dict.fromkeys(["broken", "link.py", "loop", "out", "real/up"], SkipReason.SYMLINK)


def test_special_files_of_a_folder_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)  # a socket's address is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
    found = look(tmp_path)
    assert paths(found) == []
    assert skips(found) == {"fifo": SkipReason.SPECIAL_FILE, "socket": SkipReason.SPECIAL_FILE}


def test_a_tracked_file_that_became_a_fifo(repository: Path) -> None:
    write(repository, "a", "b")
    git(repository, "add", ".")
    (repository / "a").unlink()
    os.mkfifo(repository / "a")
    assert skips(look(repository)) == {"a": SkipReason.SPECIAL_FILE}
    assert "+" in revision(repository)


STRANGE = [b"new\nline", b"quote\"s'", b"tab\t", b"back\\slash", b" lead", b"trail ", b"-dash", b"n" * 255, "jalapeño 日本語 🎉".encode()]


def test_strange_names(tree: Path) -> None:
    for name in [*STRANGE, b"latin\xe9.py"]:
        Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_bytes(name)
    found = look(tree)
    assert sorted(paths(found)) == sorted([*(name.decode() for name in STRANGE), "latin\\xe9.py"])
    for file in found.files:
        assert Path(file.absolute).read_bytes().decode("utf-8", "backslashreplace") == file.path
        file.path.encode("utf-8")


def test_two_names_that_would_be_shown_alike_stay_apart(tree: Path) -> None:
    for name in [b"a\xff", b"a\\xff"]:
        Path(os.fsdecode(os.fsencode(tree) + b"/" + name)).write_bytes(name)
    found = look(tree)
    assert len(set(paths(found))) == 2
    assert {Path(file.absolute).read_bytes() for file in found.files} == {b"a\xff", b"a\\xff"}


def test_a_path_too_long_to_store_is_reported(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(10):
        folder = folder / ("d" * 240)
        folder.mkdir()
    (folder / "a.py").write_text("x")
    found = look(tmp_path)
    assert list(skips(found).values()) == [SkipReason.UNREADABLE]
    assert len(found.skipped[0].path.encode()) < 2_000


def test_a_very_deep_tree(tmp_path: Path) -> None:
    here = Path.cwd()
    try:
        os.chdir(tmp_path)
        for _ in range(900):
            Path("d").mkdir()
            os.chdir("d")
        Path("a").touch()
    finally:
        os.chdir(here)
    assert paths(look(tmp_path)) == ["d/" * 900 + "a"]


GLOBS: list[tuple[tuple[str, ...], tuple[str, ...], list[str]]] = [
    ((), (), ["README.md", "src/a.py", "src/flask/app.py", "src/flask/json/x.py", "tests/test_a.py"]),
    (("src/flask/**",), (), ["src/flask/app.py", "src/flask/json/x.py"]),
    (("src/flask",), (), ["src/flask/app.py", "src/flask/json/x.py"]),
    (("src/*.py",), (), ["src/a.py"]),
    (("*.py",), ("tests/",), ["src/a.py", "src/flask/app.py", "src/flask/json/x.py"]),
    ((), ("**/json/**", "*.md"), ["src/a.py", "src/flask/app.py", "tests/test_a.py"]),
    (("nothing/**",), (), []),
]


@pytest.mark.parametrize(("include", "exclude", "expected"), GLOBS)
def test_include_and_exclude(tree: Path, include: tuple[str, ...], exclude: tuple[str, ...], expected: list[str]) -> None:
    write(tree, "README.md", "src/a.py", "src/flask/app.py", "src/flask/json/x.py", "tests/test_a.py")
    found = look(tree, include, exclude)
    assert paths(found) == expected
    assert found.left_out.excluded == 5 - len(expected)
    assert found.left_out.unmatched_include == (include if include == ("nothing/**",) else ())


def test_include_globs_that_select_nothing_are_told_one_by_one(tree: Path) -> None:
    write(tree, "src/a.py", "b.md")
    found = look(tree, ("lib/**", "src/**", "!src/x", "*.rst"))
    assert (paths(found), found.left_out.unmatched_include) == (["src/a.py"], ("lib/**", "*.rst"))


def told(found: Discovery) -> tuple[str, ...]:
    return notices(len(found.files), len(found.skipped), found.left_out)


def test_a_tree_that_ignores_itself_is_told_with_the_rule(tree: Path) -> None:
    write(tree, ".gitignore", text="# all\n/*\n")
    write(tree, "a.c", "b/c.c", "b/d.c", "b/.gitignore")
    found = look(tree)
    assert (found.files, found.skipped) == ((), ())
    assert found.left_out == LeftOut(2, 1, (IgnoreRule(".gitignore", 2, "/*", 3),))
    assert told(found) == (
        "no file is indexed: ignore files leave out 1 folder and 2 files, most by line 2 of .gitignore (/*); "
        "respect_ignore=false (--no-ignore) indexes them too",
    )
    every = look(tree, respect_ignore=False)
    assert (paths(every), told(every)) == ([".gitignore", "a.c", "b/.gitignore", "b/c.c", "b/d.c"], ())


def test_every_ignore_file_is_told_by_its_place_below_the_root(tree: Path) -> None:
    write(tree, ".gitignore", text="*.log\n")
    write(tree, "in/.gitignore", text="\nx*\n!xy\n")
    write(tree, "a", "in/a.log", "in/b.log", "in/x", "in/xy", "in/xz/deep/a", 'in/odd\n".log', "c.log")
    found = look(tree)
    rules = (IgnoreRule(".gitignore", 1, "*.log", 4), IgnoreRule("in/.gitignore", 2, "x*", 2))
    assert (paths(found), found.left_out) == ([".gitignore", "a", "in/.gitignore", "in/xy"], LeftOut(5, 1, rules))
    assert told(found)[0].startswith("more is left out than is indexed: ignore files leave out 1 folder and 5 files, most by line 1 of ")
    below = look(tree / "in")
    upper = (IgnoreRule("../.gitignore", 1, "*.log", 3),) if (tree / ".git").exists() else ()
    assert below.left_out.ignore_rules == (*upper, IgnoreRule(".gitignore", 2, "x*", 2))


def test_what_is_tracked_is_not_ignored_whatever_the_rules_say(repository: Path) -> None:
    write(repository, ".gitignore", text="*.c\n")
    write(repository, "a.c", "b.c")
    git(repository, "add", "-f", "a.c")
    found = look(repository)
    assert (paths(found), found.left_out.ignored_files) == ([".gitignore", "a.c"], 1)


def test_rules_outside_of_the_tree_are_told_by_their_absolute_name(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("*.o\n")
    git(repository, "config", "core.excludesFile", str(tmp_path / "rules"))
    write(repository, "a.o", "b")
    assert look(repository).left_out.ignore_rules == (IgnoreRule(str(tmp_path / "rules"), 1, "*.o", 1),)


def test_hostile_patterns_can_be_stored(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"?\n" + b"[\xff\0a]*\n" + b"b*" + b"*" * 1_000 + b"\n")
    write(tmp_path, "a1", "b1")
    rules = look(tmp_path).left_out.ignore_rules
    assert [(rule.pattern[:9], len(rule.pattern)) for rule in rules] == [("[\\xff\\x00", 12), ("b********", 200)]


def test_ignored_files_count_as_changes_only_where_they_are_indexed(tree: Path) -> None:
    write(tree, ".gitignore", text="out/\n*.log\n")
    write(tree, "a", "a.log", "out/b")
    before, every = revision(tree), revision(tree, respect_ignore=False)
    write(tree, "out/c", "b.log")
    assert (revision(tree), look(tree).revision) == (before, before)
    changed = revision(tree, respect_ignore=False)
    assert changed != every
    write(tree, "out/c", text="longer\n")
    assert revision(tree, respect_ignore=False) not in (every, changed)


def test_a_source_without_files_says_so(tree: Path) -> None:
    assert told(look(tree)) == ("no file is indexed: the source holds none",)
    write(tree, "a.py", "b.py")
    (tree / "link").symlink_to("a.py")
    assert told(look(tree, ("lib/**",))) == (
        "no file is indexed: the include and exclude globs leave out 3 files",
        "no path matches the include glob 'lib/**'",
    )
    assert told(look(tree, (), ("*.py",)))[0] == (
        "no file is indexed: the include and exclude globs leave out 2 files; 1 cannot be searched (see coverage)"
    )


def test_too_large_files_are_reported(tree: Path) -> None:
    (tree / "big").write_bytes(b"x" * (LIMIT + 1))
    (tree / "fits").write_bytes(b"x" * LIMIT)
    found = look(tree)
    assert paths(found) == ["fits"]
    assert found.files[0].size == LIMIT
    assert skips(found) == {"big": SkipReason.TOO_LARGE}


def test_tracked_untracked_ignored_deleted(repository: Path) -> None:
    write(repository, "kept.py", "deleted.py", "ignored_but_tracked.log")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "1")
    write(repository, ".gitignore", text="*.log\n")
    write(repository, "new.py", "new.log")
    (repository / "deleted.py").unlink()
    found = look(repository)
    assert found.git
    assert paths(found) == [".gitignore", "ignored_but_tracked.log", "kept.py", "new.py"]
    assert found.skipped == ()


def test_a_folder_of_a_repository(repository: Path) -> None:
    write(repository, ".gitignore", text="*.log\n/sub/dark\n")
    write(repository, "a.py", "sub/b.py", "sub/deep/c.py", "sub/x.log", "sub/dark")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "1")
    found = look(repository / "sub")
    assert found.git
    assert paths(found) == ["b.py", "deep/c.py"]
    assert found.revision == git(repository, "rev-parse", "HEAD").strip()
    write(repository, "a.py", text="changed outside\n")
    assert revision(repository / "sub") == found.revision
    write(repository, "sub/new.py")
    assert revision(repository / "sub") != found.revision


def test_a_folder_that_its_repository_ignores_is_read_without_it(repository: Path) -> None:
    write(repository, ".gitignore", text="/work/\n")
    write(repository, "work/a.py")
    found = look(repository / "work")
    assert not found.git
    assert paths(found) == ["a.py"]


def test_submodules_and_nested_repositories_are_recorded(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    write(other, "inside.py")
    git(other, "add", ".")
    git(other, "commit", "-qm", "1")
    git(repository, "submodule", "--quiet", "add", str(other), "libs/other")
    git(repository, "commit", "-qm", "1")
    git(repository, "clone", "-q", str(other), "loose")
    found = look(repository)
    assert paths(found) == [".gitmodules"]
    assert skips(found) == {"libs/other": SkipReason.SUBMODULE, "loose": SkipReason.SUBMODULE}


def test_attributes(repository: Path) -> None:
    write(repository, "a.py", "gen/b.py", "gen/c.py", "lib/d.py")
    write(repository, ".gitattributes", text="gen/* linguist-generated\ngen/c.py -linguist-generated\nlib/** linguist-vendored=true\n")
    attributes = {file.path: dict(file.attributes) for file in look(repository).files}
    assert attributes == {
        ".gitattributes": {},
        "a.py": {},
        "gen/b.py": {"linguist-generated": True},
        "gen/c.py": {"linguist-generated": False},
        "lib/d.py": {"linguist-vendored": True},
    }


def test_an_empty_repository_without_commits(repository: Path) -> None:
    found = look(repository)
    assert (found.files, found.skipped, found.revision, found.git) == ((), (), "0" * 40, True)
    write(repository, "a.py")
    assert paths(look(repository)) == ["a.py"]
    assert revision(repository).startswith("0" * 40 + "+")


def test_revision_is_the_commit_while_clean_and_follows_every_change(repository: Path) -> None:
    write(repository, "a.py", "b.py")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "1")
    commit = git(repository, "rev-parse", "HEAD").strip()
    seen = [revision(repository)]
    assert seen == [commit]
    (repository / "a.py").touch()
    assert revision(repository) == commit, "a touched file with the same content is no change"
    for text in ("changed 1\n", "changed 22\n"):
        write(repository, "a.py", text=text)
        seen.append(revision(repository))
    write(repository, "new.py")
    seen.append(revision(repository))
    (repository / "b.py").unlink()
    seen.append(revision(repository))
    assert len(set(seen)) == len(seen)
    assert all(value.startswith(commit + "+") for value in seen[1:])
    assert revision(repository) == seen[-1], "the same state has the same revision"
    git(repository, "reset", "-q", "--hard")
    (repository / "new.py").unlink()
    assert revision(repository) == commit


def test_revision_of_a_folder_follows_every_change(tmp_path: Path) -> None:
    write(tmp_path, "a.py", "b/c.py")
    seen = [revision(tmp_path), look(tmp_path).revision]
    assert seen[0] == seen[1]
    write(tmp_path, "b/c.py", text="longer\n")
    seen.append(revision(tmp_path))
    (tmp_path / "a.py").rename(tmp_path / "d.py")
    seen.append(revision(tmp_path))
    assert len(set(seen)) == 3


@pytest.fixture
def hostile(repository: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A repository whose configuration would run a command wherever git lets it."""
    write(repository, "a.py", ".gitattributes", text="* filter=evil\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "1")
    proof = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{proof}'\ncat\n")
    script.chmod(0o755)
    settings = ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "core.sshCommand", "core.pager")
    for setting in (*settings, "diff.external", "core.alternateRefsCommand", "diff.evil.textconv"):
        git(repository, "config", setting, str(script))
    git(repository, "config", "filter.evil.required", "true")
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-commit", "post-checkout"):
        (repository / ".git/hooks").mkdir(exist_ok=True)
        (repository / ".git/hooks" / hook).symlink_to(script)
    return repository, proof


def test_nothing_of_the_repository_is_run(hostile: tuple[Path, Path]) -> None:
    root, proof = hostile
    write(root, "a.py", text="# filter=evil\n")
    assert paths(look(root)) == [".gitattributes", "a.py"]
    assert "+" in revision(root)
    assert not proof.exists()
    subprocess.run(["git", "status"], cwd=root, check=False, capture_output=True)
    assert proof.exists(), "the trap itself works"


def test_the_index_is_not_written(repository: Path) -> None:
    write(repository, "a.py")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "1")
    (repository / "a.py").touch()
    before = {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")}
    look(repository)
    assert {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")} == before


def test_a_tracked_path_behind_a_symbolic_link_is_not_read(repository: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.py")
    write(repository, "folder/secret.py")
    git(repository, "add", ".")
    (repository / "folder/secret.py").unlink()
    (repository / "folder").rmdir()
    (repository / "folder").symlink_to(tmp_path / "outside")
    found = look(repository)
    assert paths(found) == []
    assert skips(found) == {"folder": SkipReason.SYMLINK}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_tree_that_belongs_to_someone_else(repository: Path) -> None:
    write(repository, "a.py")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "1")
    for path in [repository, *repository.rglob("*")]:
        os.chown(path, 12_345, 12_345)
    refused = subprocess.run(
        ["git", "status"], cwd=repository, check=False, capture_output=True, env={"PATH": os.environ["PATH"], "HOME": "/"}
    )
    assert b"dubious" in refused.stderr
    found = look(repository)
    assert found.git
    assert paths(found) == ["a.py"]


def test_variables_of_an_outer_git_are_not_followed(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, "a.py")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_WORK_TREE", "/")
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    assert paths(look(repository)) == ["a.py"]


def test_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    write(repository, "a.py")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "1")
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"))
    assert paths(look(tmp_path / "linked")) == ["a.py"]


def test_without_git_the_folder_is_walked(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repository, "a.py", ".gitignore", "b.o", text="*.o\n")
    monkeypatch.setenv("PATH", "/nonexistent")
    found = look(repository)
    assert not found.git
    assert paths(found) == [".gitignore", "a.py"]


def test_a_root_that_is_no_directory(tmp_path: Path) -> None:
    write(tmp_path, "file")
    with pytest.raises(FileNotFoundError):
        look(tmp_path / "nothing")
    with pytest.raises(NotADirectoryError):
        look(tmp_path / "file")


def test_a_root_behind_a_symbolic_link_is_resolved(tmp_path: Path) -> None:
    write(tmp_path, "real/a.py")
    (tmp_path / "link").symlink_to("real")
    assert look(tmp_path / "link").files[0].absolute == str(tmp_path.resolve() / "real/a.py")
