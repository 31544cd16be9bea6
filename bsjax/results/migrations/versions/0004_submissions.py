"""Tables of submissions: accounts, what was handed in, its steps, and what protects private benchmarks."""

from alembic import op

from bsjax.results import tables

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables."""
    made = (tables.accounts, tables.submissions, tables.steps, tables.protections, tables.shown, tables.asked)
    tables.metadata.create_all(op.get_bind(), tables=made)
