"""A new store has the tables of this version; later steps change it whole, or leave it as it was."""

import json
import shutil

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from bsjax import Score
from bsjax.results import ResultStore, migrations, tables
from bsjax.results.database import url_of
from bsjax.results.exchange import Imported, import_scores
from bsjax.results.store import Task
from tests.support.paths import REPOSITORY

EXPORTED = REPOSITORY / "tests" / "results" / "stores" / "exported-0002.json"


@pytest.fixture
def engine(place):
    """The database, without a store."""
    made = sa.create_engine(url_of(place))
    yield made
    made.dispose()


def rows_of(engine):
    """All that is in a database, by tables."""
    found = sa.MetaData()
    found.reflect(engine)
    with engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(table.select().order_by(*table.primary_key))]
            for table in found.sorted_tables
        }


def test_a_new_store_has_the_tables_of_this_version(place, engine):
    ResultStore(place).close()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = [step for step in compare_metadata(context, tables.metadata) if "alembic_version" not in str(step)]
    assert found == [] and rows_of(engine)["alembic_version"] == [(migrations.HEAD,)]
    migrations.upgrade(engine)
    assert rows_of(engine)["alembic_version"] == [(migrations.HEAD,)]


def test_a_store_of_an_earlier_bsjax_says_how_it_is_brought_here_and_stays(place, engine):
    with ResultStore(place) as store:
        store.add(Score(0.5, provenance={"model": "m", "benchmark": "b"}))
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0004'"))
    before = rows_of(engine)
    for read_only in (False, True):
        with pytest.raises(ValueError, match="`bsjax results export all.json --all --scores`, .*`bsjax results import"):
            ResultStore(place, read_only=read_only)
    assert rows_of(engine) == before


def test_what_an_earlier_version_exported_is_read_whole(store):
    rows = {row["key"]: row for row in json.loads(EXPORTED.read_bytes())["scores"]}
    n_scores = sum(row["score"] is not None for row in rows.values())
    assert import_scores(store, EXPORTED) == Imported(new=n_scores, failures=1)
    assert import_scores(store, EXPORTED) == Imported(known=n_scores)
    # What was kept without its raw values is another score now; all else has the key that it had.
    without = rows.keys() - set(store.frame(latest=False)["key"])
    assert [rows[key]["benchmark"] for key in without] == ["Simulated.V1-rdm"]


# Steps.


FAILING = '''
"""A step that fails in the middle."""

import sqlalchemy as sa
from alembic import op

revision = "9001"
down_revision = "{head}"


def upgrade() -> None:
    op.create_table("notes", sa.Column("id", sa.Integer, primary_key=True), sa.Column("text", sa.Text))
    op.bulk_insert(sa.table("notes", sa.column("text", sa.Text)), [{{"text": "a"}}, {{"text": "b"}}])
    op.execute("UPDATE scores SET score = 0")
    again = "always" if op.get_bind().dialect.name == "sqlite" else "never"
    with op.batch_alter_table("models", recreate=again) as batch:
        batch.add_column(sa.Column("license", sa.Text, server_default="none", nullable=False))
    op.execute("DELETE FROM failures")
    {end}
'''


@pytest.fixture
def next_version(tmp_path, monkeypatch):
    """Adds a step to a version that does not exist yet, with this at its end."""

    def add(end):
        folder = tmp_path / "migrations 100%"
        shutil.copytree(migrations._FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "versions" / "9001_next.py").write_text(FAILING.format(head=migrations.HEAD, end=end))
        monkeypatch.setattr(migrations, "_FOLDER", folder)
        monkeypatch.setattr(migrations, "HEAD", "9001")
        monkeypatch.setattr(migrations, "VERSIONS", [*migrations.VERSIONS, "9001"])

    return add


@pytest.fixture
def filled(place):
    """A store with scores and a failure."""
    with ResultStore(place) as store:
        import_scores(store, EXPORTED)


def test_a_step_that_fails_in_the_middle_leaves_the_store_as_it_was(place, filled, engine, next_version):
    before = rows_of(engine)
    next_version('op.execute("DELETE FROM models")')
    with pytest.raises((ValueError, OSError), match="would lose what scores refer to|no such run"):
        ResultStore(place)
    assert rows_of(engine) == before and before["scores"] and before["failures"]


def test_a_step_keeps_what_refers_to_a_table_that_is_written_again(place, filled, engine, next_version):
    before, head = rows_of(engine), migrations.HEAD
    next_version("pass")
    with pytest.raises(ValueError, match=f"is of version {head}, and this bsjax reads 9001: open it"):
        ResultStore(place, read_only=True)
    with ResultStore(place) as store, store.writing() as connection:
        # The connection that has made the step is as any other.
        if engine.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    after = rows_of(engine)
    assert [(*row, "none") for row in before["models"]] == after["models"]
    assert len(after["scores"]) == len(before["scores"]) and after["failures"] == []
    assert [text for _, text in after["notes"]] == ["a", "b"]
    with ResultStore(place) as store:
        assert set(store.frame(latest=False)["score"].dropna()) == {0.0}
        with pytest.raises(ValueError, match="no such run"):
            store.add_failure("m", "b", "no data", task=Task("nobody's", "c"))


def test_a_store_that_does_not_say_its_version_is_damaged(place, store):
    with store.writing() as connection:
        connection.execute(sa.text("DELETE FROM alembic_version"))
    with pytest.raises(ValueError, match="the store of results at .* is damaged: it does not say its version"):
        ResultStore(place)
    store.close()
