"""PostgreSQL: a pool of connections, transactions, and the bookings table."""

from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, LifoQueue

from ferry.errors import FerryError


class PoolExhausted(FerryError):
    code = "E_BUSY"


class Pool:
    """A fixed number of connections, lent one at a time."""

    def __init__(self, connect, size: int = 8, wait_seconds: float = 2.0) -> None:
        self._free = LifoQueue()
        self._wait_seconds = wait_seconds
        for _ in range(size):
            self._free.put(connect())

    @contextmanager
    def transaction(self) -> Iterator[object]:
        """Commit at the end of the block, roll back when it fails. Raises PoolExhausted."""
        try:
            connection = self._free.get(timeout=self._wait_seconds)
        except Empty:
            raise PoolExhausted("no database connection became free in time") from None
        try:
            with connection:
                yield connection
        finally:
            self._free.put(connection)


class BookingStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def save(self, booking) -> None:
        with self._pool.transaction() as connection:
            connection.execute(
                "INSERT INTO booking (reference, ship, departs_at, price, payment_id) VALUES (%s, %s, %s, %s, %s) "
                "ON CONFLICT (reference) DO UPDATE SET cancelled_at = excluded.cancelled_at",
                (booking.reference, booking.sailing.ship, booking.sailing.departs_at, booking.price, booking.payment_id),
            )

    def find(self, reference: str):
        with self._pool.transaction() as connection:
            return connection.execute("SELECT * FROM booking WHERE reference = %s", (reference,)).fetchone()
