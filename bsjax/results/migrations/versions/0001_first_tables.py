"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "models",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("identifier", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.UniqueConstraint("identifier", "digest"),
    )
    op.create_table(
        "benchmarks",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("identifier", sa.Text, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("parent", sa.Text, nullable=False),
        sa.Column("facts", sa.JSON, nullable=False),
        sa.UniqueConstraint("identifier", "version"),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("started", sa.String(32), nullable=False),
        sa.Column("ended", sa.String(32)),
        sa.Column("n_cells", sa.Integer, nullable=False),
        sa.Column("facts", sa.JSON, nullable=False),
    )
    op.create_table(
        "scores",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.String(32), nullable=False, unique=True),
        sa.Column("model_id", sa.Integer, sa.ForeignKey("models.id"), nullable=False),
        sa.Column("benchmark_id", sa.Integer, sa.ForeignKey("benchmarks.id"), nullable=False),
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id")),
        sa.Column("task", sa.Text),
        sa.Column("cell", sa.Text),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column("score", sa.Double),
        sa.Column("error", sa.Double),
        sa.Column("raw", sa.Double),
        sa.Column("raw_error", sa.Double),
        sa.Column("ceiling", sa.Double),
        sa.Column("ceiling_error", sa.Double),
        sa.Column("n_units", sa.Integer),
        sa.Column("started", sa.String(32)),
        sa.Column("seconds", sa.Double),
        sa.Column("memory", sa.Double),
        sa.Column("reason", sa.Text),
        sa.Column("document", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("run_id", "task"),
    )
    op.create_index("scores_of_cells", "scores", ["cell"])
    op.create_index("scores_of_pairs", "scores", ["benchmark_id", "model_id"])
    for name in ("shared_parts", "raw_values"):
        op.create_table(
            name,
            sa.Column("digest", sa.String(32), primary_key=True),
            sa.Column("content", sa.LargeBinary, nullable=False),
        )
    op.create_table(
        "failures",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.String(32), nullable=False, unique=True),
        sa.Column("model", sa.Text, nullable=False),
        sa.Column("benchmark", sa.Text, nullable=False),
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id")),
        sa.Column("task", sa.Text),
        sa.Column("cell", sa.Text),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("log", sa.Text, nullable=False),
        sa.Column("started", sa.String(32)),
        sa.Column("seconds", sa.Double),
        sa.UniqueConstraint("run_id", "task"),
    )
    op.create_table(
        "in_flight",
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id"), primary_key=True),
        sa.Column("task", sa.Text, primary_key=True),
        sa.Column("worker", sa.Text, nullable=False),
        sa.Column("started", sa.String(32), nullable=False),
    )
    op.create_table(
        "known_digests",
        sa.Column("kind", sa.Text, primary_key=True),
        sa.Column("fingerprint", sa.Text, primary_key=True),
        sa.Column("digest", sa.Text, nullable=False),
    )
