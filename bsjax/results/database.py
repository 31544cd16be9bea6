"""The database of a store: its location, its tables, and one-line error messages."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from errno import EACCES, ENOSPC, EPERM, EROFS
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import psutil
from sqlalchemy import Connection, Engine, Table, create_engine, event, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from bsjax.core.extras import import_extra
from bsjax.core.files import cache_dir, exclusive
from bsjax.results.tables import VERSION, metadata

VARIABLE = "BSJAX_RESULTS"
_NAME = "results.db"
# How long to wait for writers in other processes, and for a server's answer, in seconds.
_WAIT, _WAIT_FOR_SERVER = 60, 15
_VERSIONS = "alembic_version"
# Bytes of the smallest database; SQLite treats any shorter file as an empty one.
_SMALLEST = 512
_ASKABLE = 500
# Tables that identify a store; other programs use Alembic too.
_OURS = {"scores", "failures", _VERSIONS}
# Network file systems, on which write-ahead logs do not work reliably.
_REMOTE = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "9p", "virtiofs", "vboxsf"),
    *("lustre", "gpfs", "beegfs", "fhgfs", "panfs", "wekafs"),
    *("fuse.sshfs", "fuse.glusterfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse"),
}


class Readable(Protocol):
    """Interface of a store for reading."""

    url: URL

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection for reading."""
        ...


def url_of(place: str | Path | None = None) -> URL:
    """The URL of a store.

    Args:
        place: a URL (``postgresql://...``, ``sqlite:///...``), or the path of a SQLite file; by default
            ``$BSJAX_RESULTS``, else ``results.db`` in ``$BSJAX_HOME``.

    Raises:
        ValueError: the URL is not supported.

    Example:
        >>> url_of("/data/scores.db").database, url_of("postgresql://lab@host/scores").drivername
        ('/data/scores.db', 'postgresql+psycopg')
    """
    place = place or os.environ.get(VARIABLE) or cache_dir() / _NAME
    url = _parsed(str(place)) if is_url(place) else URL.create("sqlite", database=str(place))
    if url.get_backend_name() != "sqlite":
        return url
    if not url.database or url.database.startswith((":memory:", "file:")):
        raise ValueError(f"a store of results is a file: name one, as in sqlite:///results.db, got {url.database!r}")
    # Absolute, because the working folder may change before the next connection.
    return URL.create("sqlite", database=str(Path(url.database).expanduser().absolute()))


def is_url(place: str | Path) -> bool:
    """Whether a location is a URL rather than a path."""
    return isinstance(place, str) and "://" in place and not place.startswith("/")


def _parsed(place: str) -> URL:
    try:
        url = make_url(place)
    except (ArgumentError, ValueError) as error:
        # The text before the last @ may contain a password.
        shown = re.sub("://.*@", "://...@", place, flags=re.DOTALL)
        raise ValueError(
            f"no URL of a database: {shown!r}; expected a path, sqlite:///PATH or postgresql://USER@HOST/DATABASE"
        ) from error
    kind = url.get_backend_name()
    if kind in ("postgres", "postgresql"):
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise ValueError(f"results are kept in SQLite or PostgreSQL, got {url.render_as_string()}")
    if url.host:
        raise ValueError(f"the path of a SQLite file follows three slashes, as in sqlite:///results.db, got {place!r}")
    return url


def opened(url: URL, read_only: bool = False) -> Engine:
    """The database at a URL, with the current tables; a new one is made if there is none.

    Args:
        url: from :func:`url_of`.
        read_only: whether nothing will be written; the database must then exist and have the current version.

    Raises:
        FileNotFoundError: there is no database to read.
        ValueError: it is not a database of results, or an earlier or later bsjax has written it.
        OSError, PermissionError, ConnectionError, TimeoutError: it cannot be read or written.
        ImportError: the driver of PostgreSQL is not installed.
    """
    engine = _of_file(url, read_only) if url.get_backend_name() == "sqlite" else _of_server(url, read_only)
    try:
        with explaining(url, read_only):
            _make_ready(engine, url, read_only)
    except BaseException:
        engine.dispose()
        raise
    return engine


# Exception class; prefixes of SQLite error names and PostgreSQL error codes; message. A server error without a code
# counts as "unanswered".
_LOCKED = (
    "was locked for {wait} s ({said}): another process holds it, or its file system has no locks, as some of NFS; "
)
_LOCKED += "{advice} on a local disk, or to postgresql://..."
_EXPLAINED: tuple[tuple[type[Exception], str, str], ...] = (
    (ValueError, "SQLITE_NOTADB SQLITE_CORRUPT", "is none, or damaged ({said}): {advice}, or move the file away"),
    (PermissionError, "SQLITE_READONLY SQLITE_PERM 25006 42501", "cannot be written: {rights}"),
    (OSError, "SQLITE_FULL 53100", "cannot be written, as the disk is full: free some; nothing that was kept is lost"),
    (TimeoutError, "SQLITE_BUSY SQLITE_LOCKED SQLITE_PROTOCOL SQLITE_IOERR_LOCK 55P03", _LOCKED),
    (PermissionError, "SQLITE_CANTOPEN", "cannot be opened: its folder must be there and be writable, or {advice}"),
    (ValueError, "SQLITE_CONSTRAINT_FOREIGNKEY 23503", "has no such run: its name is what begin_run gave ({said})"),
    (ValueError, "SQLITE_TOOBIG 22 54", "cannot hold a value of this size ({said})"),
    (ConnectionError, "08 28 3D 53 57 unanswered", "cannot be used ({said}): {advice}"),
)
_OTHER = (OSError, "", "cannot be used ({said}): {advice}")


@contextmanager
def explaining(url: URL, read_only: bool = False) -> Iterator[None]:
    """Turn database errors in a block into one-line errors that name the store.

    Args:
        url: of the store.
        read_only: whether it was opened as read only.

    Raises:
        ValueError, OSError, PermissionError, ConnectionError, TimeoutError: as :func:`opened`.
    """
    try:
        yield
    except DBAPIError as error:
        original: Any = error.orig
        said, advice = " ".join(str(original).split()), f"set {VARIABLE} to another place"
        unanswered = "" if url.get_backend_name() == "sqlite" else "unanswered"
        called = getattr(original, "sqlite_errorname", None) or getattr(original, "sqlstate", None) or unanswered
        kind, _, words = next((each for each in _EXPLAINED if called.startswith(tuple(each[1].split()))), _OTHER)
        rights = f"make it and its folder writable, or ask for the right to ({said}), or {advice}"
        rights = "it was opened to be read only: open it without read_only" if read_only else rights
        said_so = words.format(said=said, advice=advice, rights=rights, wait=_WAIT)
        raised = kind(f"the store of results at {_shown(url)} {said_so}")
        if "disk is full" in words:
            raised.errno = ENOSPC  # type: ignore[attr-defined]
        raise raised from error


def _shown(url: URL) -> str:
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string()


def _of_file(url: URL, read_only: bool) -> Engine:
    path = _path(url)
    with _using(url):
        is_folder, size = path.is_dir(), path.stat().st_size if path.exists() else None
        if size is not None and not os.access(path, os.R_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
    if is_folder:
        raise IsADirectoryError(f"a store of results is a file, and {path} is a folder: name a file in it")
    if read_only and size is None:
        raise FileNotFoundError(f"no store of results at {path}")
    if size is not None and 0 < size < _SMALLEST:
        raise ValueError(f"{path} is no store of results: set {VARIABLE} to another place, or move the file away")
    with _using(url):
        path.parent.mkdir(parents=True, exist_ok=True)
    named = URL.create("sqlite", database=f"file:{quote(str(path))}", query=_only_read(path)) if read_only else url
    engine = create_engine(named, connect_args={"timeout": _WAIT})
    event.listen(engine, "connect", _prepare_file)
    event.listen(engine, "begin", _begin)
    return engine


def _of_server(url: URL, read_only: bool) -> Engine:
    import_extra("psycopg", "postgresql")
    wait = {} if "connect_timeout" in url.query else {"connect_timeout": _WAIT_FOR_SERVER}
    try:
        options = {"postgresql_readonly": True} if read_only else {}
        engine = create_engine(url, connect_args=wait, pool_pre_ping=True, execution_options=options)
    except NoSuchModuleError as error:
        raise ImportError(f"no driver for {url.drivername}; run: pip install 'bsjax[postgresql]'") from error

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, record: Any) -> None:
        connection.autocommit = True
        connection.execute(f"SET lock_timeout = '{_WAIT}s'")
        connection.autocommit = False

    return engine


def for_reading(engine: Engine) -> Engine:
    """An engine whose connections see a consistent snapshot of the database."""
    if engine.dialect.name == "sqlite":  # always so in SQLite
        return engine
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def askable(values: Iterable[str]) -> Iterator[list[str]]:
    """Split distinct values into lists that are short enough for one query, because databases limit its parameters.

    Example:
        >>> list(askable(["a", "b", "a"]))
        [['a', 'b']]
    """
    wanted = list(dict.fromkeys(values))
    return (wanted[start : start + _ASKABLE] for start in range(0, len(wanted), _ASKABLE))


def inserting(connection: Connection, table: Table) -> Any:
    """An ``INSERT`` statement of the database's dialect, which supports conflict clauses."""
    # The other dialect is not imported: a store of a file is read in every command.
    return import_module(f"sqlalchemy.dialects.{connection.dialect.name}").insert(table)


def alone_in(connection: Connection, table: Table) -> None:
    """Lock a table against other writers until the transaction ends.

    Two transactions that insert the same rows in different orders could deadlock otherwise.
    """
    if connection.dialect.name == "postgresql":  # SQLite allows only one writer
        connection.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert rows, except those that exist or violate a unique constraint; returns the number of new rows."""
    if not rows:
        return 0
    asked = inserting(connection, table).on_conflict_do_nothing().inline().execution_options(preserve_rowcount=True)
    return connection.execute(asked, list(rows)).rowcount


def _path(url: URL) -> Path:
    return Path(str(url.database))


# Only SQLite itself may open its files. When a process closes such a file, the system releases all locks that the
# process holds on it. Another process could then delete the log that this one still writes to.


def is_sqlite(path: Path) -> bool:
    """Whether a path is an existing SQLite database."""
    if not path.is_file() or path.stat().st_size < _SMALLEST:
        return False
    try:
        _looked_into(path)
    except sqlite3.Error as error:
        return getattr(error, "sqlite_errorname", "") != "SQLITE_NOTADB"
    return True


def _looked_into(path: Path) -> None:
    with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_WAIT)) as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _only_read(path: Path) -> dict[str, str]:
    """URI options with which SQLite opens a file read-only."""
    how = {"mode": "ro", "uri": "true"}
    if not os.path.exists(f"{path}-wal") and not os.access(path.parent, os.W_OK):
        # With a write-ahead log, SQLite registers readers in a second file, which this process may not be allowed to
        # create. The file can then be opened as immutable, since nobody is writing. Damage is reported on reading.
        with suppress(sqlite3.DatabaseError):
            try:
                _looked_into(path)
            except sqlite3.OperationalError:
                how["immutable"] = "1"
    return how


@contextmanager
def _using(url: URL) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = PermissionError if error.errno in (EACCES, EPERM, EROFS) else OSError
        said, advice = error.strerror or error, f"make the file and its folder writable, or set {VARIABLE}"
        raise kind(
            f"the store of results at {_shown(url)} cannot be made or opened ({said}): {advice} to another place"
        ) from error


def _prepare_file(connection: Any, record: Any) -> None:
    connection.isolation_level = None  # transactions begin explicitly
    # With a write-ahead log, commits need not wait for the disk; only a power cut can lose them.
    is_ahead = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    connection.execute(f"PRAGMA synchronous={'NORMAL' if is_ahead else 'FULL'}")
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: Connection) -> None:
    # Writers wait for the lock when they begin; upgrading a read transaction would fail at once.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _is_remote(file: Path) -> bool:
    """Whether a file is known to lie on a network file system."""
    path = file.resolve()
    disks = [disk for disk in psutil.disk_partitions(all=True) if path.is_relative_to(disk.mountpoint)]
    # The last mount at a mount point hides the earlier ones.
    disk = max(reversed(disks), key=lambda disk: len(disk.mountpoint), default=None)
    return disk is not None and disk.fstype in _REMOTE


def _make_ready(engine: Engine, url: URL, read_only: bool) -> None:
    """Make the tables of a new store, and refuse those of another version."""
    with engine.connect() as connection:
        now = _version(connection, url)
    if read_only and now is None:
        raise FileNotFoundError(f"no store of results at {_shown(url)}: it is empty")
    if now is None:
        with _using(url), _alone(url), engine.execution_options(writes=True).begin() as connection:
            _make_tables(connection)
    elif now != VERSION:
        earlier = (
            "with the bsjax that wrote it, run `bsjax results export all.json --all --scores`, move it away, and run "
            "`bsjax results import all.json` with this one"
        )
        advice = earlier if now < VERSION else "a later bsjax has written it: pip install --upgrade bsjax"
        where = f"the store of results at {_shown(url)}"
        raise ValueError(f"{where} is of version {now}, and this bsjax reads {VERSION}: {advice}")
    if url.get_backend_name() == "sqlite" and not read_only:
        _keep_journal(engine, url)


def _make_tables(connection: Connection) -> None:
    """Make the tables, unless another process has made them meanwhile."""
    if connection.dialect.name == "postgresql":  # others wait
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7266295201884)")
    if not inspect(connection).has_table(_VERSIONS):
        metadata.create_all(connection)
        connection.exec_driver_sql(f"CREATE TABLE {_VERSIONS} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
        connection.exec_driver_sql(f"INSERT INTO {_VERSIONS} VALUES ('{VERSION}')")


def _version(connection: Connection, url: URL) -> str | None:
    """The version of the tables; None if there are none."""
    if not (names := inspect(connection).get_table_names()):
        return None
    if not set(names) >= _OURS:
        own = "" if url.get_backend_name() == "sqlite" else ", or give it a schema (?options=-csearch_path=NAME)"
        tables = ", ".join(names[:5])
        raise ValueError(
            f"{_shown(url)} is a database of something else, with the tables {tables}: set {VARIABLE} to another "
            f"place{own}"
        )
    if (found := connection.execute(text(f"SELECT version_num FROM {_VERSIONS}")).scalar()) is None:
        raise ValueError(f"the store of results at {_shown(url)} is damaged: it does not say its version")
    return found


def _keep_journal(engine: Engine, url: URL) -> None:
    """Use a write-ahead log, so that readers do not wait; not on a network file system."""
    wanted = "delete" if _is_remote(_path(url)) else "wal"

    def switched(how: str) -> bool:
        with closing(engine.raw_connection()) as connection:
            cursor = connection.cursor()
            return cursor.execute(f"PRAGMA journal_mode{how}").fetchone()[0] == wanted

    if switched(""):
        return
    # Keep the present mode if the store is not writable, or in use.
    with suppress(PermissionError, sqlite3.OperationalError), _alone(url):
        switched(f"={wanted}")
    engine.dispose()  # new connections must see the new journal mode


def _alone(url: URL) -> AbstractContextManager[Any]:
    """A lock against changes of the tables by other processes."""
    # On servers and network file systems, the transaction has to suffice.
    is_locked = url.get_backend_name() == "sqlite" and not _is_remote(_path(url))
    return exclusive(_path(url)) if is_locked else nullcontext()
