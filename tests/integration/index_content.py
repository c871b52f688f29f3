"""Everything that a reader can see of one generation, as sorted rows: equal indexes give equal rows, whatever their ids."""

from __future__ import annotations

from typing import Any, Final

from app.bootstrap import Backend
from app.storage.engine import connection
from app.storage.snapshots import Snapshots

_SHOWN: Final = "x.repository_id = $1 AND x.branch_id = $2 AND x.from_gen <= $3 AND x.to_gen > $3"
_FILE: Final = f"FROM file x JOIN %s USING (repository_id, file_id) WHERE {_SHOWN}"
_PARTS: Final = {
    "files": f"SELECT path, language, path_class FROM file x WHERE {_SHOWN}",
    "outcomes": f"SELECT v.path, outcome, reason, chunks {_FILE % 'file_version v'}",
    "skipped": f"SELECT path, reason FROM skipped_file x WHERE {_SHOWN}",
    "chunks": f"SELECT path, start_line, end_line, text {_FILE % 'chunk'}",
    "symbols": f"SELECT path, ordinal, symbol_id, qualified, kind {_FILE % 'symbol'}",
    "references": f"SELECT path, ordinal, line, enclosing, name, x2.kind, receiver {_FILE % 'reference x2'}",
    "imports": f"SELECT path, ordinal, module, name, local, line, reexport {_FILE % 'import'}",
    "bindings": f"SELECT path, packed {_FILE % 'binding'}",
    "edges": f"SELECT source, target, kind, class, line FROM edge x WHERE {_SHOWN}",
    "links": f"SELECT v.path, x.target, x.edges FROM file_link x JOIN file_version v USING (repository_id, file_id) WHERE {_SHOWN}",
}
_COUNTS: Final = "SELECT files, skipped, chunks, coverage FROM generation WHERE repository_id = $1 AND branch_id = $2 AND generation = $3"
_CENTRALITY: Final = f"SELECT symbol_id, value FROM centrality x WHERE {_SHOWN}"


async def index_content(backend: Backend, name: str, revision: str | None = None) -> tuple[dict[str, list[Any]], dict[int, float]]:
    """The rows of each part, and the centralities apart: those are rewritten only when they move by more than a twentieth."""
    shown = (await Snapshots(backend.pool).resolve((name,), revision)).snapshots[0]
    key = (shown.repository_id, shown.branch_id, shown.generation)
    async with connection(backend.dsn) as own:
        rows = {part: sorted((tuple(row) for row in await own.fetch(text, *key)), key=repr) for part, text in _PARTS.items()}
        rows["counts"] = [tuple(row) for row in await own.fetch(_COUNTS, *key)]
        return rows, {row["symbol_id"]: row["value"] for row in await own.fetch(_CENTRALITY, *key)}
