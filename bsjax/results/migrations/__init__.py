"""The versions of the tables, and the steps from each to the next, by Alembic.

A new store gets the tables as :mod:`bsjax.results.tables` has them. Whatever changes them is also a step,
``versions/NNNN_what.py``, for the stores that are there; it is never changed once it is published.
"""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Engine, inspect

from bsjax.results import tables

_FOLDER = Path(__file__).parent
VERSIONS = sorted(path.stem.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))
HEAD = VERSIONS[-1]
"""The version of the tables that this bsjax reads and writes."""


def upgrade(engine: Engine, to: str = HEAD) -> None:
    """Bring a database to a version of the tables; all in one transaction, so that an error leaves it as it was.

    Args:
        engine: of the database; its tables may be of any earlier version, or not be there.
        to: the version.

    Raises:
        ValueError: after it, something would refer to what is not there.
    """
    # Alembic is needed where tables change, which is seldom.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    is_file = engine.dialect.name == "sqlite"
    with engine.execution_options(writes=True).connect() as connection:
        # SQLite changes a column by writing the table again, meanwhile nothing that refers to it is there. That can be
        # said before a transaction alone.
        switch = connection.connection.cursor().execute if is_file else lambda statement: None
        switch("PRAGMA foreign_keys=OFF")
        try:
            with connection.begin():
                if not is_file:  # others wait until this is done
                    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7266295201884)")
                config.attributes["connection"] = connection
                if inspect(connection).has_table(tables.scores.name):
                    command.upgrade(config, to)
                else:
                    tables.metadata.create_all(connection)
                    command.stamp(config, to)
                if is_file and (lost := connection.exec_driver_sql("PRAGMA foreign_key_check").first()):
                    raise ValueError(f"version {to} of the tables would lose what {lost[0]} refer to")
        finally:
            switch("PRAGMA foreign_keys=ON")
