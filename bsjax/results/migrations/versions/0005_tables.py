"""The first version that can be migrated; a new store has its tables from :mod:`bsjax.results.tables`.

Stores of earlier versions, which were never released, must be exported with the bsjax that wrote them.
"""

revision = "0005"
down_revision = None


def upgrade() -> None:
    """Nothing to do in the first migration."""
