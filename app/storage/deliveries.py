"""Remembers what forges delivered, so that a delivery that is sent again does nothing."""

from __future__ import annotations

from app.storage.pool import Pool

REMEMBERED_DAYS = 14


class Deliveries:
    """The DeliveryStore of PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def seen(self, forge: str, digest: str) -> bool:
        """See ports.DeliveryStore."""
        async with self._pool.owner() as connection:
            return bool(await connection.fetchval("SELECT true FROM webhook_delivery WHERE forge = $1 AND delivery = $2", forge, digest))

    async def remember(self, forge: str, digest: str) -> None:
        """See ports.DeliveryStore; what is too old goes."""
        async with self._pool.owner() as connection:
            await connection.execute("INSERT INTO webhook_delivery (forge, delivery) VALUES ($1, $2) ON CONFLICT DO NOTHING", forge, digest)
            await connection.execute("DELETE FROM webhook_delivery WHERE received_at < now() - make_interval(days => $1)", REMEMBERED_DAYS)
