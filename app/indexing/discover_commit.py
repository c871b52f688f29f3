"""Lists the files of a commit: what ``discover`` does for a directory, from git's object store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.domain.analysis import SkippedFile, SourceFile
from app.domain.index import SkipReason
from app.domain.left_out import LeftOut
from app.indexing.discover import LONGEST_PATH, Discovery, PathGlobs, shown_path
from app.sources.commit_tree import COMMIT, LINK, Entry, attributes, entries
from app.sources.git import Git


@dataclass(frozen=True, slots=True)
class CommitSource:
    """A commit and what of it is indexed. ``revision`` is what it is called in answers.

    ``submodules``: path → the commit of that submodule, for those whose files are indexed too; the object store has them.
    """

    git: Git
    commit: str
    revision: str
    spool: Path
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    submodules: Mapping[bytes, str] = field(default_factory=dict)


def discover_commit(source: CommitSource, max_file_bytes: int) -> tuple[Discovery, Mapping[str, str]]:
    """What the commit holds, and the id of each file's blob by its path. Blocking; raises GitError."""
    found = entries(source.git, source.commit)
    marks = dict(_attributes(source, source.commit, found, b""))
    for path, commit in source.submodules.items():
        inner = entries(source.git, commit, path + b"/")
        marks |= _attributes(source, commit, inner, path + b"/")
        found += inner
    globs = PathGlobs(source.include, source.exclude)
    selected = sorted((entry for entry in found if globs.select(entry.path)), key=lambda entry: entry.path)

    files: list[SourceFile] = []
    skipped: list[SkippedFile] = []
    oids: dict[str, str] = {}
    names: set[str] = set()
    for entry in selected:
        if entry.path in source.submodules:
            continue
        name = shown_path(entry.path, names)
        names.add(name)
        if reason := _reason(entry, max_file_bytes):
            skipped.append(SkippedFile(name, reason))
        else:
            files.append(SourceFile(name, str(source.spool), marks.get(entry.path, {}), entry.size or 0))
            oids[name] = entry.oid
    left_out = LeftOut(excluded=len(found) - len(selected), unmatched_include=globs.unmatched(entry.path for entry in found))
    return Discovery(tuple(files), tuple(skipped), source.revision, True, left_out), oids


def _attributes(source: CommitSource, commit: str, found: Sequence[Entry], prefix: bytes) -> Mapping[bytes, Mapping[str, bool]]:
    if not any(entry.path.rpartition(b"/")[2] == b".gitattributes" for entry in found):
        return {}
    answers = attributes(source.git, commit, [entry.path.removeprefix(prefix) for entry in found], source.spool)
    return {prefix + path: marks for path, marks in answers.items()}


def _reason(entry: Entry, max_file_bytes: int) -> SkipReason | None:
    if entry.mode == COMMIT:
        return SkipReason.SUBMODULE
    if entry.mode == LINK:
        return SkipReason.SYMLINK
    if len(entry.path) > LONGEST_PATH:
        return SkipReason.UNREADABLE
    return SkipReason.TOO_LARGE if (entry.size or 0) > max_file_bytes else None
