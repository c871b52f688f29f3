"""Reads a git work tree through git itself: its files, their attributes, its revision.

The tree may belong to someone else and its configuration may be hostile, so nothing that it names is ever run: no hooks, no
fsmonitor, no filters, no transports; and nothing is written, not even the index's stat cache.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.indexing.ignored import Ignored, Rule
from app.sources.git import GitError, bounded_output, without_secrets

GIT_SECONDS: Final = 300.0
UNBORN: Final = "0" * 40
"""The commit of a repository without commits, as git writes it."""

_IGNORED: Final = b"!! "
_GITLINK: Final = b"160000"
_ATTRIBUTES: Final = ("linguist-generated", "linguist-vendored")
_OPTIONS: Final = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotepath=off"),
    *("-c", "safe.directory=*"),
)


class GitFailed(Exception):
    """git is missing, took too long or refused."""


@dataclass(frozen=True, slots=True)
class TreeState:
    """What a work tree is like. ``ignored``: paths from its top that rules leave out; a folder ends with ``/``."""

    revision: str
    ignored: Sequence[bytes]


class GitTree:
    """The part of a git work tree below ``root``. Paths are bytes, relative to ``root``."""

    def __init__(self, root: Path) -> None:
        """Raises GitFailed when ``root`` is in no work tree."""
        self._root = root
        self._filters: Sequence[str] = ()
        if self._run("rev-parse", "--is-inside-work-tree").strip() != b"true":
            raise GitFailed("not inside a work tree")
        self._filters = self._disabled_filters()

    def files(self, *, respect_ignore: bool = True) -> Iterator[tuple[bytes, bool]]:
        """(path, whether it is another repository): tracked files, and untracked ones that no rule ignores. May repeat a path."""
        ignoring = ("--exclude-standard",) if respect_ignore else ()
        for entry in _split(self._run("ls-files", "-z", "--cached", "--stage")):
            fields, _, path = entry.partition(b"\t")
            yield path, fields.startswith(_GITLINK)
        for path in _split(self._run("ls-files", "-z", "--others", *ignoring)):
            yield path.rstrip(b"/"), path.endswith(b"/")

    def ignores_root(self) -> bool:
        """Whether an outer repository ignores all of ``root``: then it has nothing to say about what is in it."""
        return self._status("check-ignore", "--quiet", "--no-index", "--", ".") == 0 and not self._run("ls-files", "-z", "--cached")

    def attributes(self, paths: Sequence[bytes]) -> Mapping[bytes, Mapping[str, bool]]:
        """What ``.gitattributes`` says of each path that it says anything about."""
        answer = self._run("check-attr", "-z", "--stdin", *_ATTRIBUTES, stdin=b"\0".join(paths) + b"\0") if paths else b""
        fields = _split(answer)
        found: dict[bytes, dict[str, bool]] = {}
        for path, name, value in zip(fields[::3], fields[1::3], fields[2::3], strict=True):
            if value != b"unspecified":
                found.setdefault(path, {})[name.decode()] = value in (b"set", b"true")
        return found

    def state(self, *, respect_ignore: bool = True) -> TreeState:
        """The commit; with ``+`` and a digest of what differs from it below ``root``, when anything does: ignored files too if they
        are to be indexed."""
        commit = UNBORN
        if self._status("rev-parse", "--verify", "--quiet", "HEAD") == 0:
            commit = self._run("rev-parse", "--verify", "HEAD").strip().decode()
        ignored = "--ignored=matching" if respect_ignore else "--ignored=traditional"
        options = ("--porcelain", "-z", "--untracked-files=all", ignored, "--no-renames", "--ignore-submodules=dirty")
        listed = _split(self._run("status", *options, "--", "."))
        left_out = [line[3:] for line in listed if line.startswith(_IGNORED)] if respect_ignore else []
        changes = [line for line in listed if not (respect_ignore and line.startswith(_IGNORED))]
        if not changes:
            return TreeState(commit, left_out)
        top = self._run("rev-parse", "--show-toplevel").rstrip(b"\n")
        digest = hashlib.sha256()
        for change in sorted(changes):
            digest.update(change + b"\0" + _stamp(top + b"/" + change[3:]) + b"\0")
        return TreeState(f"{commit}+{digest.hexdigest()[:8]}", left_out)

    def ignored(self, state: TreeState) -> Ignored:
        """What ignore rules leave out, and which rule each."""
        found = Ignored()
        if not state.ignored:
            return found
        prefix = self._prefix()
        names = [path.removeprefix(os.fsencode(prefix)) for path in state.ignored]
        rules = self._rules(names, prefix)
        for name in names:
            found.add(name.endswith(b"/"), rules.get(name))
        return found

    def rule_of(self, path: bytes) -> Rule | None:
        """What leaves a file out, or a folder that it is in; the file need not be there. None for one that is tracked."""
        rule = self._rules([path], self._prefix()).get(path)
        return None if rule is None or rule[2].startswith("!") else rule

    def _prefix(self) -> str:
        return os.fsdecode(self._run("rev-parse", "--show-prefix").rstrip(b"\n"))

    def _rules(self, paths: Sequence[bytes], prefix: str) -> Mapping[bytes, Rule]:
        """The last rule that matches each path; a pattern that begins with ``!`` leaves nothing out."""
        # Status 1 says that none is ignored.
        answer = _split(self._call("check-ignore", "-z", "--verbose", "--stdin", stdin=b"\0".join(paths) + b"\0").stdout)
        return {
            path: (_from_root(os.fsdecode(file), prefix), int(line), os.fsdecode(pattern))
            for file, line, pattern, path in zip(*(answer[field::4] for field in range(4)), strict=False)
            if line.isdigit()
        }

    def commit(self, name: str) -> str:
        """The full id of the commit that a branch, tag or id names; raises GitFailed when there is none."""
        return self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}").strip().decode()

    def merge_base(self, first: str, second: str) -> str:
        """The newest commit that both come from; the first one itself when they have none in common."""
        result = self._call("merge-base", first, second)
        return result.stdout.split()[0].decode() if result.returncode == 0 else first

    def is_ancestor(self, first: str, second: str) -> bool:
        """Whether the second comes from the first; false too when either is not here."""
        return self._status("merge-base", "--is-ancestor", first, second) == 0

    def diff(self, base: str, head: str, most_bytes: int) -> bytes:
        """The unified diff below ``root`` between two commits, given by their ids, with renames found; raises TooMuch."""
        plain = ("--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=all")
        arguments = ("diff", "--relative", "--find-renames", "--unified=3", *plain, base, head, "--", ".")
        try:
            return bounded_output(["git", *_OPTIONS, *self._filters, *arguments], _environment(), most_bytes, self._root)
        except GitError as error:
            raise GitFailed(f"git diff: {error}") from error

    def _disabled_filters(self) -> Sequence[str]:
        """Options that empty every configured filter driver: comparing a file with the index would run its command."""
        result = self._call("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process|required)$")
        names = dict.fromkeys(name.rpartition(b".")[0] for name in _split(result.stdout))
        options: list[str] = []
        for driver in map(os.fsdecode, names):
            for setting in ("clean=", "smudge=", "process=", "required=false"):
                options += ["-c", f"{driver}.{setting}"]
        return options

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        result = self._call(*arguments, stdin=stdin)
        if result.returncode != 0:
            raise GitFailed(f"git {arguments[0]}: {result.stderr.decode(errors='replace').strip()}")
        return result.stdout

    def _status(self, *arguments: str) -> int:
        return self._call(*arguments).returncode

    def _call(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        command = ["git", *_OPTIONS, *self._filters, *arguments]
        try:
            return subprocess.run(  # noqa: S603 - fixed arguments, no shell
                command, cwd=self._root, env=_environment(), input=stdin, capture_output=True, timeout=GIT_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise GitFailed(f"git {arguments[0]}: {error}") from error


def _environment() -> dict[str, str]:
    """The configuration of whoever runs the service holds: his rules for ignored files are meant."""
    return without_secrets() | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "LC_ALL": "C",
    }


def _from_root(file: str, prefix: str) -> str:
    """git tells ignore files of the work tree from its top, others by their absolute path."""
    return file if Path(file).is_absolute() or not prefix else os.path.relpath(file, prefix)


def _split(output: bytes) -> list[bytes]:
    return output.removesuffix(b"\0").split(b"\0") if output else []


def _stamp(path: bytes) -> bytes:
    try:
        status = os.lstat(path)
    except OSError:
        return b"-"
    return b"%d %d" % (status.st_size, status.st_mtime_ns)
