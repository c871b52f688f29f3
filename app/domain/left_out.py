"""What an index run leaves out before it looks at any file: by ignore files and by globs, told so that a gap is no silent one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

MOST_RULES: Final = 5
"""Ignore rules that are named."""


@dataclass(frozen=True, slots=True)
class RulePlace:
    """A line of an ignore file."""

    file: str
    line: int
    pattern: str


@dataclass(frozen=True, slots=True)
class IgnoreRule(RulePlace):
    """``entries`` are the files and folders that it decides."""

    entries: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Counts. What is in an ignored folder is not looked at, so that the folder counts as one."""

    ignored_files: int = 0
    ignored_folders: int = 0
    ignore_rules: Sequence[IgnoreRule] = ()
    """Those that leave out most, most first."""
    excluded: int = 0
    """Files that the include and exclude globs leave out."""
    unmatched_include: Sequence[str] = ()
    """Include globs that no path matches."""

    @property
    def ignored(self) -> int:
        """Entries that ignore files leave out."""
        return self.ignored_files + self.ignored_folders

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """What ``dataclasses.asdict`` made of it."""
        return cls(**{**stored, "ignore_rules": tuple(IgnoreRule(**rule) for rule in stored.get("ignore_rules", ()))})


def notices(files: int, skipped: int, left_out: LeftOut) -> tuple[str, ...]:
    """What whoever had it indexed should know: that nothing came of it, or less than was left out, and how to change that."""
    return tuple(_notices(files, skipped, left_out))


def _notices(files: int, skipped: int, left_out: LeftOut) -> Iterator[str]:
    if files == 0:
        reasons = [*_reasons(left_out), *([f"{skipped} cannot be searched (see coverage)"] if skipped else [])]
        yield f"no file is indexed: {'; '.join(reasons) or 'the source holds none'}"
    elif left_out.ignored > files + skipped:
        yield f"more is left out than is indexed: {_ignored(left_out)}"
    for glob in left_out.unmatched_include:
        yield f"no path matches the include glob {glob!r}"


def _reasons(left_out: LeftOut) -> Iterator[str]:
    if left_out.ignored:
        yield _ignored(left_out)
    if left_out.excluded:
        yield f"the include and exclude globs leave out {counted(left_out.excluded, 'file')}"


def _ignored(left_out: LeftOut) -> str:
    most = f", most by line {rule.line} of {rule.file} ({rule.pattern})" if (rule := next(iter(left_out.ignore_rules), None)) else ""
    return f"ignore files leave out {ignored_entries(left_out)}{most}; respect_ignore=false (--no-ignore) indexes them too"


def ignored_entries(left_out: LeftOut) -> str:
    """``3 folders and 1 file``."""
    counts = ((left_out.ignored_folders, "folder"), (left_out.ignored_files, "file"))
    return " and ".join(counted(count, noun) for count, noun in counts if count)


def counted(count: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
