"""Is the store there, and does it have the schema this program knows?"""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import FourfoldError
from app.ports import Readiness
from app.storage.checks import check_server
from app.storage.dsn import parse_dsn
from app.storage.pool import Pool
from app.storage.schema import current, head


class StoreHealth:
    """The HealthProbe of PostgreSQL: quick, on a connection of the pool."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def check(self) -> Sequence[Readiness]:
        """Reachable, and migrated to the newest schema."""
        try:
            async with self._pool.owner() as connection:
                revision = await current(connection)
        except FourfoldError as error:
            return [Readiness("store", False, error.message)]
        migrated = revision == head()
        detail = f"schema {revision}" if migrated else f"schema {revision or 'none'}, this program needs {head()}: run `fourfold migrate`"
        return [Readiness("store", True, "PostgreSQL answers"), Readiness("schema", migrated, detail)]


class ServerExamination:
    """What ``fourfold doctor`` looks at beside ``StoreHealth``: versions, extensions, encoding, and a vector operation."""

    def __init__(self, dsn: str) -> None:
        self._dsn = parse_dsn(dsn)

    async def check(self) -> Sequence[Readiness]:
        """One finding for the server and one per extension."""
        try:
            facts = await check_server(self._dsn)
        except FourfoldError as error:
            return [Readiness("server", False, error.message)]
        findings = [Readiness("server", True, f"PostgreSQL {facts.version}, {facts.encoding}, {facts.ctype}")]
        findings += [Readiness(f"extension {name}", True, version) for name, version in facts.extensions.items()]
        findings += [Readiness("locale", True, warning) for warning in facts.warnings]
        return findings
