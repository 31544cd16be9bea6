"""Versions of the tables, and the Alembic migrations between them.

A new store gets the tables in :mod:`bsjax.results.tables`. Every change of these is also a migration,
``versions/NNNN_what.py``, for existing stores. A published migration is never changed.
"""

from pathlib import Path

from sqlalchemy import Engine, inspect

from bsjax.results import tables

_FOLDER = Path(__file__).parent
VERSIONS = sorted(path.stem.partition("_")[0] for path in (_FOLDER / "versions").glob("[0-9]*.py"))
HEAD = VERSIONS[-1]
"""The version of the tables that this bsjax reads and writes."""


def upgrade(engine: Engine, to: str = HEAD) -> None:
    """Migrate a database to a version of the tables, in one transaction, so that an error changes nothing.

    Args:
        engine: of the database; it may have the tables of any earlier version, or none.
        to: the version.

    Raises:
        ValueError: the migration would leave dangling foreign keys.
    """
    # Imported late, because tables rarely change.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    is_file = engine.dialect.name == "sqlite"
    with engine.execution_options(writes=True).connect() as connection:
        # SQLite changes a column by rewriting the table, which breaks foreign keys for a while. They can be switched
        # off only outside a transaction.
        switch = connection.connection.cursor().execute if is_file else lambda statement: None
        switch("PRAGMA foreign_keys=OFF")
        try:
            with connection.begin():
                if not is_file:  # concurrent migrations wait
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
