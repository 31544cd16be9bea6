"""The first version that is brought to later ones; a new store has its tables from :mod:`bsjax.results.tables`.

Stores of 0001 and 0002 are exported with the bsjax that wrote them.
"""

revision = "0003"
down_revision = None


def upgrade() -> None:
    """Nothing comes before it."""
