"""Leases, by which several commands on one store divide the work and compute nothing twice.

A run claims a cell until an expiry time, which its process keeps renewing. If the process is killed, the lease expires
and another run takes over the cell. A run on the same machine takes over at once, as it can see that the process is
gone.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlalchemy import Connection, delete, func, or_, select, update

from bsjax.results import tables
from bsjax.results.database import alone_in, askable, inserting

if TYPE_CHECKING:
    from bsjax.results.store import ResultStore

_of = tables.leases.c


def claim(store: ResultStore, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
    """Claim cells for an owner. If several claim a cell at once, one of them gets it.

    Args:
        store: the store.
        keys: of the cells.
        owner: name of the run that claims them; its processes share no cells.
        seconds: duration of the lease, after which others may take over.

    Returns:
        The keys that the owner now holds: they were free or already its own, their lease had expired, or the process
        that held it is gone.

    Raises:
        OSError, PermissionError, ConnectionError, TimeoutError: the store cannot be written.

    Example:
        >>> import tempfile
        >>> from bsjax.results import ResultStore
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     sorted(claim(store, ["a", "b"], "one", 60)), sorted(claim(store, ["b", "c"], "other", 60))
        (['a', 'b'], ['c'])
    """
    mine: set[str] = set()
    for part in askable(keys):
        with store.writing() as connection:
            now = _alone(connection)
            held = select(_of.key, _of.worker).where(_of.key.in_(part), _of.owner != owner, _of.expires > now)
            left = [key for key, worker in connection.execute(held) if is_gone(worker)]
            free = or_(_of.expires <= now, _of.owner == owner, _of.key.in_(left))
            taken = {"owner": owner, "worker": this_process(), "expires": now + seconds}
            asked = inserting(connection, tables.leases)
            asked = asked.on_conflict_do_update(index_elements=["key"], set_=taken, where=free).returning(_of.key)
            mine.update(connection.execute(asked.values([{"key": key, **taken} for key in part])).scalars())
    return mine


def renew(store: ResultStore, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
    """Extend leases to this many seconds from now.

    Returns:
        The keys that the owner still holds, including expired leases that nobody has taken over. Another owner has
        taken over the missing ones and computes them again.

    Raises:
        OSError, PermissionError, ConnectionError, TimeoutError: the store cannot be written.
    """
    mine: set[str] = set()
    for part in askable(keys):
        with store.writing() as connection:
            asked = update(tables.leases).where(_of.key.in_(part), _of.owner == owner)
            asked = asked.values(expires=_alone(connection) + seconds).returning(_of.key)
            mine.update(connection.execute(asked).scalars())
    return mine


def release(store: ResultStore, keys: Iterable[str], owner: str) -> None:
    """Release an owner's leases; those of others are kept.

    Raises:
        OSError, PermissionError, ConnectionError, TimeoutError: the store cannot be written.
    """
    for part in askable(keys):
        with store.writing() as connection:
            _alone(connection)
            connection.execute(delete(tables.leases).where(_of.key.in_(part), _of.owner == owner))


def workers_at(store: ResultStore, owner: str) -> dict[str, str]:
    """The keys that an owner holds, each with the process that holds it or held it when killed."""
    with store.reading() as connection:
        rows = connection.execute(select(_of.key, _of.worker).where(_of.owner == owner)).all()
    return {key: worker for key, worker in rows}


def left_behind(store: ResultStore, keys: Iterable[str]) -> dict[str, str]:
    """The keys whose process died without releasing them, each with that process."""
    found: dict[str, str] = {}
    with store.reading() as connection:
        now = now_by_database(connection)
        for part in askable(keys):
            for key, worker, expires in connection.execute(
                select(_of.key, _of.worker, _of.expires).where(_of.key.in_(part))
            ):
                if expires <= now or is_gone(worker):
                    found[key] = worker
    return found


def this_process() -> str:
    """The name of this process: machine and process id.

    Example:
        >>> this_process().split()[-1] == str(os.getpid())
        True
    """
    return f"{platform.node()} {os.getpid()}"


def is_gone(worker: str) -> bool:
    """Whether a process ran on this machine and no longer exists."""
    machine, _, number = worker.rpartition(" ")
    if machine != platform.node() or not number.isdigit() or os.name != "posix":
        return False
    with suppress(PermissionError, OverflowError):
        try:
            os.kill(int(number), 0)
        except ProcessLookupError:
            return True
    return False


def _alone(connection: Connection) -> float:
    """Lock leases against other writers until the transaction ends; returns the database's time."""
    alone_in(connection, tables.leases)
    return now_by_database(connection)


def now_by_database(connection: Connection) -> float:
    """The time by the clock of the database, in seconds since 1970."""
    if connection.dialect.name == "postgresql":  # machines' clocks differ
        return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
    return time.time()
