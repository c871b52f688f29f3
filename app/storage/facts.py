"""Reads back what extraction found, for the resolution of edges: of all files, or of some with their references."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from sys import intern

import asyncpg

from app.domain.code import Import, Reference, ReferenceKind, Symbol, SymbolKind
from app.domain.facts import FileFacts
from app.storage.engine import Connection
from app.storage.like import containing
from app.storage.packed import unpack

_SYMBOLS = "file_id, symbol_id, name, qualified, kind, start_line, end_line, name_line, signature, exported, container"
_IMPORTS = "file_id, module, name, local, line, reexport"
_REFERENCES = "file_id, name, kind, line, receiver, enclosing"
_LIVE = "FROM file WHERE repository_id = $1 AND branch_id = $2 AND from_gen <= $3 AND to_gen > $3 AND language IS NOT NULL"

LIVE_FILES = f"SELECT path, file_id {_LIVE} ORDER BY path"
CHUNK_COUNTS = "SELECT file_id, chunks FROM file_version WHERE repository_id = $1 AND file_id = ANY($2::int[])"
SYMBOL_COUNT = "SELECT count(*) FROM symbol WHERE repository_id = $1 AND file_id = ANY($2::int[])"
FILES = "SELECT file_id, path, language FROM file_version WHERE repository_id = $1 AND file_id = ANY($2::int[]) ORDER BY path"
SYMBOLS = f"SELECT {_SYMBOLS} FROM symbol WHERE repository_id = $1 AND file_id = ANY($2::int[]) ORDER BY file_id, ordinal"
IMPORTS = f"SELECT {_IMPORTS} FROM import WHERE repository_id = $1 AND file_id = ANY($2::int[]) ORDER BY file_id, ordinal"
REFERENCES = f"SELECT {_REFERENCES} FROM reference WHERE repository_id = $1 AND file_id = ANY($2::int[]) ORDER BY file_id, ordinal"
BINDINGS = "SELECT file_id, packed FROM binding WHERE repository_id = $1 AND file_id = ANY($2::int[])"
BASES = REFERENCES.replace("ORDER BY", "AND kind = 'inherit' ORDER BY")

# Imports are resolved by paths: where a file is found, and in which language, counts though it be empty.
MATTER = """
    SELECT EXISTS (SELECT FROM symbol WHERE repository_id = $1 AND file_id = ANY($2::int[]))
        OR EXISTS (SELECT FROM reference WHERE repository_id = $1 AND file_id = ANY($2::int[]))
        OR EXISTS (SELECT FROM import WHERE repository_id = $1 AND file_id = ANY($2::int[]))
        OR EXISTS (SELECT FROM binding WHERE repository_id = $1 AND file_id = ANY($2::int[]))
        OR EXISTS (
            SELECT FROM file_version WHERE repository_id = $1 AND file_id = ANY($2::int[]) AND language IS NOT NULL
            GROUP BY path, language HAVING count(*) <> 2
        )
"""

# A pattern of all names, tried on every reference, took seconds. A dozen references share a receiver: OFFSET 0 has each split once.
# What is no ASCII character counts as a letter: PostgreSQL's letters and Python's are not the same.
USING_NAMES = f"""
    WITH reached AS MATERIALIZED (
        SELECT receiver
        FROM (SELECT DISTINCT receiver FROM reference WHERE repository_id = $1 AND receiver IS NOT NULL OFFSET 0) every
        WHERE regexp_split_to_array(receiver, '[^A-Za-z0-9_\u0080-\U0010ffff]+') && $4::text[]
    )
    SELECT DISTINCT file_id FROM reference
    WHERE repository_id = $1 AND file_id IN (SELECT file_id {_LIVE})
        AND (name = ANY($4::text[]) OR receiver = ANY(SELECT receiver FROM reached))
"""

# For a few names one pass is quicker: nearly every receiver fails the first test. For many names that test would be the dearer one.
USING_FEW_NAMES = f"""
    SELECT DISTINCT file_id FROM reference
    WHERE repository_id = $1 AND file_id IN (SELECT file_id {_LIVE})
        AND (name = ANY($4::text[]) OR (
            receiver LIKE ANY($5::text[]) AND regexp_split_to_array(receiver, '[^A-Za-z0-9_\u0080-\U0010ffff]+') && $4::text[]
        ))
"""
FEW_NAMES = 4

_KINDS = {kind.value: kind for kind in SymbolKind}  # rows come by the hundred thousand, and calling an enum takes a microsecond
_USES = {kind.value: kind for kind in ReferenceKind}


class FactReader:
    """Reads the facts of one generation of one branch."""

    def __init__(self, connection: Connection, repository_id: int, branch_id: int, generation: int) -> None:
        self._connection = connection
        self._repository_id = repository_id
        self._key = (repository_id, branch_id, generation)

    async def live(self) -> dict[str, int]:
        """path → file id of the files with a language, in the order of paths."""
        return {row["path"]: row["file_id"] for row in await self._connection.fetch(LIVE_FILES, *self._key)}

    async def chunks(self, file_ids: Collection[int]) -> dict[int, int]:
        """file id → number of chunks, a measure of its facts that is known without reading them."""
        rows = await self._connection.fetch(CHUNK_COUNTS, self._repository_id, list(file_ids))
        return {row["file_id"]: row["chunks"] for row in rows}

    async def matter(self, file_ids: Collection[int]) -> bool:
        """Whether an edge can be another when these file versions come or go: not if none says anything and each replaces another."""
        found: bool = await self._connection.fetchval(MATTER, self._repository_id, list(file_ids))
        return found

    async def symbols(self, file_ids: Collection[int]) -> int:
        """The number of symbols in these file versions.

        By their ids: the planner does not know yet how many files a run shows, and joined them to the symbols by nested loops.
        """
        found: int = await self._connection.fetchval(SYMBOL_COUNT, self._repository_id, list(file_ids))
        return found

    async def files(self, file_ids: Sequence[int]) -> list[FileFacts]:
        """Symbols, imports, bindings and base lists of file versions, be they live or not; other references are left out."""
        if not file_ids:
            return []
        arguments = (self._repository_id, list(file_ids))
        symbols = _grouped(await self._connection.fetch(SYMBOLS, *arguments))
        imports = _grouped(await self._connection.fetch(IMPORTS, *arguments))
        bindings = {row["file_id"]: unpack(row["packed"]) for row in await self._connection.fetch(BINDINGS, *arguments)}
        bases = _grouped(await self._connection.fetch(BASES, *arguments))
        return [
            FileFacts(
                row["file_id"],
                row["path"],
                row["language"] or "",
                [_symbol(x) for x in symbols[row["file_id"]]],
                [x["symbol_id"] for x in symbols[row["file_id"]]],
                [_reference(x) for x in bases[row["file_id"]]],
                [_import(x) for x in imports[row["file_id"]]],
                bindings.get(row["file_id"], ()),
            )
            for row in await self._connection.fetch(FILES, *arguments)
        ]

    async def references(self, file_ids: Sequence[int]) -> dict[int, Sequence[Reference]]:
        """The references of these files, in order; an entry for each of them."""
        if not file_ids:
            return {}
        grouped = _grouped(await self._connection.fetch(REFERENCES, self._repository_id, list(file_ids)))
        return {file_id: [_reference(row) for row in grouped[file_id]] for file_id in file_ids}

    async def files_using(self, names: Iterable[str]) -> set[int]:
        """Live files that refer to any of these names, or reach through one."""
        wanted = sorted(names)
        if not wanted:
            return set()
        if len(wanted) > FEW_NAMES:
            rows = await self._connection.fetch(USING_NAMES, *self._key, wanted)
        else:
            patterns = [containing(name) for name in wanted]
            rows = await self._connection.fetch(USING_FEW_NAMES, *self._key, wanted, patterns)
        return {row["file_id"] for row in rows}


def _grouped(rows: Sequence[asyncpg.Record]) -> defaultdict[int, list[asyncpg.Record]]:
    grouped: defaultdict[int, list[asyncpg.Record]] = defaultdict(list)
    for row in rows:
        grouped[row["file_id"]].append(row)
    return grouped


def _symbol(row: asyncpg.Record) -> Symbol:
    return Symbol(
        name=row["name"],
        qualified=row["qualified"],
        kind=_KINDS[row["kind"]],
        start_line=row["start_line"],
        end_line=row["end_line"],
        name_line=row["name_line"],
        name_column=0,
        signature=row["signature"],
        doc="",
        exported=row["exported"],
        container=row["container"],
    )


def _reference(row: asyncpg.Record) -> Reference:
    return Reference(row["name"], _USES[row["kind"]], row["line"], 0, row["receiver"], row["enclosing"])


def _import(row: asyncpg.Record) -> Import:
    return Import(intern(row["module"]), row["name"], row["local"], row["line"], row["reexport"])
