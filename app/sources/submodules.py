"""Fetches the submodules of a commit at the commits that it pins, into the same object store. One that cannot be had is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin

import structlog

from app.domain.errors import FourfoldError, InvalidRequest
from app.sources.commit_tree import COMMIT, BlobReader, entries
from app.sources.git import Git, GitError
from app.sources.mirror import Mirror

MOST_SUBMODULES: Final = 100

_log = structlog.get_logger(__name__)


def fetch_submodules(mirror: Mirror, commit: str) -> tuple[Mapping[bytes, str], Mapping[bytes, str]]:
    """Of the submodules that are here now path → commit, of the others path → reason. Blocking; raises GitError.

    Submodules of submodules are not followed.
    """
    pinned = [entry for entry in entries(mirror.git, commit) if entry.mode == COMMIT][:MOST_SUBMODULES]
    urls = _urls(mirror.git, commit) if pinned else {}
    found: dict[bytes, str] = {}
    failed: dict[bytes, str] = {}
    for entry in pinned:
        try:
            if mirror.commit_of(entry.oid) is None:
                mirror.of_another(_address(mirror.address.url, urls.get(entry.path))).fetch_commit(entry.oid)
            found[entry.path] = entry.oid
        except FourfoldError as error:
            failed[entry.path] = error.message
            _log.warning("submodule_unavailable", path=entry.path.decode("utf-8", "backslashreplace"), error=error.message)
    return found, failed


def _address(parent: str, url: str | None) -> str:
    if url is None:
        raise InvalidRequest("the submodule has no address in .gitmodules")
    return urljoin(f"{parent}/", url) if url.startswith(("./", "../")) else url


def _urls(git: Git, commit: str) -> Mapping[bytes, str]:
    """Path → address, as ``.gitmodules`` has them."""
    file = next((entry for entry in entries(git, commit) if entry.path == b".gitmodules" and entry.size is not None), None)
    if file is None:
        return {}
    with BlobReader(git) as reader:
        text = reader.read(file.oid)
    try:
        listed = git.run("config", "--file", "-", "--null", "--list", stdin=text)
    except GitError:
        return {}
    settings = dict(line.partition(b"\n")[::2] for line in listed.split(b"\0") if line)
    paths = {
        key.removesuffix(b".path"): value for key, value in settings.items() if key.startswith(b"submodule.") and key.endswith(b".path")
    }
    return {path: settings[key + b".url"].decode("utf-8", "replace") for key, path in paths.items() if key + b".url" in settings}
