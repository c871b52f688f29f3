"""Addresses at which a result can be read as it was indexed, whatever its branch does later."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus

from app.domain.query import Snapshot

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REMOTE: Final = re.compile(r"(?:https|ssh)://(?:[\w.-]+@)?(?P<host>[A-Za-z0-9.-]+)(?::\d+)?/(?P<path>.+?)(?:\.git)?")

_FORGES: Final = (
    (re.compile(r"(^|\.)github\."), "blob/{revision}/{file}#L{start}-L{end}"),
    (re.compile(r"(^|\.)gitlab\."), "-/blob/{revision}/{file}#L{start}-{end}"),
    (re.compile(r"(^|\.)(gitea|forgejo)\.|^codeberg\.org$"), "src/commit/{revision}/{file}#L{start}-L{end}"),
    (re.compile(r"^bitbucket\.org$"), "src/{revision}/{file}#lines-{start}:{end}"),
)
"""How forges write the lines of a file at a commit; known by their hosts."""


_quoted = lru_cache(maxsize=1_000)(quote_plus)
"""Of the results of a page, the repository and its revision are the same."""


def permalink(snapshot: Snapshot, path: str, start: int, end: int) -> str:
    """The forge's own page where the remote's host tells which one it is, else this service's ``/v1/files``."""
    remote = _REMOTE.fullmatch(snapshot.url or "")
    if remote and _COMMIT.fullmatch(snapshot.revision):
        for host, form in _FORGES:
            if host.search(remote["host"]):
                place = form.format(revision=snapshot.revision, file=quote(path), start=start, end=end)
                return f"https://{remote['host']}/{remote['path']}/{place}"
    repository, path, revision = map(_quoted, (snapshot.repository, path, snapshot.revision))
    return f"/v1/files?repository={repository}&path={path}&revision={revision}&lines={start}-{end}"
