"""Resolves repositories to their published generations: the index that one answer is read from."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final

import asyncpg

from app.domain.access import repository_not_found, require_repository, visible_ids
from app.domain.errors import CursorExpired, NotIndexed, RevisionNotFound
from app.domain.files import SkippedFile
from app.domain.globs import split_excluded, split_globs
from app.domain.index import short_name
from app.domain.query import Filters, Scope, Snapshot
from app.domain.vectors import VectorSet
from app.storage.pool import Pool

SHORTEST_COMMIT: Final = 7
"""Characters of a commit's id that tell it well enough."""

MOST_CHOICES: Final = 20

_COLUMNS = """
    SELECT r.id, r.name, b.branch_id, g.generation, g.revision, g.published_at, f.name AS ref, r.url,
           f.known_revision IS DISTINCT FROM g.revision OR g.config_version <> r.config_version AS stale,
           g.files, g.skipped, g.chunks, b.embeddings_pending, b.embeddings_failed, b.embeddings_withheld, g.coverage,
           v.id AS set_id, v.name AS set_name, v.kind AS set_kind, v.model AS set_model, v.indexed_to AS set_indexed_to
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    LEFT JOIN vector_set v ON v.state = 'serving'
"""

# The ref that a request names: in full, in short, or by the beginning of an indexed commit's id; a branch before a tag of the same name.
CURRENT = f"""{_COLUMNS}
    LEFT JOIN LATERAL (
        SELECT f.* FROM ref f
        LEFT JOIN generation x ON x.repository_id = f.repository_id AND x.branch_id = b.branch_id AND x.generation = f.generation
        WHERE f.repository_id = r.id AND CASE WHEN $2::text IS NULL THEN f.is_default
            ELSE f.name IN ($2, 'refs/heads/' || $2, 'refs/tags/' || $2)
                OR (length($2) >= {SHORTEST_COMMIT} AND starts_with(x.revision, $2)) END
        ORDER BY f.name = $2 DESC, f.name = 'refs/heads/' || $2 DESC, f.name = 'refs/tags/' || $2 DESC, f.is_default DESC, f.name
        LIMIT 1
    ) f ON true
    LEFT JOIN generation g ON g.repository_id = b.repository_id AND g.branch_id = b.branch_id AND g.generation = f.generation
    WHERE ($1::text[] = '{{}}' OR r.name = ANY($1)) AND ($3::int[] IS NULL OR r.id = ANY($3))
    ORDER BY r.name
"""

PINNED = f"""{_COLUMNS}
    JOIN unnest($1::int[], $2::int[]) AS wanted(repository_id, generation) ON wanted.repository_id = r.id
    JOIN generation g ON g.repository_id = b.repository_id AND g.branch_id = b.branch_id AND g.generation = wanted.generation
    LEFT JOIN LATERAL (
        SELECT * FROM ref f WHERE f.repository_id = r.id ORDER BY f.generation = g.generation DESC NULLS LAST, f.is_default DESC LIMIT 1
    ) f ON true
    ORDER BY r.name
"""

REFS = """
    SELECT r.name, array_agg(regexp_replace(f.name, '^refs/(heads|tags)/', '') ORDER BY f.is_default DESC, f.kind, f.name) AS refs
    FROM repository r JOIN ref f ON f.repository_id = r.id WHERE $1::text[] = '{}' OR r.name = ANY($1) GROUP BY r.name ORDER BY r.name
"""

FILES = """
    SELECT count(*)
    FROM unnest($1::int[], $2::smallint[], $3::int[]) AS s(repository_id, branch_id, generation)
    JOIN file f ON f.repository_id = s.repository_id AND f.branch_id = s.branch_id
        AND f.from_gen <= s.generation AND f.to_gen > s.generation
    WHERE ($4::text[] IS NULL OR f.language = ANY($4))
      AND ($5::text[] IS NULL OR f.path ~ ANY($5))
      AND ($6::text[] IS NULL OR NOT f.path ~ ANY($6))
      AND ($7::text[] IS NULL OR f.language IS NULL OR NOT f.language = ANY($7))
"""


# A generation knows how many it has: counting some thousand rows took longer than the search.
SKIPPED: Final = """
    SELECT s.repository, k.path, k.reason
    FROM unnest($1::int[], $2::smallint[], $3::int[], $4::text[]) AS s(repository_id, branch_id, generation, repository)
    CROSS JOIN LATERAL (
        SELECT k.path, k.reason FROM skipped_file k
        WHERE k.repository_id = s.repository_id AND k.branch_id = s.branch_id AND k.from_gen <= s.generation AND k.to_gen > s.generation
        ORDER BY k.path LIMIT $5
    ) k
    ORDER BY s.repository, k.path LIMIT $5
"""


class Snapshots:
    """The SnapshotStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def resolve(self, repositories: Sequence[str], revision: str | None = None) -> Scope:
        """See ports.SnapshotStore; repositories that were never published are left out unless they are named."""
        for name in repositories:
            require_repository(name, "repositories")
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(CURRENT, list(dict.fromkeys(repositories)), revision, visible_ids())
            if revision is not None and (unknown := _without_revision(rows, repositories)):
                raise RevisionNotFound(_choices(revision, await connection.fetch(REFS, unknown)), field="filters.revision")
        found = {row["name"]: row for row in rows}
        for name in repositories:
            if name not in found:
                raise repository_not_found(name, "repositories")
            if found[name]["generation"] is None:
                raise NotIndexed(f"{name!r} has no published index yet", field="repositories", retry_after=2)
        return _scope([row for row in rows if row["generation"] is not None])

    async def resolve_pinned(self, generations: Mapping[int, int]) -> Scope:
        """See ports.SnapshotStore."""
        visible = visible_ids()
        if visible is not None and not generations.keys() <= set(visible):
            raise CursorExpired(field="cursor")
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(PINNED, list(generations.keys()), list(generations.values()))
        if len(rows) != len(generations):
            raise CursorExpired(field="cursor")
        return _scope(rows)

    async def skipped_files(self, scope: Scope, most: int) -> tuple[Sequence[SkippedFile], int]:
        """See ports.SnapshotStore."""
        async with self._pool.keyed() as connection:
            rows = await connection.fetch(SKIPPED, *scope.columns, [snapshot.repository for snapshot in scope.snapshots], most)
        return [SkippedFile(**row) for row in rows], sum(snapshot.skipped for snapshot in scope.snapshots)

    async def count_files(self, scope: Scope, filters: Filters) -> int:
        """See ports.SnapshotStore."""
        include, exclude = split_globs(filters.paths)
        languages, other_languages = split_excluded(filters.languages)
        async with self._pool.keyed() as connection:
            found: int = await connection.fetchval(
                FILES,
                *scope.columns,
                languages or None,
                include or None,
                exclude or None,
                other_languages or None,
            )
        return found


def _without_revision(rows: Sequence[asyncpg.Record], named: Sequence[str]) -> list[str]:
    """The named repositories that have no such revision; all of them when none were named and none has it."""
    lacking = [row["name"] for row in rows if row["ref"] is None]
    return [name for name in lacking if name in named] if named else lacking if len(lacking) == len(rows) else []


def _choices(revision: str, rows: Sequence[asyncpg.Record]) -> str:
    shown = "; ".join(f"{row['name']} has {', '.join(row['refs'][:MOST_CHOICES])}" for row in rows[:MOST_CHOICES])
    return f"no branch, tag or indexed commit is named {revision!r}" + (f"; {shown}" if shown else "")


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
        ref=short_name(row["ref"] or ""),
        url=row["url"],
        files_by_outcome=json.loads(row["coverage"])["by_outcome"],
    )
