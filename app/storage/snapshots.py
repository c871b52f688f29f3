"""Resolves repositories to their published generations: the index that one answer is read from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import asyncpg

from app.domain.errors import CursorExpired, NotIndexed, RepositoryNotFound
from app.domain.globs import split_globs
from app.domain.query import Filters, Scope, Snapshot
from app.domain.vectors import VectorSet
from app.storage.pool import Pool

_COLUMNS = """
    SELECT r.id, r.name, b.branch_id, b.current_gen, g.generation, g.revision, g.published_at,
           b.known_revision IS DISTINCT FROM g.revision AS stale,
           g.files, g.skipped, g.chunks, b.embeddings_pending, b.embeddings_failed, b.embeddings_withheld, g.coverage,
           v.id AS set_id, v.name AS set_name, v.kind AS set_kind, v.model AS set_model, v.indexed_to AS set_indexed_to
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    LEFT JOIN vector_set v ON v.state = 'serving'
"""

CURRENT = f"""{_COLUMNS}
    LEFT JOIN generation g ON g.repository_id = b.repository_id AND g.branch_id = b.branch_id AND g.generation = b.current_gen
    WHERE $1::text[] = '{{}}' OR r.name = ANY($1)
    ORDER BY r.name
"""

PINNED = f"""{_COLUMNS}
    JOIN unnest($1::int[], $2::int[]) AS wanted(repository_id, generation) ON wanted.repository_id = r.id
    JOIN generation g ON g.repository_id = b.repository_id AND g.branch_id = b.branch_id AND g.generation = wanted.generation
    ORDER BY r.name
"""


FILES = """
    SELECT count(*)
    FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
    JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
    WHERE ($4::text[] IS NULL OR f.language = ANY($4))
      AND ($5::text[] IS NULL OR f.path ~ ANY($5))
      AND ($6::text[] IS NULL OR NOT f.path ~ ANY($6))
"""


class Snapshots:
    """The SnapshotStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def resolve(self, repositories: Sequence[str]) -> Scope:
        """See ports.SnapshotStore; repositories that were never published are left out unless they are named."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(CURRENT, list(dict.fromkeys(repositories)))
        found = {row["name"]: row for row in rows}
        for name in repositories:
            if name not in found:
                raise RepositoryNotFound(f"there is no repository named {name!r}", field="repositories")
            if found[name]["generation"] is None:
                raise NotIndexed(f"{name!r} has no published index yet", field="repositories", retry_after=2)
        return _scope([row for row in rows if row["generation"] is not None])

    async def resolve_pinned(self, generations: Mapping[int, int]) -> Scope:
        """See ports.SnapshotStore."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(PINNED, list(generations.keys()), list(generations.values()))
        if len(rows) != len(generations):
            raise CursorExpired(field="cursor")
        return _scope(rows)

    async def count_files(self, scope: Scope, filters: Filters) -> int:
        """See ports.SnapshotStore."""
        include, exclude = split_globs(filters.paths)
        async with self._pool.connection() as connection:
            found: int = await connection.fetchval(
                FILES,
                *scope.columns,
                list(filters.languages) or None,
                include or None,
                exclude or None,
            )
        return found


def _scope(rows: Sequence[asyncpg.Record]) -> Scope:
    return Scope(tuple(_snapshot(row) for row in rows), _vectors(rows[0]) if rows else None)


def _vectors(row: asyncpg.Record) -> VectorSet | None:
    if row["set_id"] is None:
        return None
    return VectorSet(row["set_id"], row["set_name"], row["set_kind"], row["set_model"], row["set_indexed_to"])


def _snapshot(row: asyncpg.Record) -> Snapshot:
    return Snapshot(
        repository_id=row["id"],
        repository=row["name"],
        branch_id=row["branch_id"],
        generation=row["generation"],
        revision=row["revision"],
        indexed_at=row["published_at"],
        stale=row["stale"],
        files=row["files"],
        skipped=row["skipped"],
        chunks=row["chunks"],
        embeddings_pending=row["embeddings_pending"],
        embeddings_failed=row["embeddings_failed"],
        embeddings_withheld=row["embeddings_withheld"],
        files_by_outcome=json.loads(row["coverage"])["by_outcome"],
    )
