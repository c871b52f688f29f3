"""The definition index of a repository, kept between the runs of one process, and the facts of files that were just extracted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final

from app.domain.analysis import FileAnalysis
from app.domain.facts import FileFacts
from app.indexing.resolve import DefinitionIndex

MOST_REFERENCES: Final = 500_000
"""References of just extracted files that are kept in memory: about 100 MB."""

MOST_SYMBOLS: Final = 200_000
"""The largest index that is kept between runs: about 130 MB."""


class FreshFacts:
    """Facts by file id of what this run extracted, as far as it takes little memory; the rest is read back from the store."""

    def __init__(self) -> None:
        self._files: Final[dict[int, FileFacts]] = {}
        self._references = 0

    def keep(self, file_id: int, analysis: FileAnalysis) -> None:
        if analysis.language is None or self._references > MOST_REFERENCES:
            return
        found = analysis.extraction
        self._references += len(found.references)
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

    def update(self, live: Mapping[str, int], missing: Iterable[FileFacts]) -> None:
        """Let the index consist of exactly these files. A version never changes, so that what is in the index already stays."""
        for path in [path for path, file_id in self._file_ids.items() if live.get(path) != file_id]:
            del self._file_ids[path]
            self.index.remove(path)
        for file in missing:
            self.index.add(file)
            self._file_ids[file.path] = file.file_id


class DefinitionMemory:
    """What one process knows of the repository that it indexed last, so that the next run reads back only what is new."""

    def __init__(self) -> None:
        self._repository: object = None
        self._definitions = IndexedDefinitions()

    def take(self, repository: object) -> IndexedDefinitions:
        """What is known of a repository, empty for another one. It is given away: a run that fails leaves nothing half done behind."""
        definitions = self._definitions if repository == self._repository else IndexedDefinitions()
        self._repository, self._definitions = None, IndexedDefinitions()
        return definitions

    def put_back(self, repository: object, definitions: IndexedDefinitions) -> None:
        """Keep what a run has published, unless it is very much."""
        definitions.index.forget_derived()
        if definitions.index.size <= MOST_SYMBOLS:
            self._repository, self._definitions = repository, definitions
