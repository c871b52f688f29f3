"""Where the bare repositories of this service lie, one for each repository that is no directory."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from app.config import Settings
from app.domain.index import Repository
from app.sources.address import Address, AddressPolicy, parse_address
from app.sources.credentials import check_credential
from app.sources.git import Git
from app.sources.mirror import Mirror

_GONE: Final = "gone-"
"""Begins the name of a copy that is being deleted: a large one takes a while."""


class Mirrors:
    """The folder ``sources`` of the state directory. ``roots``: where file:// addresses may lead; None: anywhere."""

    def __init__(self, settings: Settings, state_dir: Path, roots: tuple[Path, ...] | None) -> None:
        self._settings = settings
        self._root: Final = state_dir / "sources"
        self._policy: Final = AddressPolicy(frozenset(settings.git.allowed_hosts), roots)

    def check(self, url: str, credential: str | None) -> Address:
        """The address as it is kept. Blocking; raises InvalidRequest when it or its credential may not be used."""
        address = parse_address(url)
        check_credential(credential, address, self._settings.credentials or {})
        self._policy.check(address)
        return address

    def git(self, repository: Repository) -> Git:
        """The object store of a repository. Its creation is in the name: an id alone may come again in another database."""
        return Git(self._root / f"{repository.id}-{int(repository.created_at.timestamp() * 1_000_000)}" / "git")

    def spool(self, repository: Repository) -> Path:
        """A directory for files that are being analysed; whatever a killed run left there is of no use."""
        return self.git(repository).directory.parent / "spool"

    def mirror(self, repository: Repository) -> Mirror:
        """The copy of a git remote; raises InvalidRequest when its address or credential is no longer allowed."""
        address = parse_address(repository.source.url or "")
        credential = check_credential(repository.source.credential, address, self._settings.credentials or {})
        return Mirror(self.git(repository).directory, address, self._policy, credential, self._settings.git)

    def remove(self, repository: Repository) -> None:
        """Delete what is kept of a repository's source. Blocking."""
        kept = self.git(repository).directory.parent
        with suppress(FileNotFoundError):
            shutil.rmtree(kept.rename(kept.with_name(f"{_GONE}{kept.name}")), ignore_errors=True)

    def sweep(self) -> int:
        """Delete what a killed process had begun to delete; how many copies. Blocking."""
        gone = list(self._root.glob(f"{_GONE}*"))
        for kept in gone:
            shutil.rmtree(kept, ignore_errors=True)
        return len(gone)
