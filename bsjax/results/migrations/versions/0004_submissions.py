"""Tables of accounts, submissions and their steps, private benchmarks, and the scores that accounts are shown."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Double, Integer, String, Text

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "accounts",
        Column("id", Integer, primary_key=True),
        Column("name", Text, nullable=False, unique=True),
        Column("token_hash", String(64), nullable=False, unique=True),
        Column("email", Text),
        Column("is_operator", Boolean, nullable=False),
        Column("created", String(32), nullable=False),
        Column("revoked", String(32)),
        Column("limits", sa.JSON, nullable=False),
    )
    op.create_table(
        "submissions",
        Column("id", String(32), primary_key=True),
        Column("account_id", Integer, sa.ForeignKey("accounts.id")),
        Column("name", Text, nullable=False),
        Column("kinds", sa.JSON, nullable=False),
        Column("content", String(64), nullable=False),
        Column("folder", Text, nullable=False),
        Column("visibility", String(10), nullable=False),
        Column("state", String(10), nullable=False),
        Column("since", String(32), nullable=False),
        Column("reason", Text, nullable=False),
        Column("created", String(32), nullable=False),
        Column("previous", String(32)),
        Column("facts", sa.JSON, nullable=False),
    )
    op.create_index("submissions_of_accounts", "submissions", ["account_id", "created"])
    op.create_table(
        "steps",
        Column("id", Integer, primary_key=True),
        Column("submission_id", String(32), sa.ForeignKey("submissions.id"), nullable=False),
        Column("name", Text, nullable=False),
        Column("position", Integer, nullable=False),
        Column("state", String(10), nullable=False),
        Column("since", String(32), nullable=False),
        Column("reason", Text, nullable=False),
        Column("attempt", Integer, nullable=False),
        Column("memory_class", BigInteger, nullable=False),
        Column("outgrown", BigInteger),
        Column("peak", BigInteger),
        Column("started", String(32)),
        Column("seconds", Double),
        Column("log", Text, nullable=False),
        Column("owner", Text),
        Column("worker", Text),
        Column("expires", Double),
        Column("lost", sa.JSON, nullable=False),
        sa.UniqueConstraint("submission_id", "name"),
    )
    op.create_index("steps_by_state", "steps", ["state"])
    op.create_table(
        "protected",
        Column("benchmark", Text, primary_key=True),
        Column("stimuli_private", Boolean, nullable=False),
        Column("decimals", Integer, nullable=False),
        Column("limit_per_period", Integer, nullable=False),
        Column("period_days", Integer, nullable=False),
        Column("created", String(32), nullable=False),
    )
    op.create_table(
        "shown",
        Column("account_id", Integer, primary_key=True, autoincrement=False),
        Column("benchmark", Text, primary_key=True),
        Column("version", Integer, nullable=False),
        Column("score_key", String(32), nullable=False),
        Column("shown", Double, nullable=False),
        Column("tries", Integer, nullable=False),
        Column("since", String(32), nullable=False),
    )
