"""Creates, reads and deletes repositories, and keeps what is known of their sources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import asyncpg

from app.domain.access import caller, repository_not_found, require_repository, visible_ids
from app.domain.errors import Conflict, RepositoryNotFound
from app.domain.index import ARCHIVE, WORK_TREE, Coverage, Ref, RefKind, Repository, RepositorySource, SourceKind
from app.domain.left_out import LeftOut
from app.storage.engine import Connection
from app.storage.pool import Pool

LINE = 1
"""Id of the one line of generations that all refs of a repository share."""

_SELECT = """
    SELECT r.*, b.embeddings_pending, b.embeddings_failed, b.embeddings_withheld,
           coalesce(f.generation, 0) AS generation, f.known_revision, g.revision, g.published_at, g.coverage,
           g.config_version <> r.config_version AS reconfigured
    FROM repository r
    JOIN branch b ON b.repository_id = r.id
    LEFT JOIN ref f ON f.repository_id = r.id AND f.is_default
    LEFT JOIN generation g ON g.repository_id = r.id AND g.branch_id = b.branch_id AND g.generation = f.generation
"""

_REFS = """
    SELECT f.repository_id, f.name, f.kind, f.is_default, f.generation, f.known_revision, g.revision, g.published_at
    FROM ref f LEFT JOIN generation g ON g.repository_id = f.repository_id AND g.branch_id = 1 AND g.generation = f.generation
    WHERE f.repository_id = ANY($1::int[])
    ORDER BY f.is_default DESC, f.kind, f.name
"""

_INSERT = """
    INSERT INTO repository (name, path, kind, url, include, exclude, refs, credential, submodules, poll_seconds, respect_ignore)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (name) DO NOTHING RETURNING id
"""

# What decides the content of an index; another credential or interval does not.
_UPDATE = """
    UPDATE repository SET include = $2, exclude = $3, refs = $4, credential = $5, submodules = $6, poll_seconds = $7, respect_ignore = $8,
        config_version = config_version
            + CASE WHEN (include, exclude, submodules, respect_ignore) IS DISTINCT FROM ($2, $3, $6, $8) THEN 1 ELSE 0 END
    WHERE id = $1 RETURNING config_version
"""

_DUE = """
    WITH interval AS (
        SELECT id, coalesce(poll_seconds, CASE kind WHEN 'directory' THEN $1::float8 WHEN 'git' THEN $2::float8 ELSE 0 END) AS seconds
        FROM repository
    )
    UPDATE repository r SET looked_at = now() FROM interval i
    WHERE i.id = r.id AND i.seconds > 0 AND coalesce(r.looked_at, r.created_at) < now() - make_interval(secs => i.seconds)
    RETURNING r.name
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
    "blob",
)


class Repositories:
    """The RepositoryStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, name: str, source: RepositorySource) -> tuple[Repository, bool]:
        """See ports.RepositoryStore."""
        require_repository(name)
        async with self._pool.owner() as connection, connection.transaction():
            created = await connection.fetchval(
                _INSERT,
                name,
                source.path,
                str(source.kind),
                source.url,
                list(source.include),
                list(source.exclude),
                list(source.refs),
                source.credential,
                source.submodules,
                source.poll_seconds,
                source.respect_ignore,
            )
            if created is not None:
                await connection.execute("INSERT INTO branch (repository_id, branch_id, ref) VALUES ($1, $2, 'line')", created, LINE)
                if source.kind is not SourceKind.GIT:
                    ref = (ARCHIVE, RefKind.ARCHIVE) if source.kind is SourceKind.ARCHIVE else (WORK_TREE, RefKind.WORK_TREE)
                    await connection.execute(
                        "INSERT INTO ref (repository_id, name, kind, is_default) VALUES ($1, $2, $3, true)", created, ref[0], str(ref[1])
                    )
            else:
                await self._update(connection, name, source)
            stored = await self._get(connection, name)
        if (reach := caller().reach) is not None:
            reach.learn(name, stored.id)
        return stored, created is not None

    async def _update(self, connection: Connection, name: str, source: RepositorySource) -> None:
        stored = await connection.fetchrow("SELECT * FROM repository WHERE name = $1 FOR UPDATE", name)
        if stored is None:
            raise RepositoryNotFound(f"repository {name!r} was deleted meanwhile")
        if (stored["kind"], stored["path"], stored["url"]) != (source.kind, source.path, source.url):
            raise Conflict(f"the name {name!r} belongs to another source; choose another name or delete that repository", field="source")
        if _source(stored) == source:
            return
        version = await connection.fetchval(
            _UPDATE,
            stored["id"],
            list(source.include),
            list(source.exclude),
            list(source.refs),
            source.credential,
            source.submodules,
            source.poll_seconds,
            source.respect_ignore,
        )
        if version != stored["config_version"]:
            # A run that began with other globs is no longer one that an equal request may join.
            await connection.execute("UPDATE job SET revision = NULL WHERE repository_id = $1 AND state = 'running'", stored["id"])

    async def get(self, name: str) -> Repository:
        """See ports.RepositoryStore; raises RepositoryNotFound."""
        require_repository(name)
        async with self._pool.connection() as connection:
            return await self._get(connection, name)

    async def _get(self, connection: Connection, name: str) -> Repository:
        row = await connection.fetchrow(f"{_SELECT} WHERE r.name = $1", name)
        if row is None:
            raise repository_not_found(name)
        return _repository(row, await _refs_of(connection, [row["id"]]))

    async def list(self) -> Sequence[Repository]:
        """Every repository that the caller may see, by name."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch(f"{_SELECT} WHERE $1::int[] IS NULL OR r.id = ANY($1) ORDER BY r.name", visible_ids())
            refs = await _refs_of(connection, [row["id"] for row in rows])
        return [_repository(row, refs) for row in rows]

    async def delete(self, name: str) -> None:
        """Remove a repository and all that was indexed of it; a run in progress notices and stops."""
        require_repository(name)
        async with self._pool.owner() as connection, connection.transaction():
            # Others are waited for as long as by any statement; only the work itself may take its time.
            repository_id = await connection.fetchval("SELECT id FROM repository WHERE name = $1 FOR UPDATE", name)
            if repository_id is None:
                raise repository_not_found(name)
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute("DELETE FROM repository WHERE id = $1", repository_id)
            for table in _CONTENT:
                await connection.execute(f"DELETE FROM {table} WHERE repository_id = $1", repository_id)

    async def looked(self, repository_id: int, known: Mapping[str, str], error: str | None = None) -> None:
        """Record what was seen at the source: ref → its newest revision; ``stale`` until that is indexed. Or why nothing was seen."""
        async with self._pool.owner() as connection, connection.transaction():
            await connection.execute(
                "UPDATE repository SET looked_at = now(), source_error = $2 WHERE id = $1", repository_id, error and error[:1_000]
            )
            await connection.execute(
                "UPDATE ref SET known_revision = seen.revision FROM unnest($2::text[], $3::text[]) AS seen(name, revision) "
                "WHERE ref.repository_id = $1 AND ref.name = seen.name AND ref.known_revision IS DISTINCT FROM seen.revision",
                repository_id,
                list(known),
                list(known.values()),
            )

    async def due(self, directory_seconds: float, git_seconds: float) -> Sequence[str]:
        """The repositories whose source was not looked at for their interval, or else for that of their kind; 0 as interval: never.

        They count as looked at from now on, so that one worker alone looks.
        """
        async with self._pool.owner() as connection:
            rows = await connection.fetch(_DUE, directory_seconds, git_seconds)
        return [row["name"] for row in rows]


async def _refs_of(connection: Connection, repository_ids: Sequence[int]) -> Mapping[int, Sequence[Ref]]:
    refs: dict[int, list[Ref]] = {}
    for row in await connection.fetch(_REFS, repository_ids):
        refs.setdefault(row["repository_id"], []).append(
            Ref(
                row["name"],
                RefKind(row["kind"]),
                row["is_default"],
                row["generation"],
                row["revision"],
                row["known_revision"],
                row["published_at"],
            )
        )
    return refs


def _source(row: asyncpg.Record) -> RepositorySource:
    return RepositorySource(
        path=row["path"],
        include=tuple(row["include"]),
        exclude=tuple(row["exclude"]),
        url=row["url"],
        refs=tuple(row["refs"]),
        credential=row["credential"],
        submodules=row["submodules"],
        poll_seconds=row["poll_seconds"],
        kind=SourceKind(row["kind"]),
        respect_ignore=row["respect_ignore"],
    )


def _repository(row: asyncpg.Record, refs: Mapping[int, Sequence[Ref]]) -> Repository:
    return Repository(
        id=row["id"],
        name=row["name"],
        source=_source(row),
        created_at=row["created_at"],
        generation=row["generation"],
        revision=row["revision"],
        known_revision=row["known_revision"],
        indexed_at=row["published_at"],
        coverage=_coverage(row),
        refs=tuple(refs.get(row["id"], ())),
        reconfigured=bool(row["reconfigured"]),
        source_error=row["source_error"],
    )


def _coverage(row: asyncpg.Record) -> Coverage:
    stored = json.loads(row["coverage"]) if row["coverage"] else {}
    stored["embeddings_pending"] = row["embeddings_pending"]
    stored["embeddings_failed"] = row["embeddings_failed"]
    stored["embeddings_withheld"] = row["embeddings_withheld"]
    stored["left_out"] = LeftOut.of(stored.get("left_out", {}))
    return Coverage(**stored)
