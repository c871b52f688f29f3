"""The definitions and the words of names of a generation, in memory, so that a question's words are looked up without the database."""

from __future__ import annotations

import asyncio
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import asyncpg

from app.domain.query import GenerationKey
from app.storage.engine import Connection
from app.storage.generation_memory import GenerationMemory
from app.storage.name_table import EXPORTED, KINDS, TOP_LEVEL, NameGroup, NameTable
from app.storage.pool import Pool

MOST_DEFINITIONS: Final = 600_000
"""Of all generations in memory, about 320 bytes each; the one that was asked for longest ago goes first."""

DEFINITIONS_OF_ALL: Final = f"""
    SELECT c.name, c.lname, c.words, array_agg(c.qualified ORDER BY c.file_id, c.ordinal) AS qualified,
           string_agg(
               int4send(c.file_id) || int4send(c.chunk_id) || int4send(c.name_line)
               || int2send((array_position($4::text[], c.kind) - 1)::smallint)
               || int2send(({EXPORTED} * c.exported::int + {TOP_LEVEL} * (c.container IS NULL)::int)::smallint),
               '' ORDER BY c.file_id, c.ordinal
           ) AS packed
    FROM file f JOIN symbol c ON c.repository_id = f.repository_id AND c.file_id = f.file_id
    WHERE f.repository_id = $1 AND f.branch_id = $2 AND f.from_gen <= $3 AND f.to_gen > $3
    GROUP BY c.name, c.lname, c.words
"""

WORDS_OF_ALL: Final = "SELECT word, symbols FROM name_word WHERE repository_id = $1 ORDER BY word"


@dataclass(frozen=True, slots=True)
class NameWords:
    """The words of a repository's names, ascending, and how many definitions have each."""

    words: Sequence[str]
    symbols: Sequence[int]

    def counted(self, words: Iterable[str], prefixes: Iterable[str]) -> dict[str, int]:
        """The counts of these words, and of all that begin with one of the prefixes."""
        found = {}
        for word in words:
            at = bisect_left(self.words, word)
            if at < len(self.words) and self.words[at] == word:
                found[word] = self.symbols[at]
        for prefix in prefixes:
            at = bisect_left(self.words, prefix)
            while at < len(self.words) and self.words[at].startswith(prefix):
                found[self.words[at]] = self.symbols[at]
                at += 1
        return found


@dataclass(frozen=True, slots=True)
class GenerationNames:
    """What a generation defines."""

    definitions: NameTable
    words: NameWords


def counted_words(known: Mapping[int, GenerationNames], words: Collection[str], prefixes: Collection[str]) -> Mapping[str, int]:
    """``NameWords.counted``, added up over repositories."""
    total: Counter[str] = Counter()
    for names in known.values():
        total.update(names.words.counted(words, prefixes))
    return total


class NameMemory(GenerationMemory[GenerationNames]):
    """Keeps the names of the generations that were asked for last."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, lambda names: len(names.definitions), MOST_DEFINITIONS)

    async def read(self, connection: Connection, key: GenerationKey) -> GenerationNames:
        """See GenerationMemory."""
        words = await connection.fetch(WORDS_OF_ALL, key[0])
        rows = await connection.fetch(DEFINITIONS_OF_ALL, *key, [kind.value for kind in KINDS])
        table = await asyncio.to_thread(_table, rows)
        return GenerationNames(table, NameWords([row["word"] for row in words], [row["symbols"] for row in words]))


def _table(rows: Sequence[asyncpg.Record]) -> NameTable:
    shared: dict[tuple[str, ...], tuple[str, ...]] = {}  # many names differ in nothing but their case
    return NameTable(
        NameGroup(
            row["name"],
            row["lname"],
            shared.setdefault(words := tuple(map(sys.intern, row["words"])), words),
            row["packed"],
            tuple(row["qualified"]),
        )
        for row in rows
    )
