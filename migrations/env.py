"""Alembic's environment: runs on the connection that ``app.storage.migrate`` hands over."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from app.storage.tables import metadata


def run(connection: Connection) -> None:
    """Run the migrations in one transaction, one process at a time."""
    context.configure(connection=connection, target_metadata=metadata, compare_type=True)
    with context.begin_transaction():
        context.run_migrations()


connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("run migrations by `fourfold migrate`, which knows the database")
run(connection)
