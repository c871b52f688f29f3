"""Lists the files of a repository: what is in the work tree, without what its ignore rules leave out.

A git work tree is listed by git: tracked files, and untracked ones that are not ignored, since someone who has just written a file
expects to find it. Symbolic links are not followed, special files are never opened, other repositories are only recorded.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from pathspec import GitIgnoreSpec

from app.domain.analysis import SkippedFile, SourceFile
from app.domain.index import RepositorySource, SkipReason
from app.domain.left_out import LeftOut, RulePlace
from app.indexing.folder_tree import Folder, rule_of, walk
from app.indexing.git_tree import GitFailed, GitTree
from app.indexing.ignored import place_of
from app.indexing.seen import Stamp

LONGEST_PATH: Final = 2_000
"""Bytes; a longer path does not fit an index row of the store."""

_Entry: TypeAlias = os.stat_result | SkipReason | None
"""The status of what is at a path, or why it is skipped; None where nobody has looked yet."""


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a tree holds, ordered by path, and what ignore files and globs leave out of it.

    ``revision`` was taken before any file was read, so that a change in between makes the next look see a newer one.
    """

    files: tuple[SourceFile, ...]
    skipped: tuple[SkippedFile, ...]
    revision: str
    git: bool
    left_out: LeftOut


def discover(source: RepositorySource, max_file_bytes: int) -> Discovery:
    """List a directory's tree. Globs are git's (``src/flask/**``); no ``include`` means everything.

    Blocking: runs git. Raises FileNotFoundError or NotADirectoryError when there is no such directory.
    """
    root = _directory(source)
    tree = _git_tree(root)
    if tree:
        state = tree.state(respect_ignore=source.respect_ignore)
        now, ignored = state.revision, tree.ignored(state)
        found: Mapping[bytes, _Entry] = _git_entries(tree, source.respect_ignore)
    else:
        folder = walk(str(root), respect_ignore=source.respect_ignore)
        now, found, ignored = _folder_revision(folder), _folder_entries(folder), folder.ignored
    chosen = PathGlobs(source.include, source.exclude)
    selected = [(path, found[path]) for path in sorted(found) if chosen.select(path)]
    attributes = tree.attributes([path for path, _ in selected]) if tree else {}

    files: list[SourceFile] = []
    skipped: list[SkippedFile] = []
    names: set[str] = set()
    inspector = _Inspector(os.fsencode(root))
    below = f"{root}/"
    for path, entry in selected:
        status = inspector.look(path) if entry is None else entry
        if status is None:
            continue
        name = shown_path(path, names)
        names.add(name)
        if isinstance(status, SkipReason):
            skipped.append(SkippedFile(name, status))
        elif reason := _unsuitable(status, max_file_bytes):
            skipped.append(SkippedFile(name, reason))
        else:
            files.append(SourceFile(name, below + os.fsdecode(path), attributes.get(path, {}), status.st_size, Stamp.of(status)))
    left_out = ignored.left_out(len(found) - len(selected), chosen.unmatched(found))
    return Discovery(tuple(files), tuple(skipped), now, tree is not None, left_out)


def revision(source: RepositorySource) -> str:
    """What a directory's tree is like now; equal texts mean that there is nothing new to index.

    The commit of a clean git work tree; the commit, ``+`` and a digest of what differs from it; ``tree-`` and a digest of paths,
    sizes and times without git. Blocking; raises FileNotFoundError or NotADirectoryError.
    """
    root = _directory(source)
    tree = _git_tree(root)
    if tree:
        return tree.state(respect_ignore=source.respect_ignore).revision
    return _folder_revision(walk(str(root), respect_ignore=source.respect_ignore))


def ignoring_rule(source: RepositorySource, path: str) -> RulePlace | None:
    """What leaves a path out of a directory's tree, be there such a file or not; None where nothing does.

    Blocking: runs git. Raises FileNotFoundError or NotADirectoryError.
    """
    path = path.removesuffix("/")
    if not source.respect_ignore or any(part in ("", ".", "..") for part in path.split("/")) or "\0" in path:
        return None
    root = _directory(source)
    tree = _git_tree(root)
    rule = tree.rule_of(os.fsencode(path)) if tree else rule_of(str(root), path)
    return place_of(rule) if rule else None


class PathGlobs:
    """What a repository's include and exclude globs select."""

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._globs = tuple(include)
        self._include = GitIgnoreSpec.from_lines(include) if include else None
        self._exclude = GitIgnoreSpec.from_lines(exclude) if exclude else None

    def select(self, path: bytes) -> bool:
        """Whether a path, relative to the root, is to be indexed."""
        name = _text(path)
        included = self._include is None or self._include.match_file(name)
        return included and not (self._exclude and self._exclude.match_file(name))

    def unmatched(self, paths: Iterable[bytes]) -> Sequence[str]:
        """The include globs that select none of these paths, whatever the others do."""
        specs = {glob: GitIgnoreSpec.from_lines([glob]) for glob in self._globs}
        waiting = {glob: spec for glob, spec in specs.items() if any(pattern.include for pattern in spec.patterns)}
        for path in paths:
            if not waiting:
                break
            name = _text(path)
            waiting = {glob: spec for glob, spec in waiting.items() if not spec.match_file(name)}
        return tuple(waiting)


def _text(path: bytes) -> str:
    return path.decode("utf-8", "backslashreplace")


class _Inspector:
    """Looks at directory entries below ``root`` without opening anything."""

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._folders: dict[bytes, bool] = {}
        self._real: dict[bytes, bool] = {}

    def look(self, path: bytes) -> os.stat_result | SkipReason | None:
        """The status of an entry, or why it has none; None when it is not there (deleted, or behind a symbolic link)."""
        try:
            return self._look(path) if self._in_real_folders(path) else None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            return SkipReason.UNREADABLE

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


def _directory(source: RepositorySource) -> Path:
    root = Path(source.path).resolve(strict=True)
    if not root.is_dir():
        raise NotADirectoryError(f"not a directory: {root}")
    return root


def _git_tree(root: Path) -> GitTree | None:
    try:
        tree = GitTree(root)
        return None if tree.ignores_root() else tree
    except GitFailed:
        return None


def _git_entries(tree: GitTree, respect_ignore: bool) -> Mapping[bytes, _Entry]:
    entries: dict[bytes, _Entry] = {}
    for path, is_repository in tree.files(respect_ignore=respect_ignore):
        entries[path] = SkipReason.SUBMODULE if is_repository else _unstorable(path)
    return entries


def _folder_entries(folder: Folder) -> Mapping[bytes, _Entry]:
    encoded = ((os.fsencode(path), status or SkipReason.UNREADABLE) for path, status in folder.entries.items())
    return {path: _unstorable(path) or status for path, status in encoded}


def _unsuitable(status: os.stat_result, max_file_bytes: int) -> SkipReason | None:
    """Why an entry is not opened."""
    if stat.S_ISLNK(status.st_mode):
        return SkipReason.SYMLINK
    if not stat.S_ISREG(status.st_mode):
        return SkipReason.SPECIAL_FILE
    return SkipReason.TOO_LARGE if status.st_size > max_file_bytes else None


def _unstorable(path: bytes) -> SkipReason | None:
    return SkipReason.UNREADABLE if len(path) > LONGEST_PATH else None


def _folder_revision(folder: Folder) -> str:
    digest = hashlib.sha256()
    for path, status in folder.entries.items():
        stamp = b"%d %d" % (status.st_size, status.st_mtime_ns) if status else b"unreadable"
        digest.update(b"%b\0%b\0" % (os.fsencode(path), stamp))
    return f"tree-{digest.hexdigest()[:16]}"


def shown_path(path: bytes, taken: Collection[str]) -> str:
    """The path as UTF-8 text, with ``\\xNN`` for other bytes; unlike any that is taken, and short enough to be stored."""
    name = _text(path)
    if len(path) > LONGEST_PATH:
        name = f"{name[: LONGEST_PATH // 8]}…{hashlib.sha256(path).hexdigest()[:16]}"
    while name in taken:
        name += "~"
    return name
