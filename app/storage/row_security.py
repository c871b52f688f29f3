"""The second wall between tenants: requests of limited keys read as a role that sees the rows of their repositories alone.

A migration makes the policies. The role, what it may read and what the planner must know of operators need rights that not every
server grants; they are made good at every start, and where that cannot be done the reason is told. See
docs/decisions/0017-keys-and-tenants.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import asyncpg

from app.domain.errors import ConfigurationError
from app.storage.engine import Connection

ROLE: Final = "fourfold_reader"
"""Has no login. Roles belong to the whole server: every database of this service there grants to the same one."""

SETTING: Final = "fourfold.repositories"
"""The ids of the repositories that a connection of the role may see; unset: none."""

# The subquery is computed once per statement and not for every row. IS TRUE keeps the condition out of those that indexes are asked by: a
# GIN index would be searched once for each of the ids.
_VISIBLE: Final = f"({{}} = ANY ((SELECT NULLIF(current_setting('{SETTING}', true), '')::int[])::int[])) IS TRUE"

_OF_REPOSITORIES: Final = (
    "binding",
    "blob",
    "branch",
    "centrality",
    "chunk",
    "edge",
    "embedding",
    "external",
    "file",
    "file_link",
    "file_version",
    "generation",
    "import",
    "job",
    "name_word",
    "posting",
    "ref",
    "reference",
    "segment",
    "skipped_file",
    "symbol",
)

POLICIES: Final[Mapping[str, str]] = {
    "repository": _VISIBLE.format("id"),
    "saved_scope": "repositories <@ ARRAY(SELECT name FROM repository)",
    **dict.fromkeys(_OF_REPOSITORIES, _VISIBLE.format("repository_id")),
}
"""Which rows of a table the role sees."""

READABLE: Final = (*POLICIES, "vector_set")
"""Everything else, keys and their log among it, the role cannot read at all."""

LEAKPROOF: Final = (
    "textlike(text, text)",
    "texticlike(text, text)",
    "textregexeq(text, text)",
    "texticregexeq(text, text)",
    "arrayoverlap(anyarray, anyarray)",
    "arraycontains(anyarray, anyarray)",
    "similarity_op(text, text)",
)
"""What conditions on indexes are made of. PostgreSQL asks such an index before the policy only when it knows that the function tells
nobody of the rows it sees; without that, every pattern would read all chunks of its repositories."""

_STATE: Final = """
    SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1) AS role,
           ARRAY(SELECT t FROM unnest($2::text[]) AS t WHERE NOT EXISTS (
               SELECT FROM pg_class c, aclexplode(c.relacl) a JOIN pg_roles r ON r.oid = a.grantee
               WHERE c.oid = to_regclass(quote_ident(t)) AND r.rolname = $1 AND a.privilege_type = 'SELECT')) AS unreadable,
           row_security_active('repository') AS bound, current_user AS who,
           ARRAY(SELECT f FROM unnest($3::text[]) AS f
               WHERE NOT (SELECT proleakproof FROM pg_proc WHERE oid = to_regprocedure(f))) AS leaking
"""


async def establish(connection: Connection) -> str | None:
    """Make good what is missing. None when the wall stands, else the reason why it cannot.

    Raises ConfigurationError for a user whom the policies bind: workers and unlimited keys would see nothing.
    """
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", ROLE)
            await _establish(connection)
    except asyncpg.InsufficientPrivilegeError as error:
        return f"the database's user may not do what it takes: {str(error).splitlines()[0]}"
    return None


async def _establish(connection: Connection) -> None:
    state = await connection.fetchrow(_STATE, ROLE, list(READABLE), list(LEAKPROOF))
    assert state is not None
    if state["bound"]:
        raise ConfigurationError(
            f"the database's user {state['who']} does not own the tables, so that row-level security hides all rows from it: "
            f"connect as the user that migrated, or let an administrator run ALTER ROLE {state['who']} BYPASSRLS"
        )
    if not state["role"]:
        await _create_role(connection)
    if not await _may_become(connection):
        await connection.execute(f"GRANT {ROLE} TO CURRENT_USER")
    if state["unreadable"]:
        schema = await connection.fetchval("SELECT quote_ident(current_schema())")
        tables = ", ".join(f'"{table}"' for table in state["unreadable"])
        await connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {ROLE}; GRANT SELECT ON {tables} TO {ROLE}")
    for function in state["leaking"]:
        await connection.execute(f"ALTER FUNCTION {function} LEAKPROOF")


async def _create_role(connection: Connection) -> None:
    try:
        async with connection.transaction():
            await connection.execute(f"CREATE ROLE {ROLE} NOLOGIN")
    except (asyncpg.DuplicateObjectError, asyncpg.UniqueViolationError):
        return  # another database of the same server was quicker


async def _may_become(connection: Connection) -> bool:
    try:
        async with connection.transaction():
            await connection.execute(f"SET LOCAL ROLE {ROLE}")
            await connection.execute("RESET ROLE")
    except asyncpg.InsufficientPrivilegeError:
        return False
    return True
