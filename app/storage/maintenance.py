"""Keeps the store quick after loading: the planner's statistics and what the trigram and word indexes have pending."""

from __future__ import annotations

from typing import Final

from app.storage import bulk_load
from app.storage.engine import Connection

ANALYZE_FILES: Final = 200
_CONTENT: Final = ("file_version", "chunk", "symbol", "reference", "import", "binding", "posting", "name_word")
_GRAPH: Final = ("file", "edge", "external", "file_link", "centrality")
_PENDING: Final = ("chunk_text_trigrams", "symbol_name_trigrams", "symbol_words", "file_version_name_words")


async def content_loaded(connection: Connection, files: int) -> None:
    """After the content of ``files`` files: build indexes that were put off, merge what is pending, which every search would read
    through, and refresh statistics."""
    if files:
        await bulk_load.complete(connection)
        for index in _PENDING:
            await connection.execute(f"SELECT gin_clean_pending_list('{index}')")
    await _analyze(connection, _CONTENT, files)


async def graph_loaded(connection: Connection, files: int) -> None:
    """After the edges of ``files`` files."""
    await _analyze(connection, _GRAPH, files)


async def _analyze(connection: Connection, tables: tuple[str, ...], files: int) -> None:
    """All tables after many files; else those without statistics, of which the planner believes that any key leads to one row."""
    if files < ANALYZE_FILES:
        unknown = "SELECT relname FROM pg_class WHERE oid = ANY($1::text[]::regclass[]) AND reltuples < 0"
        tables = tuple(row["relname"] for row in await connection.fetch(unknown, [f'"{table}"' for table in tables]))
    if tables:
        await connection.execute("ANALYZE " + ", ".join(f'"{table}"' for table in tables))
