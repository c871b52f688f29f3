"""Which of the repositories that a request names the ``repo:`` filters of its text let through."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from app.domain.globs import glob_regex, matches, split_excluded
from app.domain.query import Scope, Snapshot

_SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://([^/@]*@)?")


def within(scope: Scope, patterns: Sequence[str]) -> Scope:
    """The snapshots whose repository one of the globs names and no glob with a leading ``!``.

    A glob without a slash is held against the name. One with a slash is ``owner/name``: the end of the path of the remote's address, whole
    segments of it, and the host may stand before. A repository without a remote has no owner: ``owner/name`` means it by its name in full.
    """
    if not patterns:
        return scope
    wanted, excluded = ([_RepositoryGlob(glob) for glob in globs] for globs in split_excluded(patterns))

    def passes(snapshot: Snapshot) -> bool:
        named = not wanted or any(glob.names(snapshot) for glob in wanted)
        return named and not any(glob.names(snapshot) for glob in excluded)

    return replace(scope, snapshots=tuple(snapshot for snapshot in scope.snapshots if passes(snapshot)))


class _RepositoryGlob:
    """One value of ``repo:``. What an address has around its path, a scheme and ``.git``, may be there too."""

    def __init__(self, glob: str) -> None:
        parts = _SCHEME.sub("", glob).rstrip("/").removesuffix(".git").lstrip("/").split("/")
        self._name = parts[-1]
        self._parts = [[glob_regex(part)] for part in parts]

    def names(self, snapshot: Snapshot) -> bool:
        """Whether it means this repository."""
        if len(self._parts) > 1 and snapshot.url is None:
            return self._name.lower() == snapshot.repository.lower()
        place = [snapshot.repository] if len(self._parts) == 1 else _place(snapshot.url or "")
        return len(self._parts) <= len(place) and all(
            matches(part, text, any_case=True) for part, text in zip(self._parts[::-1], place[::-1], strict=False)
        )


def _place(url: str) -> list[str]:
    """Host and path of a remote, segment by segment."""
    address = urlsplit(url)
    return [address.hostname or "", *address.path.strip("/").removesuffix(".git").split("/")]
