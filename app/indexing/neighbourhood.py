"""The files that decide what the names of one file mean: what it uses, and what these import and inherit from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.facts import FileFacts
from app.domain.manifests import is_manifest
from app.domain.query import Snapshot
from app.domain.symbol_id import file_symbol_id
from app.storage.edge_reads import files_of_symbols, used_by_files
from app.storage.engine import Connection
from app.storage.facts import FactReader
from app.storage.symbol_rows import place_of

MOST_FILES: Final = 80
"""Files that are read for one answer: some 100 ms. What lies further away can change the meaning of few names."""

MOST_MANIFESTS: Final = 200
LEVELS: Final = 3

_PASSED_ON: Final = ("imports", "inherits")


class Neighbourhood:
    """Reads over one snapshot. ``live``: path → file id of its files."""

    def __init__(self, connection: Connection, snapshot: Snapshot, live: Mapping[str, int]) -> None:
        self._connection = connection
        self._at: Final = place_of(snapshot)
        self._live = live
        self._modules: Final = {file_symbol_id(path): file_id for path, file_id in live.items()}

    async def of(self, path: str) -> Sequence[FileFacts]:
        """The facts of the files around the one at ``path``, nearest first up to the bound, itself left out."""
        own = self._live[path]
        found: dict[int, None] = {own: None}
        level, kinds = [own], None
        for _ in range(LEVELS):
            level = [file_id for file_id in await self._used(level, kinds) if file_id not in found][: MOST_FILES - len(found) + 1]
            found |= dict.fromkeys(level)
            kinds = list(_PASSED_ON)
            if not level:
                break
        wanted = {*found, *self._packages(found), *self._manifests()} - {own}
        return await FactReader(self._connection, *self._at).files(sorted(wanted))

    async def _used(self, file_ids: Sequence[int], kinds: Sequence[str] | None) -> list[int]:
        """The files that hold what these use, the most used first."""
        targets = await used_by_files(self._connection, self._at, file_ids, kinds)
        holders = await files_of_symbols(self._connection, self._at, targets)
        files = (self._modules.get(target) or holders.get(target) for target in targets)
        return list(dict.fromkeys(file_id for file_id in files if file_id is not None))

    def _packages(self, file_ids: Mapping[int, None]) -> set[int]:
        """The files that make folders of these packages: whether they are there decides how a Python module is named."""
        folders = {path.rpartition("/")[0] for path, file_id in self._live.items() if file_id in file_ids}
        paths = (f"{folder}/__init__.py" if folder else "__init__.py" for folder in folders)
        return {self._live[path] for path in paths if path in self._live}

    def _manifests(self) -> list[int]:
        """The project files that say how imports are written, those near the root first."""
        paths = sorted((path for path in self._live if is_manifest(path.rpartition("/")[2])), key=lambda path: (path.count("/"), path))
        return [self._live[path] for path in paths[:MOST_MANIFESTS]]
