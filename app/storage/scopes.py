"""Keeps saved scopes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import asyncpg

from app.domain.access import knows
from app.domain.errors import ScopeNotFound
from app.domain.query import Filters
from app.domain.scopes import SavedScope
from app.storage.pool import Pool

PUT: Final = """
    INSERT INTO saved_scope (name, description, repositories, filters) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE
    SET description = EXCLUDED.description, repositories = EXCLUDED.repositories, filters = EXCLUDED.filters, changed_at = now()
    RETURNING xmax = 0 AS created
"""


class Scopes:
    """The ScopeStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def put(self, scope: SavedScope) -> bool:
        """See ports.ScopeStore."""
        async with self._pool.owner() as connection:
            created: bool = await connection.fetchval(
                PUT, scope.name, scope.description, list(scope.repositories), json.dumps(asdict(scope.filters))
            )
        return created

    async def get(self, name: str) -> SavedScope:
        """See ports.ScopeStore."""
        async with self._pool.connection() as connection:
            row = await connection.fetchrow("SELECT * FROM saved_scope WHERE name = $1", name)
        if row is None or not _is_shown(row):
            raise ScopeNotFound(f"there is no saved scope named {name!r}")
        return _scope(row)

    async def list(self) -> Sequence[SavedScope]:
        """See ports.ScopeStore."""
        async with self._pool.connection() as connection:
            rows = await connection.fetch("SELECT * FROM saved_scope ORDER BY name")
        return [_scope(row) for row in rows if _is_shown(row)]

    async def delete(self, name: str) -> None:
        """See ports.ScopeStore."""
        async with self._pool.owner() as connection:
            if await connection.execute("DELETE FROM saved_scope WHERE name = $1", name) == "DELETE 0":
                raise ScopeNotFound(f"there is no saved scope named {name!r}")


def _is_shown(row: asyncpg.Record) -> bool:
    """A scope tells of all its repositories, so that it is shown to whoever may see them all."""
    return all(knows(name) for name in row["repositories"])


def _scope(row: asyncpg.Record) -> SavedScope:
    saved = json.loads(row["filters"])
    stored: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()}
    return SavedScope(row["name"], tuple(row["repositories"]), Filters(**stored), row["description"], row["changed_at"])
