"""Intervals of scores."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add them; of the scores that are there, none is known."""
    for name, kind in (("low", sa.Double), ("high", sa.Double), ("interval", sa.Text)):
        op.add_column("scores", sa.Column(name, kind))
