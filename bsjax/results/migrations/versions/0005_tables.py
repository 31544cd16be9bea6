"""The first version that can be migrated; a new store has its tables from :mod:`bsjax.results.tables`.

Stores of versions 0001 and 0002 must be exported with the bsjax that wrote them.
"""

revision = "0003"
down_revision = None


def upgrade() -> None:
    """Nothing to do in the first migration."""
