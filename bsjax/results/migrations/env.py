"""The script that Alembic runs for each command: the migrations, on the given connection."""

from alembic import context

# Importing the module outside Alembic, as doctest collection does, has no effect.
if hasattr(context, "config"):
    context.configure(
        connection=context.config.attributes["connection"],
        transactional_ddl=True,
        # SQLite cannot change columns, so the table is rewritten.
        render_as_batch=True,
    )
    context.run_migrations()
