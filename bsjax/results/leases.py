"""Leases: by these, several commands on one store share what is to be computed, and compute nothing twice.

A cell is claimed by an owner until a time, which the owner renews while it is at it. When the owner is killed, the time
runs out, and another takes the cell over.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
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
        owner: who claims them: a name that nobody else has.
        seconds: from now, after which others may take them over.

    Returns:
        Those that are this owner's now: nobody has claimed them, or the lease is its own already, or has expired.

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
            asked = inserting(connection, tables.leases)
            free = or_(_of.expires <= now, _of.owner == owner)
            taken = {"owner": owner, "expires": now + seconds}
            asked = asked.on_conflict_do_update(index_elements=["key"], set_=taken, where=free).returning(_of.key)
            mine.update(connection.execute(asked.values([{"key": key, **taken} for key in part])).scalars())
    return mine


def renew(store: ResultStore, keys: Iterable[str], owner: str, seconds: float) -> set[str]:
    """Renew leases, until so many seconds from now.

    Returns:
        Those that are this owner's still, also where they had expired and nobody has taken them over. What is missing
        is another's: its owner is to stop computing it.

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


def _alone(connection: Connection) -> float:
    """Let nobody else write leases until the transaction ends; gives the time, in seconds, that counts for all."""
    alone_in(connection, tables.leases)
    if connection.dialect.name == "postgresql":  # clocks of machines differ
        return float(connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one())
    return time.time()
