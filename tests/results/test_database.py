"""The database of a store: where it is, and one clear line for whatever is wrong with it."""

import contextlib
import errno
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import sqlalchemy as sa

from bsjax import Score
from bsjax.core.files import cache_dir
from bsjax.results import ResultStore, database, tables
from bsjax.results.database import url_of
from tests.support import disks
from tests.support.forked import CONTEXT
from tests.support.large_store import ceiled_score
from tests.support.score_writers import hold_a_lock, use_without_rights

SCORE = Score(0.5, provenance={"model": "m", "benchmark": "b"})


@pytest.fixture
def path(tmp_path):
    """A store with one score."""
    path = tmp_path / "results.db"
    with ResultStore(path) as store:
        store.add(SCORE)
    return path


@contextlib.contextmanager
def refused(kind, *words):
    """An error of this kind, which says in one line what is wrong."""
    with pytest.raises(kind) as raised:
        yield raised
    said = str(raised.value)
    assert type(raised.value) is kind and "\n" not in said and len(said) < 500
    for word in words:
        assert word in said, said


def scores_in(place):
    with ResultStore(place, read_only=True) as store:
        return store.frame(latest=False)["score"].tolist()


# Places.


def test_places_of_stores(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BSJAX_RESULTS", raising=False)
    assert url_of() == url_of(cache_dir() / "results.db")
    monkeypatch.setenv("BSJAX_RESULTS", "elsewhere.db")
    assert url_of().database == f"{tmp_path}/elsewhere.db" == url_of("").database
    monkeypatch.setenv("BSJAX_RESULTS", "postgres://lab@host:5433/scores?sslmode=require")
    assert url_of().render_as_string() == "postgresql+psycopg://lab@host:5433/scores?sslmode=require"
    monkeypatch.setenv("HOME", "/home/ada")
    assert url_of("~/a.db").database == "/home/ada/a.db"
    for same in (tmp_path / "a.db", "a.db", "sqlite:///a.db", f"sqlite:///{tmp_path}/a.db", "sqlite+aiosqlite:///a.db"):
        assert url_of(same).render_as_string() == f"sqlite:///{tmp_path}/a.db"


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("mysql://lab@host/scores", "results are kept in SQLite or PostgreSQL, got mysql://lab@host/scores"),
        ("sqlite:///:memory:", "a store of results is a file: name one"),
        ("sqlite://results.db", "the path of a SQLite file follows three slashes, as in sqlite:///results.db"),
        ("://", "no URL of a database: '://'; expected a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE"),
    ],
)
def test_other_places_are_refused(place, message):
    with refused(ValueError, message):
        url_of(place)


@pytest.mark.parametrize("place", ["postgresql://lab:s3cret/@host:port/scores", "postgresql://a:s3cret@localhost:1/b"])
def test_no_message_has_the_password(place):
    with pytest.raises((ValueError, ConnectionError)) as raised:
        ResultStore(place)
    assert "s3cret" not in str(raised.value) and "host" in str(raised.value)


# Files.


@pytest.mark.parametrize("content", [b"PNG" * 2000, b"SQLite format 3\0" + b"\xff" * 5000, b"x"])
def test_a_file_that_is_no_database_is_refused_and_stays(tmp_path, content):
    path = tmp_path / "results.db"
    path.write_bytes(content)
    for read_only in (False, True):
        with refused(ValueError, f"{path} ", "set BSJAX_RESULTS to another place, or move the file away"):
            ResultStore(path, read_only=read_only)
    assert path.read_bytes() == content and sorted(tmp_path.iterdir()) == [path]


def test_a_file_that_is_cut_off_is_refused(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with refused(ValueError, f"{path} is none, or damaged (database disk image is malformed)"):
        store = ResultStore(path)
        store.frame(latest=False)
        store.add(SCORE)


def test_a_database_of_something_else_is_refused_and_stays(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:  # as other programs that use Alembic have it
        other.execute("CREATE TABLE recipes (name TEXT)")
        other.execute("CREATE TABLE alembic_version (version_num TEXT)")
        other.execute("INSERT INTO alembic_version VALUES ('ae1027a6acf')")
        other.commit()
    content = path.read_bytes()
    for read_only in (False, True):
        with refused(
            ValueError, f"{path} is a database of something else, with the tables", "recipes", "another place"
        ):
            ResultStore(path, read_only=read_only)
    assert path.read_bytes() == content and sorted(tmp_path.iterdir()) == [path]


def test_a_store_that_is_not_there_cannot_be_read(tmp_path):
    path = tmp_path / "new" / "results.db"
    with refused(FileNotFoundError, f"no store of results at {path}"):
        ResultStore(path, read_only=True)
    assert list(tmp_path.iterdir()) == []
    with refused(IsADirectoryError, f"a store of results is a file, and {tmp_path} is a folder: name a file in it"):
        ResultStore(tmp_path)
    (tmp_path / "empty.db").touch()
    with refused(FileNotFoundError, f"no store of results at {tmp_path}/empty.db: it is empty"):
        ResultStore(tmp_path / "empty.db", read_only=True)
    ResultStore(tmp_path / "empty.db").add(SCORE)
    assert scores_in(tmp_path / "empty.db") == [0.5]


def test_a_store_that_was_opened_to_be_read_is_not_written(place, store):
    key = store.add(SCORE)
    with ResultStore(place, read_only=True) as reader:
        assert reader.score(key) == SCORE
        with refused(PermissionError, "cannot be written: it was opened to be read only: open it without read_only"):
            reader.add(SCORE)
        # It sees what others write.
        store.add(Score(0.6, provenance=SCORE.provenance))
        assert sorted(reader.frame(latest=False)["score"]) == [0.5, 0.6]


def test_a_store_on_a_disk_that_can_only_be_read_is_read(small_disk):
    path = small_disk / "results.db"
    with ResultStore(path) as store:
        store.add(SCORE)
    disks.let_only_read(small_disk)
    assert scores_in(path) == [0.5]
    with refused(PermissionError, f"the store of results at {path} cannot be"):
        ResultStore(path).add(SCORE)
    with refused(PermissionError, f"the store of results at {small_disk}/new/results.db cannot be made"):
        ResultStore(small_disk / "new" / "results.db")


@pytest.fixture
def open_folder():
    """A folder that everybody may enter."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o777)
        yield Path(folder)


@pytest.mark.parametrize(("mode", "of_folder"), [(0o444, 0o777), (0o000, 0o755)], ids=oct)
def test_a_store_without_the_right_to_write_or_to_read_it(open_folder, start, mode, of_folder):
    path, log = open_folder / "store" / "results.db", open_folder / "log"
    with ResultStore(path) as store:
        store.add(SCORE)
    path.chmod(mode)
    path.parent.chmod(of_folder)
    log.touch()
    log.chmod(0o666)
    start(use_without_rights, str(path), log).join()
    path.parent.chmod(0o777)
    *said, refusal = log.read_text().splitlines()
    assert f"PermissionError: the store of results at {path} cannot be" in refusal
    if mode:  # it can be read
        assert said[0] == "read [0.5]" and "PermissionError: " in said[1] and "was opened to be read only" in said[1]
        assert scores_in(path) == [0.5]
    else:
        assert len(said) == 1 and f"PermissionError: the store of results at {path} cannot be" in said[0]


# A full disk.


def test_on_a_full_disk_nothing_is_lost(small_disk):
    path, keys = small_disk / "results.db", []
    with ResultStore(path) as store:
        keys.append(store.add(ceiled_score("m", "b")))
        disks.fill(small_disk)
        with refused(OSError, f"at {path} cannot be written, as the disk is full: free some") as raised:
            for seed in range(1, 1000):
                keys.append(store.add(ceiled_score("m", "b", seed)))
        assert raised.value.errno == errno.ENOSPC
        assert set(store.frame(latest=False)["key"]) == set(keys)
        (small_disk / "filled").unlink()
        keys.append(store.add(ceiled_score("m", "b", 1000)))
    with ResultStore(path) as store:
        assert set(store.frame(latest=False)["key"]) == set(keys)
        assert store.score(keys[-1]).to_dict() == ceiled_score("m", "b", 1000).to_dict()


# Locks.


@pytest.fixture
def locked(place, start):
    """A store that another process keeps from being written."""
    with ResultStore(place) as store:
        store.add(SCORE)
    ready, released = CONTEXT.Event(), CONTEXT.Event()
    process = start(hold_a_lock, place, ready, released)
    ready.wait()
    yield place, released
    released.set()
    process.join()


def test_a_locked_store_says_so_and_is_written_when_it_is_free(locked, monkeypatch):
    place, released = locked
    monkeypatch.setattr(database, "_WAIT", 0.2)
    with ResultStore(place) as store:
        with refused(TimeoutError, "was locked for 0.2 s (", "another process holds it", "set BSJAX_RESULTS"):
            store.add(SCORE)
        if "://" not in place:
            assert store.frame()["score"].tolist() == [0.5]
        monkeypatch.setattr(database, "_WAIT", 60)
    with ResultStore(place) as store:
        released.set()
        store.add(Score(0.6, provenance=SCORE.provenance))
        assert len(store.frame(latest=False)) == 2


DISKS = [("/", "ext4"), ("/home", "nfs4"), ("/home/local", "xfs"), ("/shared", "autofs"), ("/shared", "nfs")]


def mount(monkeypatch, *disks):
    """Let the system have these disks: place and file system of each."""
    found = [SimpleNamespace(mountpoint=place, fstype=kind) for place, kind in disks]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: found)


def test_disks_of_other_machines_are_known(tmp_path, monkeypatch):
    mount(monkeypatch, *DISKS)
    remote = {"/data": False, "/home/ada": True, "/homes": False, "/home/local": False, "/shared": True}
    assert {folder: database._is_remote(Path(folder, "results.db")) for folder in remote} == remote
    (tmp_path / "link").symlink_to("/home/ada")
    assert database._is_remote(tmp_path / "link" / "results.db")


def journal(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA journal_mode").fetchone()[0]


def test_on_a_disk_of_another_machine_nothing_is_written_ahead(tmp_path, monkeypatch):
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    ResultStore(here).add(SCORE)
    mount(monkeypatch, (str(tmp_path), "nfs4"))
    with ResultStore(there) as store:
        store.add(SCORE)
        with store.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    assert journal(here) == "wal" and journal(there) == "delete"
    # A store that was moved there is kept as it has to be there, and the other way round.
    with ResultStore(here) as store:
        store.add(Score(0.6, provenance=SCORE.provenance))
    assert journal(here) == "delete" and sorted(scores_in(here)) == [0.5, 0.6]
    assert not list(tmp_path.glob(".there*")) and not list(tmp_path.glob("there.db-*"))
    mount(monkeypatch)
    with ResultStore(there) as store, store.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 1
    assert journal(there) == "wal" and scores_in(there) == [0.5]


# Servers.


def test_a_server_that_is_not_there_or_does_not_know_the_database_or_the_password_says_so(postgres):
    with refused(ConnectionError, "the store of results at postgresql+psycopg://lab@", "set BSJAX_RESULTS"):
        ResultStore("postgresql://lab@localhost:1/scores")
    with refused(ConnectionError, 'database "nowhere" does not exist'):
        ResultStore(postgres.url("nowhere"))
    with refused(ConnectionError, 'password authentication failed for user "clerk"'):
        ResultStore(postgres.url("postgres", "clerk", "wrong"))


def test_a_server_on_which_nothing_may_be_made_says_so(postgres, new_database):
    url = new_database()
    name = sa.make_url(url).database
    clerk = postgres.url(name, "clerk", "s3cret")
    with refused(FileNotFoundError, "no store of results at postgresql+psycopg://clerk:***@"):
        ResultStore(clerk, read_only=True)
    with refused(PermissionError, "cannot be written: ", "ask for the right to (permission denied for schema public"):
        ResultStore(clerk)
    with ResultStore(url) as store:
        key = store.add(SCORE)
    postgres.run("GRANT SELECT ON ALL TABLES IN SCHEMA public TO clerk", name)
    with ResultStore(clerk) as reader:
        assert reader.score(key) == SCORE and len(reader.frame()) == 1
        with refused(PermissionError, "ask for the right to (permission denied for"):
            reader.add(SCORE)


def test_a_database_of_something_else_on_a_server_is_refused_and_has_room_for_a_schema(postgres, new_database):
    url = new_database()
    name = sa.make_url(url).database
    postgres.run("CREATE TABLE recipes (name TEXT)", name)
    with refused(ValueError, "is a database of something else, with the tables recipes", "options=-csearch_path=NAME"):
        ResultStore(url)
    postgres.run("CREATE SCHEMA scores", name)
    with ResultStore(f"{url}&options=-csearch_path=scores") as store:
        store.add(SCORE)
    assert postgres.run("SELECT count(*) FROM scores.scores", name) == [(1,)]


@pytest.mark.slow
def test_a_server_that_stops_in_the_middle_and_starts_again_is_used_again(postgres, new_database):
    with ResultStore(new_database()) as store:
        key = store.add(SCORE)
        postgres.stop()
        try:
            for _ in range(2):
                with refused(ConnectionError, "the store of results at ", "set BSJAX_RESULTS to another place"):
                    store.add(Score(0.6, provenance=SCORE.provenance))
                with refused(ConnectionError):
                    store.frame()
        finally:
            postgres.start()
        assert store.score(key) == SCORE
        store.add(Score(0.6, provenance=SCORE.provenance))
        with refused(ConnectionError), store.writing() as connection:
            connection.execute(sa.insert(tables.models).values(identifier="n", digest="", facts={}))
            postgres.stop()
            postgres.start()
            connection.execute(sa.insert(tables.models).values(identifier="o", digest="", facts={}))
        assert sorted(store.frame(latest=False)["score"]) == [0.5, 0.6]
        with store.reading() as connection:
            assert connection.execute(sa.select(tables.models.c.identifier)).scalars().all() == ["m"]
