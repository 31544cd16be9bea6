"""Leases: by these, several commands on one store share what is to be computed, and compute nothing twice.

A cell is claimed by a run until a time, which the process that is at it renews. When that process is killed, the time
runs out, and another run takes the cell over: at once, where it is on the same machine and sees that the process is
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
    """Claim cells, each for one owner at a time; of several who claim one at once, one gets it.

    Args:
        store: the store.
        keys: of the cells.
        owner: who claims them: the name of a run, whose processes share no cell.
        seconds: from now, after which others may take them over.

    Returns:
        Those that are this owner's now: nobody has claimed them, or the lease is its own already, or has expired, or
        the process that was at it is gone.

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
    """Renew leases, until so many seconds from now.

    Returns:
        Those that are this owner's still, also where they had expired and nobody has taken them over. What is missing
        is another's, who computes it anew.

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
    """Give leases back; those of others stay.

    Raises:
        OSError, PermissionError, ConnectionError, TimeoutError: the store cannot be written.
    """
    for part in askable(keys):
        with store.writing() as connection:
            _alone(connection)
            connection.execute(delete(tables.leases).where(_of.key.in_(part), _of.owner == owner))


def workers_at(store: ResultStore, owner: str) -> dict[str, str]:
    """What an owner has leases of -> the process that is at it, or that was so when it was killed."""
    with store.reading() as connection:
        rows = connection.execute(select(_of.key, _of.worker).where(_of.owner == owner)).all()
    return {key: worker for key, worker in rows}


def left_behind(store: ResultStore, keys: Iterable[str]) -> dict[str, str]:
    """Those of the cells that a process was at when it ended without a word -> the process."""
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
    """The name of this process: its machine, and its number there.

    Example:
        >>> this_process().split()[-1] == str(os.getpid())
        True
    """
    return f"{platform.node()} {os.getpid()}"


def is_gone(worker: str) -> bool:
    """Whether a process was on this machine, and is not any more."""
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
    """Let nobody else write leases until the transaction ends; gives the time that counts for all."""
    alone_in(connection, tables.leases)
    return now_by_database(connection)


def now_by_database(connection: Connection) -> float:
    """The time by the clock of the database, in seconds."""
    if connection.dialect.name == "postgresql":  # clocks of machines differ
        return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
    return time.time()
