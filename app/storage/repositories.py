"""Creates, reads and deletes repositories."""

from __future__ import annotations

import json
from collections.abc import Sequence

import asyncpg

from app.domain.errors import Conflict, RepositoryNotFound
from app.domain.index import Coverage, Repository, RepositorySource
from app.storage.engine import Connection
from app.storage.pool import Pool

MAIN_BRANCH = 1
"""Id of the branch that follows a local work tree."""

_SELECT = """
    SELECT r.id, r.name, r.path, r.include, r.exclude, r.created_at, b.current_gen, b.known_revision, b.embeddings_pending,
           b.embeddings_failed, b.embeddings_withheld, g.revision, g.published_at, g.coverage
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    LEFT JOIN generation g ON g.repository_id = b.repository_id AND g.branch_id = b.branch_id AND g.generation = b.current_gen
"""

# Children before parents; the large tables have no foreign key that would cascade.
_CONTENT = (
    "edge",
    "file_link",
    "centrality",
    "embedding",
    "posting",
    "segment",
    "name_word",
    "import",
    "binding",
    "external",
    "reference",
    "symbol",
    "chunk",
    "file",
    "skipped_file",
    "file_version",
)


class Repositories:
    """The RepositoryStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, name: str, source: RepositorySource) -> tuple[Repository, bool]:
        """See ports.RepositoryStore."""
        async with self._pool.connection() as connection, connection.transaction():
            created = await connection.fetchval(
                "INSERT INTO repository (name, path, include, exclude) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING RETURNING id",
                name,
                source.path,
                list(source.include),
                list(source.exclude),
            )
            if created is not None:
                await connection.execute(
                    "INSERT INTO branch (repository_id, branch_id, ref) VALUES ($1, $2, 'work tree')", created, MAIN_BRANCH
                )
            else:
                await self._update(connection, name, source)
            return await self._get(connection, name), created is not None

    async def _update(self, connection: Connection, name: str, source: RepositorySource) -> None:
        stored = await connection.fetchrow("SELECT id, path, include, exclude FROM repository WHERE name = $1 FOR UPDATE", name)
        if stored is None:
            raise RepositoryNotFound(f"repository {name!r} was deleted meanwhile")
        if stored["path"] != source.path:
            raise Conflict(
                f"the name {name!r} belongs to another source; choose another name or delete that repository", field="source.path"
            )
        include, exclude = list(source.include), list(source.exclude)
        if (stored["include"], stored["exclude"]) == (include, exclude):
            return
        await connection.execute("UPDATE repository SET include = $2, exclude = $3 WHERE id = $1", stored["id"], include, exclude)
        # A run that began with other globs is no longer one that an equal request may join.
        await connection.execute("UPDATE job SET revision = NULL WHERE repository_id = $1 AND state = 'running'", stored["id"])

    async def get(self, name: str) -> Repository:
        """See ports.RepositoryStore; raises RepositoryNotFound."""
        async with self._pool.connection() as connection:
            return await self._get(connection, name)

    async def _get(self, connection: Connection, name: str) -> Repository:
        row = await connection.fetchrow(f"{_SELECT} WHERE r.name = $1", name)
        if row is None:
            raise RepositoryNotFound(f"there is no repository named {name!r}")
        return _repository(row)

    async def list(self) -> Sequence[Repository]:
        """Every repository, by name."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(f"{_SELECT} ORDER BY r.name")
        return [_repository(row) for row in rows]

    async def delete(self, name: str) -> None:
        """Remove a repository and all that was indexed of it; a run in progress notices and stops."""
        async with self._pool.connection() as connection, connection.transaction():
            await connection.execute("SET LOCAL statement_timeout = 0")
            repository_id = await connection.fetchval("DELETE FROM repository WHERE name = $1 RETURNING id", name)
            if repository_id is None:
                raise RepositoryNotFound(f"there is no repository named {name!r}")
            for table in _CONTENT:
                await connection.execute(f"DELETE FROM {table} WHERE repository_id = $1", repository_id)

    async def set_known_revision(self, repository_id: int, revision: str) -> None:
        """Record the newest revision the source is known to have; answers say ``stale`` until it is indexed."""
        async with self._pool.connection() as connection:
            await connection.execute(
                "UPDATE branch SET known_revision = $3 WHERE repository_id = $1 AND branch_id = $2 AND known_revision IS DISTINCT FROM $3",
                repository_id,
                MAIN_BRANCH,
                revision,
            )


def _repository(row: asyncpg.Record) -> Repository:
    return Repository(
        id=row["id"],
        name=row["name"],
        source=RepositorySource(row["path"], tuple(row["include"]), tuple(row["exclude"])),
        created_at=row["created_at"],
        generation=row["current_gen"],
        revision=row["revision"],
        known_revision=row["known_revision"],
        indexed_at=row["published_at"],
        coverage=_coverage(row),
    )


def _coverage(row: asyncpg.Record) -> Coverage:
    stored = json.loads(row["coverage"]) if row["coverage"] else {}
    stored["embeddings_pending"] = row["embeddings_pending"]
    stored["embeddings_failed"] = row["embeddings_failed"]
    stored["embeddings_withheld"] = row["embeddings_withheld"]
    return Coverage(**stored)
