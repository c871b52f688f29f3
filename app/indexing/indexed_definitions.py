"""The definition index of a repository, kept between the runs of one process, and the facts of files that were just extracted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Set
from typing import Final

from app.domain.analysis import FileAnalysis
from app.domain.facts import FileFacts
from app.indexing.resolve import DefinitionIndex, prepare

MOST_FACTS: Final = 500_000
"""Symbols and references of just extracted files that are kept in memory: about 200 MB. A run that finds more keeps none of them."""

MOST_COMPLETE: Final = 1_000_000
"""Symbols of a repository whose definitions are all looked at when names are resolved; of a larger one fields, values and macros are
left out, so that resolving takes some 500 MB for a million functions and types (docs/decisions/0019-incremental-runs.md)."""

MOST_SYMBOLS: Final = 200_000
"""The largest index that is kept between runs: about 130 MB."""

PREPARED_AT_ONCE: Final = 200
"""Files, a tenth of a second."""


class FreshFacts:
    """Facts by file id of what this run extracted, if they take little memory; else they are read back from the store."""

    def __init__(self) -> None:
        self._files: Final[dict[int, FileFacts]] = {}
        self._kept = 0

    def keep(self, file_id: int, analysis: FileAnalysis) -> None:
        if analysis.language is None or self._kept > MOST_FACTS:
            return
        found = analysis.extraction
        self._kept += len(found.references) + len(found.symbols)
        if self._kept > MOST_FACTS:
            self._files.clear()
            return
        self._files[file_id] = FileFacts(
            file_id, analysis.path, analysis.language, found.symbols, analysis.symbol_ids, found.references, found.imports, found.bindings
        )

    def of(self, file_ids: Iterable[int]) -> dict[int, FileFacts]:
        """The facts of those of these files that are known."""
        return {file_id: self._files[file_id] for file_id in file_ids if file_id in self._files}


class IndexedDefinitions:
    """A definition index that knows which version of each file is in it."""

    def __init__(self) -> None:
        self.index: Final = DefinitionIndex()
        self._file_ids: Final[dict[str, int]] = {}

    def missing(self, live: Mapping[str, int]) -> Set[int]:
        """The file versions that the index has not, given path → file id of all."""
        return {file_id for path, file_id in live.items() if self._file_ids.get(path) != file_id}

    def keep(self, live: Mapping[str, int]) -> None:
        """Forget what is not among these files. A version never changes, so that what stays in the index is as it should be."""
        for path in [path for path, file_id in self._file_ids.items() if live.get(path) != file_id]:
            del self._file_ids[path]
            self.index.remove(path)

    def add(self, files: Iterable[FileFacts], *, sparse: bool) -> None:
        """Take in files that are missing."""
        for file in files:
            self.index.add(file, sparse=sparse)
            self._file_ids[file.path] = file.file_id


def is_kept(index: DefinitionIndex) -> bool:
    """Whether the next run will find it in memory: a very large one takes space that the run needs itself."""
    return index.size <= MOST_SYMBOLS


class DefinitionMemory:
    """What one process knows of the repository that it indexed last, so that the next run reads back only what is new."""

    def __init__(self) -> None:
        self._repository: object = None
        self._definitions = IndexedDefinitions()
        self._filling: asyncio.Future[None] | None = None

    def fill(self, filling: asyncio.Future[None]) -> None:
        """Somebody reads what will be put back: whoever takes it waits for that, since he would read the same."""
        self._filling = filling

    def prepare(self, most: int = PREPARED_AT_ONCE) -> bool:
        """Read of some files what the next change will ask of all of them; false when there is nothing left to read. Blocks briefly."""
        waiting = [module for module in self._definitions.index.modules.values() if module.vocabulary is None]
        for module in waiting[:most]:
            prepare(module)
        return bool(waiting)

    async def take(self, repository: object) -> IndexedDefinitions:
        """What is known of a repository, empty for another one. It is given away: a run that fails leaves nothing half done behind."""
        if self._filling is not None:
            await asyncio.wait([self._filling])
        definitions = self._definitions if repository == self._repository else IndexedDefinitions()
        self._repository, self._definitions = None, IndexedDefinitions()
        return definitions

    def put_back(self, repository: object, definitions: IndexedDefinitions) -> None:
        """Keep what a run has published."""
        definitions.index.forget_derived()
        self._repository, self._definitions = repository, definitions
