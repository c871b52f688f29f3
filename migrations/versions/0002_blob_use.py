"""When a blob was last asked for: what no run asks for any more is forgotten.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE blob ADD COLUMN used_on DATE DEFAULT CURRENT_DATE NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE blob DROP COLUMN used_on")
