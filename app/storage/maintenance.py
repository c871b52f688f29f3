"""Keeps the store quick after loading: statistics, the trigram index's pending list, and the sweep of dead content."""

from __future__ import annotations

from typing import Final

from app.storage.engine import Connection

ANALYZE_FILES: Final = 200
_TABLES: Final = ("file", "file_version", "chunk", "symbol", "reference", "import", "edge", "centrality", "posting", "name_word")


async def after_load(connection: Connection, *, grew: int) -> None:
    """Refresh the planner's statistics when a run added many files, and merge the trigrams it left in the pending list."""
    if grew:
        await connection.execute("SELECT gin_clean_pending_list('chunk_text_trigrams')")
        await connection.execute("SELECT gin_clean_pending_list('symbol_name_trigrams')")
    if grew >= ANALYZE_FILES:
        await connection.execute("ANALYZE " + ", ".join(_TABLES))
