"""The refs of a repository: which generation shows which branch, tag or commit.

All refs share one line of generations. A ref that moves is indexed as the next generation of that line, so that what two branches have in
common is written once; a generation stays as long as a ref shows it. Runs under the lock of the repository's jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from app.domain.index import RefKind
from app.storage.engine import Connection
from app.storage.vectors import recount

MOST_COMMITS: Final = 20
"""Commits indexed on request that are kept beside branches and tags; the oldest requests go first."""

# A generation that a ref shows again, as after a revert, is no longer replaced.
_REPLACED = """
    UPDATE generation g SET replaced_at = CASE WHEN shown THEN NULL ELSE now() END
    FROM (SELECT x.generation, EXISTS (SELECT FROM ref f WHERE f.repository_id = $1 AND f.generation = x.generation) AS shown
          FROM generation x WHERE x.repository_id = $1) s
    WHERE g.repository_id = $1 AND g.generation = s.generation AND (g.replaced_at IS NULL) <> s.shown
"""

_SHOW = """
    UPDATE ref SET generation = $3, known_revision = $4 FROM ref former
    WHERE ref.repository_id = $1 AND ref.name = $2 AND former.repository_id = $1 AND former.name = $2
    RETURNING former.generation IS DISTINCT FROM $3
"""

_FOLLOW = """
    INSERT INTO ref (repository_id, name, kind, is_default, known_revision)
    SELECT $1, * FROM unnest($2::text[], $3::text[], $4::bool[], $5::text[])
    ON CONFLICT (repository_id, name) DO UPDATE SET is_default = EXCLUDED.is_default, known_revision = EXCLUDED.known_revision
"""

_FORGET = """
    DELETE FROM ref WHERE repository_id = $1 AND kind <> 'commit' AND name <> ALL($2::text[])
"""

_OLD_COMMITS = """
    DELETE FROM ref WHERE repository_id = $1 AND name IN (
        SELECT name FROM ref WHERE repository_id = $1 AND kind = 'commit' ORDER BY created_at DESC OFFSET $2)
"""

# A generation that was made without a submodule is another one once that can be had.
_SAME = """
    SELECT max(g.generation) FROM generation g JOIN repository r ON r.id = g.repository_id
    WHERE g.repository_id = $1 AND g.revision = $2 AND g.extractor = $3 AND g.config_version = r.config_version
      AND NOT EXISTS (SELECT FROM skipped_file s WHERE s.repository_id = $1 AND s.branch_id = g.branch_id AND s.path = ANY($4::text[])
                      AND s.reason = 'submodule' AND s.from_gen <= g.generation AND s.to_gen > g.generation)
"""


async def follow(connection: Connection, repository_id: int, seen: Mapping[str, tuple[RefKind, str]], default: str) -> None:
    """Let the repository's branches and tags be exactly these (name → kind, revision); commits on request stay, the newest of them."""
    async with connection.transaction():
        await connection.execute("UPDATE ref SET is_default = false WHERE repository_id = $1", repository_id)
        await connection.execute(
            _FOLLOW,
            repository_id,
            list(seen),
            [str(kind) for kind, _ in seen.values()],
            [name == default for name in seen],
            [revision for _, revision in seen.values()],
        )
        await connection.execute(_FORGET, repository_id, list(seen))
        await connection.execute(_OLD_COMMITS, repository_id, MOST_COMMITS)
        await connection.execute(_REPLACED, repository_id)
        await recount(connection, repository_id)


async def request_commit(connection: Connection, repository_id: int, commit: str) -> None:
    """Have a commit indexed by the next run. Asked for again, it counts as new."""
    await connection.execute(
        "INSERT INTO ref (repository_id, name, kind, known_revision) VALUES ($1, $2, $3, $2) "
        "ON CONFLICT (repository_id, name) DO UPDATE SET created_at = now()",
        repository_id,
        commit,
        str(RefKind.COMMIT),
    )


async def forget(connection: Connection, repository_id: int, name: str) -> None:
    """Let go of one ref."""
    await connection.execute("DELETE FROM ref WHERE repository_id = $1 AND name = $2", repository_id, name)
    await connection.execute(_REPLACED, repository_id)
    await recount(connection, repository_id)


async def names(connection: Connection, repository_id: int) -> Sequence[tuple[str, RefKind, str | None]]:
    """(name, kind, newest known revision) of every ref, the default first: readers see it soonest."""
    rows = await connection.fetch(
        "SELECT name, kind, known_revision FROM ref WHERE repository_id = $1 ORDER BY is_default DESC, created_at, name", repository_id
    )
    return [(row["name"], RefKind(row["kind"]), row["known_revision"]) for row in rows]


async def show_indexed(
    connection: Connection, repository_id: int, name: str, revision: str, extractor: str, submodules: Sequence[str] = ()
) -> bool:
    """Let a ref show a generation that has this very content already; false when there is none. ``submodules``: the paths of those that
    it must not lack."""
    async with connection.transaction():
        generation = await connection.fetchval(_SAME, repository_id, revision, extractor, submodules)
        if generation is None:
            return False
        await show(connection, repository_id, name, generation, revision)
        return True


async def show(connection: Connection, repository_id: int, name: str, generation: int, revision: str) -> None:
    """Let a ref show a generation; the one that no ref shows any more goes after its grace. In the caller's transaction.

    The chunks without a vector are counted with it: a search that was told of none would keep the vectors that are there as all there are.
    """
    if await connection.fetchval(_SHOW, repository_id, name, generation, revision):
        await connection.execute(_REPLACED, repository_id)
        await recount(connection, repository_id)
