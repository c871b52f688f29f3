"""Whether a directory's ignore files decide what of it is indexed.

Revision ID: 0004
Revises: 0003
"""

from __future__ import annotations

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE repository ADD COLUMN respect_ignore BOOLEAN DEFAULT true NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE repository DROP COLUMN respect_ignore")
