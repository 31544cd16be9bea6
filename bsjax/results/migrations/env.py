"""What Alembic runs for each command: the steps, in the connection that it is given."""

from alembic import context

# Nothing where Alembic does not run: tests import every module for its examples.
if hasattr(context, "config"):
    context.configure(
        connection=context.config.attributes["connection"],
        transactional_ddl=True,
        # SQLite changes no columns: the table is written again.
        render_as_batch=True,
    )
    context.run_migrations()
