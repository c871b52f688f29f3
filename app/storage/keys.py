"""Keeps API keys: of a secret only its SHA-256, which is enough for 256 random bits."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

import asyncpg
import structlog

from app.domain.access import ApiKey, Caller, KeyScope, name_regex, reach_of
from app.domain.errors import FourfoldError, KeyNotFound, NotAuthenticated
from app.storage.pool import Pool

USED_EVERY: Final = timedelta(minutes=1)
"""How exact the time of the last use is: it is written that often at most."""

NOTICED_SECONDS: Final = 1.0
"""How long a process may take to notice that another one made the first key."""

_TOKEN: Final = re.compile(r"ff_([0-9a-f]{16})_([0-9a-f]{64})")
_COLUMNS: Final = "k.id, k.name, k.scope, k.repositories, k.created_at, k.expires_at, k.revoked_at, k.last_used_at"
_NO_HASH: Final = bytes(32)

# The key and, if it is limited, the repositories that there are for it: all that a request needs to know, in one statement.
FIND: Final = f"""
    SELECT {_COLUMNS}, k.secret_sha256, v.ids, v.names FROM api_key k
    LEFT JOIN LATERAL (
        SELECT array_agg(r.id) AS ids, array_agg(r.name) AS names FROM repository r
        WHERE cardinality(k.patterns) > 0 AND r.name ~ ANY(k.patterns)
    ) v ON true
    WHERE k.id = $1
"""

INSERT: Final = f"""
    INSERT INTO api_key AS k (id, name, secret_sha256, scope, repositories, patterns, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
    RETURNING {_COLUMNS}
"""

REVOKE: Final = f"UPDATE api_key k SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING {_COLUMNS}"

USED: Final = "UPDATE api_key SET last_used_at = now() WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < now() - $2::interval)"

_log = structlog.get_logger(__name__)


class Keys:
    """The KeyStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._exist = False
        self._looked_at = -NOTICED_SECONDS
        self._writing: set[asyncio.Task[None]] = set()

    async def create(
        self, name: str, scope: KeyScope, repositories: Sequence[str] = (), expires_at: datetime | None = None
    ) -> tuple[ApiKey, str]:
        """See ports.KeyStore."""
        key_id, secret = secrets.token_hex(8), secrets.token_hex(32)
        patterns = [f"^(?:{name_regex(pattern)})$" for pattern in repositories]
        async with self._pool.owner() as connection:
            row = await connection.fetchrow(INSERT, key_id, name, _sha256(secret), str(scope), list(repositories), patterns, expires_at)
        assert row is not None
        self._exist = True
        return _key(row), f"ff_{key_id}_{secret}"

    async def list(self) -> Sequence[ApiKey]:
        """See ports.KeyStore."""
        async with self._pool.owner() as connection:
            rows = await connection.fetch(f"SELECT {_COLUMNS} FROM api_key k ORDER BY k.created_at DESC, k.id")
        return [_key(row) for row in rows]

    async def get(self, key_id: str) -> ApiKey:
        """See ports.KeyStore."""
        async with self._pool.owner() as connection:
            row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM api_key k WHERE k.id = $1", key_id)
        return _found(row, key_id)

    async def revoke(self, key_id: str) -> ApiKey:
        """See ports.KeyStore."""
        async with self._pool.owner() as connection:
            row = await connection.fetchrow(REVOKE, key_id)
        return _found(row, key_id)

    async def exist(self) -> bool:
        """See ports.KeyStore."""
        if not self._exist and monotonic() - self._looked_at >= NOTICED_SECONDS:
            async with self._pool.owner() as connection:
                self._exist = await connection.fetchval("SELECT EXISTS (SELECT FROM api_key)")
            self._looked_at = monotonic()
        return self._exist

    async def authenticate(self, token: str) -> Caller:
        """See ports.KeyStore."""
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise NotAuthenticated("the key is not one of this service")
        async with self._pool.owner(keyed=True) as connection:
            row = await connection.fetchrow(FIND, match[1])
        if not hmac.compare_digest(_sha256(match[2]), _NO_HASH if row is None else row["secret_sha256"]) or row is None:
            raise NotAuthenticated("the key is not one of this service")
        key, now = _key(row), datetime.now(UTC)
        if key.revoked_at is not None:
            raise NotAuthenticated("the key was revoked")
        if key.is_expired(now):
            raise NotAuthenticated("the key has expired")
        if key.last_used_at is None or now - key.last_used_at > USED_EVERY:
            self._write_use(key.id)
        known = zip(row["names"] or (), row["ids"] or (), strict=True)
        return Caller(key.name, key.scope, key.id, reach_of(key.repositories, known))

    def _write_use(self, key_id: str) -> None:
        """Beside the request, which does not wait for it."""
        task = asyncio.create_task(self._used(key_id))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _used(self, key_id: str) -> None:
        try:
            async with self._pool.owner() as connection:
                await connection.execute(USED, key_id, USED_EVERY)
        except (FourfoldError, asyncpg.PostgresError) as error:
            _log.warning("key_use_not_written", key=key_id, error=str(error))

    async def close(self) -> None:
        """Wait for what is still to be written."""
        await asyncio.gather(*self._writing)


def _sha256(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _found(row: asyncpg.Record | None, key_id: str) -> ApiKey:
    if row is None:
        raise KeyNotFound(f"there is no key {key_id!r}")
    return _key(row)


def _key(row: asyncpg.Record) -> ApiKey:
    return ApiKey(
        id=row["id"],
        name=row["name"],
        scope=KeyScope(row["scope"]),
        repositories=tuple(row["repositories"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        revoked_at=row["revoked_at"],
        last_used_at=row["last_used_at"],
    )
