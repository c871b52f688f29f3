"""Which of the repositories that a request names the ``repo:`` filters of its text let through."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from app.domain.globs import glob_regex, split_excluded
from app.domain.query import Scope


def within(scope: Scope, patterns: Sequence[str]) -> Scope:
    """The snapshots whose repository one of the globs names and no glob with a leading ``!``; ``owner/name`` counts as ``name``."""
    if not patterns:
        return scope
    wanted, excluded = ([_compiled(glob) for glob in globs] for globs in split_excluded(patterns))

    def passes(name: str) -> bool:
        named = not wanted or any(pattern.match(name) for pattern in wanted)
        return named and not any(pattern.match(name) for pattern in excluded)

    return replace(scope, snapshots=tuple(snapshot for snapshot in scope.snapshots if passes(snapshot.repository)))


def _compiled(glob: str) -> re.Pattern[str]:
    return re.compile(glob_regex(glob.rstrip("/").rpartition("/")[2]), re.IGNORECASE)
