"""Stores of every version are brought to the present one, with all that is in them, or stay as they were."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from bsjax import Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results import ResultStore, migrations, tables
from bsjax.results.database import url_of
from bsjax.results.documents import document_of
from tests.support import earlier_stores
from tests.support.earlier_stores import as_file, as_tables, expected, kept, rows_of


@pytest.fixture
def engine(place):
    """The database, without a store."""
    made = sa.create_engine(url_of(place))
    yield made
    made.dispose()


@pytest.fixture
def earlier(place, engine):
    """Writes a store of an earlier version."""

    def write(version):
        if engine.dialect.name == "sqlite":
            as_file(version, Path(place))
        else:
            as_tables(version, engine)

    return write


def without_versions(rows):
    return {name: each for name, each in rows.items() if name != "alembic_version"}


def schema(engine):
    """What SQLite or PostgreSQL says of the tables."""
    looked = sa.inspect(engine)
    return {
        name: (
            [(each["name"], str(each["type"]), each["nullable"]) for each in looked.get_columns(name)],
            looked.get_pk_constraint(name)["constrained_columns"],
            sorted(each["column_names"] for each in looked.get_unique_constraints(name)),
            sorted(each["column_names"] for each in looked.get_indexes(name) if not each["unique"]),
            sorted((each["constrained_columns"], each["referred_table"]) for each in looked.get_foreign_keys(name)),
        )
        for name in looked.get_table_names()
    }


def test_of_every_version_there_is_a_store_to_be_tested_with():
    assert earlier_stores.VERSIONS == migrations.VERSIONS, (
        "write a store of the new version of the tables: python -m tests.support.earlier_stores"
    )


@pytest.mark.parametrize("version", migrations.VERSIONS)
def test_a_store_of_every_version_is_brought_to_the_present_one_whole(place, earlier, engine, version):
    earlier(version)
    before = without_versions(rows_of(engine))
    with ResultStore(place) as store:
        assert kept(store) == expected(version)
        after = rows_of(engine)
        assert [row["version_num"] for row in after["alembic_version"]] == [migrations.HEAD]
        for name, rows in before.items():
            common = [{column: row[column] for column in known} for row, known in zip(after[name], rows, strict=True)]
            assert common == rows, name
        # It is written on.
        key = store.add(Score(0.75, provenance={"model": "pixels", "benchmark": "new"}))
        assert store.score(key) == 0.75 and len(store.frame(latest=False)) == len(expected(version)["frame"]) + 1
    with ResultStore(place, read_only=True) as store:
        assert store.score(key) == 0.75


def test_scores_of_a_store_without_intervals_have_none(place, earlier):
    earlier("0001")
    with ResultStore(place) as store:
        assert store.frame(latest=False)[["low", "high", "interval"]].isna().all(axis=None)
        known = Uncertainty(("stimuli",), 0.1, "jackknife of 10 groups", dof=9)
        store.add(Score(0.75, uncertainty=known, provenance={"model": "pixels", "benchmark": "new"}))
        assert store.frame(benchmarks="new")["interval"].tolist() == ["t over stimuli"]


@pytest.mark.parametrize("version", migrations.VERSIONS)
def test_scores_have_the_keys_that_they_had_in_every_version(version):
    # With other keys, what is there already would be there twice. The raw values of two were left out.
    known = {
        key: Score.from_dict(plain)
        for key, plain in expected(version)["scores"].items()
        if plain["provenance"]["model"] != "gabor-v1"
    }
    assert len(known) >= 6 and {document_of(score).key for score in known.values()} == known.keys()


def test_the_tables_are_those_that_the_steps_lead_to(place, engine):
    ResultStore(place).close()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = [step for step in compare_metadata(context, tables.metadata) if "alembic_version" not in str(step)]
    assert found == []
    migrated = schema(engine)
    del migrated["alembic_version"]
    with engine.begin() as connection:
        for name in [*migrated, "alembic_version"]:
            connection.execute(sa.text(f"DROP TABLE {name}" + (" CASCADE" if engine.dialect.name != "sqlite" else "")))
        tables.metadata.create_all(connection)
    assert schema(engine) == migrated


def test_a_step_to_a_version_that_is_there_changes_nothing(earlier, engine):
    earlier(migrations.HEAD)
    before = rows_of(engine)
    migrations.upgrade(engine)
    assert rows_of(engine) == before


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


@pytest.mark.parametrize(
    ("end", "kind", "message"),
    [
        ('op.execute("INSERT INTO nowhere VALUES (1)")', OSError, "the store of results at .* cannot be used"),
        ('op.execute("DELETE FROM models")', (ValueError, OSError), "would lose what scores refer to|no such run"),
    ],
)
def test_a_step_that_fails_in_the_middle_leaves_the_store_as_it_was(
    place, earlier, engine, next_version, monkeypatch, end, kind, message
):
    earlier(migrations.HEAD)
    before, tables_before = rows_of(engine), schema(engine)
    with monkeypatch.context() as later:
        next_version(end)
        for _ in range(2):
            with pytest.raises(kind, match=message):
                ResultStore(place)
        later.undo()
    monkeypatch.undo()
    assert rows_of(engine) == before and schema(engine) == tables_before
    with ResultStore(place) as store:
        assert kept(store) == expected(migrations.HEAD)


def test_a_step_keeps_what_refers_to_a_table_that_is_written_again(place, earlier, engine, next_version):
    earlier(migrations.HEAD)
    ResultStore(place).close()
    before = rows_of(engine)
    next_version("pass")
    with pytest.raises(
        ValueError, match=f"is of version {migrations.VERSIONS[-2]}, and this bsjax reads 9001: open it"
    ):
        ResultStore(place, read_only=True)
    with ResultStore(place) as store, store.writing() as connection:
        # The connection that has made the step is as any other.
        if engine.dialect.name == "sqlite":
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    after = rows_of(engine)
    assert [{**row, "license": "none"} for row in before["models"]] == after["models"]
    assert [{**row, "score": 0.0} for row in before["scores"]] == after["scores"]
    assert [row["text"] for row in after["notes"]] == ["a", "b"] and after["failures"] == []
    with ResultStore(place) as store:
        with pytest.raises(ValueError, match="no such run"):
            store.begin_task("nobody's", "c", "worker")


def test_a_store_that_does_not_say_its_version_is_damaged(place, store):
    with store.writing() as connection:
        connection.execute(sa.text("DELETE FROM alembic_version"))
    with pytest.raises(ValueError, match="the store of results at .* is damaged: it does not say its version"):
        ResultStore(place)
    store.close()


def test_stores_of_earlier_versions_are_whole_files(tmp_path):
    for version in earlier_stores.VERSIONS:
        as_file(version, tmp_path / version)
        with closing(sqlite3.connect(tmp_path / version)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
