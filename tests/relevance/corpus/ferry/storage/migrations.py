"""Brings the database schema up to date, one numbered step at a time."""

from pathlib import Path

STEPS = Path(__file__).parents[2] / "db" / "steps"


def pending_steps(connection) -> list[Path]:
    """Steps that the database has not seen, oldest first."""
    done = {row[0] for row in connection.execute("SELECT name FROM schema_step")}
    return [path for path in sorted(STEPS.glob("*.sql")) if path.stem not in done]


def apply_migrations(connection) -> int:
    """Run the pending steps, each in a transaction of its own, under an advisory lock; returns how many ran."""
    connection.execute("SELECT pg_advisory_lock(4711)")
    try:
        steps = pending_steps(connection)
        for path in steps:
            with connection:
                connection.execute(path.read_text())
                connection.execute("INSERT INTO schema_step (name) VALUES (%s)", (path.stem,))
        return len(steps)
    finally:
        connection.execute("SELECT pg_advisory_unlock(4711)")
