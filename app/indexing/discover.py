"""Lists the files of a repository: what is in the work tree, without what its ignore rules leave out.

A git work tree is listed by git: tracked files, and untracked ones that are not ignored, since someone who has just written a file
expects to find it. Symbolic links are not followed, special files are never opened, other repositories are only recorded.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec

from app.domain.analysis import SkippedFile, SourceFile
from app.domain.index import SkipReason
from app.indexing.folder_tree import walk
from app.indexing.git_tree import GitFailed, GitTree

LONGEST_PATH: Final = 2_000
"""Bytes; a longer path does not fit an index row of the store."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a tree holds, ordered by path. ``excluded`` counts the files that the include and exclude globs left out.

    ``revision`` was taken before any file was read, so that a change in between makes the next look see a newer one.
    """

    files: tuple[SourceFile, ...]
    skipped: tuple[SkippedFile, ...]
    revision: str
    git: bool
    excluded: int


def discover(root: Path, include: Sequence[str], exclude: Sequence[str], max_file_bytes: int) -> Discovery:
    """List the tree below ``root``. Globs are git's (``src/flask/**``); no ``include`` means everything.

    Blocking: runs git. Raises FileNotFoundError or NotADirectoryError when there is no such directory.
    """
    root = _directory(root)
    tree = _git_tree(root)
    if tree:
        state, found = tree.revision(), _git_entries(tree)
    else:
        walked = sorted(walk(str(root)))
        state, found = _folder_revision(root, walked), _folder_entries(walked)
    chosen = PathGlobs(include, exclude)
    selected = {path: reason for path, reason in sorted(found.items()) if chosen.select(path)}
    attributes = tree.attributes(list(selected)) if tree else {}

    files: list[SourceFile] = []
    skipped: list[SkippedFile] = []
    names: set[str] = set()
    inspector = _Inspector(os.fsencode(root), max_file_bytes)
    for path, reason in selected.items():
        verdict = reason or inspector.inspect(path)
        if verdict is None:
            continue
        name = shown_path(path, names)
        names.add(name)
        if isinstance(verdict, SkipReason):
            skipped.append(SkippedFile(name, verdict))
        else:
            files.append(SourceFile(name, root / os.fsdecode(path), attributes.get(path, {}), verdict.st_size))
    return Discovery(tuple(files), tuple(skipped), state, tree is not None, len(found) - len(selected))


def revision(root: Path) -> str:
    """What the tree below ``root`` is like now; equal texts mean that there is nothing new to index.

    The commit of a clean git work tree; the commit, ``+`` and a digest of what differs from it; ``tree-`` and a digest of paths,
    sizes and times without git. Blocking; raises FileNotFoundError or NotADirectoryError.
    """
    root = _directory(root)
    tree = _git_tree(root)
    return tree.revision() if tree else _folder_revision(root, sorted(walk(str(root))))


class PathGlobs:
    """What a repository's include and exclude globs select."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._include = GitIgnoreSpec.from_lines(include) if include else None
        self._exclude = GitIgnoreSpec.from_lines(exclude) if exclude else None

    def select(self, path: bytes) -> bool:
        """Whether a path, relative to the root, is to be indexed."""
        name = path.decode("utf-8", "backslashreplace")
        included = self._include is None or self._include.match_file(name)
        return included and not (self._exclude and self._exclude.match_file(name))


class _Inspector:
    """Looks at directory entries below ``root`` without opening anything."""

    def __init__(self, root: bytes, max_file_bytes: int) -> None:
        self._root = root
        self._max_file_bytes = max_file_bytes
        self._folders: dict[bytes, bool] = {}
        self._real: dict[bytes, bool] = {}

    def inspect(self, path: bytes) -> os.stat_result | SkipReason | None:
        """The status of a file to index, or why it is skipped; None when it is not there (deleted, or behind a symbolic link)."""
        try:
            if not self._in_real_folders(path):
                return None
            status = self._look(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return SkipReason.UNREADABLE
        if stat.S_ISLNK(status.st_mode):
            return SkipReason.SYMLINK
        if not stat.S_ISREG(status.st_mode):
            return SkipReason.SPECIAL_FILE
        return SkipReason.TOO_LARGE if status.st_size > self._max_file_bytes else status

    def _in_real_folders(self, path: bytes) -> bool:
        """Whether no parent is a symbolic link: the index of a hostile repository may lead out of the root through one."""
        parent = path.rpartition(b"/")[0]
        if parent not in self._real:
            parts = parent.split(b"/") if parent else []
            folders = (b"/".join(parts[:depth]) for depth in range(1, len(parts) + 1))
            self._real[parent] = b".." not in parts and all(map(self._is_folder, folders))
        return self._real[parent]

    def _is_folder(self, path: bytes) -> bool:
        if path not in self._folders:
            self._folders[path] = stat.S_ISDIR(self._look(path).st_mode)
        return self._folders[path]

    def _look(self, path: bytes) -> os.stat_result:
        return os.lstat(self._root + b"/" + path)


def _directory(root: Path) -> Path:
    root = root.resolve(strict=True)
    if not root.is_dir():
        raise NotADirectoryError(f"not a directory: {root}")
    return root


def _git_tree(root: Path) -> GitTree | None:
    try:
        tree = GitTree(root)
        return None if tree.ignores_root() else tree
    except GitFailed:
        return None


def _git_entries(tree: GitTree) -> dict[bytes, SkipReason | None]:
    entries: dict[bytes, SkipReason | None] = {}
    for path, is_repository in tree.files():
        entries[path] = SkipReason.SUBMODULE if is_repository else _unstorable(path)
    return entries


def _folder_entries(walked: Sequence[tuple[str, bool]]) -> dict[bytes, SkipReason | None]:
    encoded = ((os.fsencode(path), readable) for path, readable in walked)
    return {path: _unstorable(path) if readable else SkipReason.UNREADABLE for path, readable in encoded}


def _unstorable(path: bytes) -> SkipReason | None:
    return SkipReason.UNREADABLE if len(path) > LONGEST_PATH else None


def _folder_revision(root: Path, walked: Sequence[tuple[str, bool]]) -> str:
    digest = hashlib.sha256()
    for path, readable in walked:
        digest.update(os.fsencode(path) + b"\0" + (_stamp(f"{root}/{path}") if readable else b"unreadable") + b"\0")
    return f"tree-{digest.hexdigest()[:16]}"


def _stamp(path: str) -> bytes:
    try:
        status = os.lstat(path)
    except OSError:
        return b"-"
    return b"%d %d" % (status.st_size, status.st_mtime_ns)


def shown_path(path: bytes, taken: Collection[str]) -> str:
    """The path as UTF-8 text, with ``\\xNN`` for other bytes; unlike any that is taken, and short enough to be stored."""
    name = path.decode("utf-8", "backslashreplace")
    if len(path) > LONGEST_PATH:
        name = f"{name[: LONGEST_PATH // 8]}…{hashlib.sha256(path).hexdigest()[:16]}"
    while name in taken:
        name += "~"
    return name
