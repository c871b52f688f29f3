"""Answers what a name at a place of an indexed file means, by parsing that one file and reading the facts of those around it."""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.errors import QueryNotServable
from app.domain.position import DefinitionSite, NameAt
from app.domain.query import Snapshot
from app.domain.symbols import IndexedFile
from app.indexing.neighbourhood import Neighbourhood
from app.indexing.positions import SourceFile, name_at
from app.indexing.resolve import DefinitionIndex
from app.languages.registry import LanguageSpec, language
from app.storage.edge_reads import edges_at
from app.storage.engine import Connection
from app.storage.facts import FactReader
from app.storage.pool import Pool
from app.storage.symbol_rows import lines, place_of

MOST_CHARACTERS: Final = 400_000
"""Of a file that is parsed for an answer: it takes up to half a second, in which the process answers nothing else."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A parsed file, the definitions of the files around it and its own, and path → file id of all."""

    file: SourceFile
    index: DefinitionIndex
    live: Mapping[str, int]


class DefinitionLookup:
    """The PositionReader over PostgreSQL. Files that were asked for last stay parsed: an editor asks for one place after the other."""

    MOST_OPENED: Final = 8

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._opened: OrderedDict[tuple[int, int, int, str], _Opened] = OrderedDict()
        self._parsing = asyncio.Lock()  # a language has one parser per process

    async def name_at(self, snapshot: Snapshot, file: IndexedFile, line: int, column: int) -> NameAt | None:
        """See ports.PositionReader."""
        place = file.module.place
        spec = language(place.language) if place is not None and place.language is not None else None
        if spec is None or spec.grammar is None:
            return None
        async with self._parsing, self._pool.keyed() as connection:
            opened = await self._open(connection, spec, snapshot, file)
            found = await asyncio.to_thread(name_at, opened.file, opened.index, line, column)
            if found is None:
                return None
            if found.definitions:
                return replace(found, definitions=await _with_columns(connection, snapshot, opened.live, found.definitions))
            references = enumerate(opened.file.facts.references)
            at = next((number for number, r in references if (r.line, r.column) == (found.line, found.column)), None)
            sites = [] if at is None else await edges_at(connection, place_of(snapshot), opened.live[file.path], at)
            return replace(found, definitions=await _with_columns(connection, snapshot, opened.live, sites))

    async def _open(self, connection: Connection, spec: LanguageSpec, snapshot: Snapshot, file: IndexedFile) -> _Opened:
        key = (*place_of(snapshot), file.path)
        if key not in self._opened:
            source = "\n".join(file.lines)
            if len(source) > MOST_CHARACTERS:
                raise QueryNotServable(f"places are looked up in files of at most {MOST_CHARACTERS:,} characters")
            live = await FactReader(connection, *place_of(snapshot)).live()
            around = await Neighbourhood(connection, snapshot, live).of(file.path)
            parsed = await asyncio.to_thread(SourceFile, spec, file.path, source)
            self._opened[key] = _Opened(parsed, DefinitionIndex([parsed.facts, *around]), live)
        self._opened.move_to_end(key)
        while len(self._opened) > self.MOST_OPENED:
            self._opened.popitem(last=False)
        return self._opened[key]


async def _with_columns(
    connection: Connection, snapshot: Snapshot, live: Mapping[str, int], sites: Sequence[DefinitionSite]
) -> tuple[DefinitionSite, ...]:
    """The sites with the columns of those in other files: where their line says the name first."""
    unknown = {(live[site.path], site.line) for site in sites if site.column is None and site.path in live}
    texts = await lines(connection, snapshot, sorted(unknown))
    return tuple(
        site if site.column is not None else replace(site, column=_column(site.name, texts.get((live.get(site.path, 0), site.line), "")))
        for site in sites
    )


def _column(name: str, line: str) -> int | None:
    found = re.search(rf"(?<![\w$]){re.escape(name)}(?![\w$])", line)
    return found.start() if found is not None else None
