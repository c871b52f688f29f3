"""What a process remembers of the files that it read, so that a run over an unchanged tree need not read them again.

Content decides what changed, never a time stamp alone: a file counts as unread as soon as anything of its status differs, among it the time
of its last change, which nobody can set; when it changed so shortly before it was read that a further change might bear the same time
(git's rule for its index); and after an hour in any case (docs/decisions/0020-remembered-files.md).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, NamedTuple

from app.domain.index import SkipReason

MOST_FILES: Final = 400_000
"""Files that are remembered, of all repositories together: about 150 MB."""

FORGET_SECONDS: Final = 3_600.0
RACY_NS: Final = 2_000_000_000
"""The coarsest clock of a file system in use."""


class Stamp(NamedTuple):
    """Of a file's status what differs when its content does."""

    device: int
    inode: int
    size: int
    modified_ns: int
    changed_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


class Seen(NamedTuple):
    """The content of a file that was read: its SHA-256, and why it is no text worth searching; None also where that was not asked."""

    stamp: Stamp
    sha256: bytes
    reason: SkipReason | None


@dataclass(slots=True)
class SeenFiles:
    """The files of one directory."""

    _files: dict[str, Seen] = field(default_factory=dict)
    _began: float = field(default_factory=monotonic)

    def __len__(self) -> int:
        return len(self._files)

    @property
    def is_old(self) -> bool:
        return monotonic() - self._began > FORGET_SECONDS

    def get(self, path: str, stamp: tuple[int, ...] | None) -> Seen | None:
        """What was read at this path, if the file has not been touched since."""
        seen = self._files.get(path)
        return seen if seen is not None and seen.stamp == stamp else None

    def remember(self, path: str, seen: Seen, began_ns: int) -> None:
        """Note a file that was read at ``began_ns`` (``time.time_ns``) or later."""
        if max(seen.stamp.modified_ns, seen.stamp.changed_ns) < began_ns - RACY_NS:
            self._files[path] = seen

    def keep(self, paths: set[str]) -> None:
        """Forget all others."""
        for path in self._files.keys() - paths:
            del self._files[path]


class SeenRepositories:
    """The files of the repositories that a process indexed last, as many as there is room for."""

    def __init__(self) -> None:
        self._repositories: OrderedDict[Hashable, SeenFiles] = OrderedDict()

    def of(self, repository: Hashable) -> SeenFiles:
        """Those of one repository."""
        seen = self._repositories.pop(repository, None)
        if seen is None or seen.is_old:
            seen = SeenFiles()
        while self._repositories and sum(map(len, self._repositories.values())) + len(seen) > MOST_FILES:
            self._repositories.popitem(last=False)
        if len(seen) <= MOST_FILES:
            self._repositories[repository] = seen
        return seen
