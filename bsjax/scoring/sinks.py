"""Sinks of scores: a store of results, whose cells several commands share, or none."""

import os
import threading
import time
import traceback
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from bsjax.core.identity.opened import Notes
from bsjax.results import ResultStore
from bsjax.results.leases import claim, release, renew
from bsjax.results.store import Task
from bsjax.scoring.cells import standing
from bsjax.scoring.job import Outcome
from bsjax.scoring.planning import Cell

# Duration of a lease on a cell, and interval at which it is renewed, in seconds.
_LEASE, _RENEWED = 60.0, 15.0


@dataclass(frozen=True)
class Made:
    """The result of computing a cell, as it is stored.

    Attributes:
        came: the score or the error.
        key: digest of everything that determines the score; None if it is not known.
        facts: properties of the model.
        opened: files that were read for the score.
        log: warnings that were issued.
        memory: peak memory of the process in bytes.
        started: start time, ISO 8601.
        seconds: wall time.
    """

    came: Any
    key: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    opened: Notes | None = None
    log: str = ""
    memory: int | None = None
    started: str = ""
    seconds: float = 0.0

    def outcome(self, cell: Cell, key: str | None = None) -> Outcome:
        """The outcome of the cell, which is in the store under ``key``."""
        if isinstance(self.came, Exception):
            return Outcome(*cell.names, None, self.came, self.seconds, "failed", key)
        return Outcome(*cell.names, self.came, None, self.seconds, "scored", key)


class Sink:
    """Where a runner passes its scores; this base class stores nothing, and its outcomes carry the scores."""

    stores = False
    """Whether scores are stored, so that the digests that identify them are needed."""

    def claimed(self, cells: Sequence[Cell]) -> list[Cell]:
        """Claim cells for this process; returns those that no other process is computing."""
        return list(cells)

    def found(self, cell: Cell, key: str | None) -> Outcome | None:
        """The outcome of a cell with this digest, if its score already exists."""
        return None

    def keep(self, cell: Cell, made: Made) -> Outcome:
        """Store the result of a cell, and release the cell."""
        return made.outcome(cell)

    def let_go(self, cells: Sequence[Cell]) -> None:
        """Release cells without storing anything."""

    def is_over(self) -> bool:
        """Whether no further cell should start."""
        return False


@dataclass(eq=False)
class IntoStore(Sink):
    """A sink that writes results into a store.

    Attributes:
        place: URL of the store.
        run: name of the run in the store.
        again: whether to recompute scores that the store has.
        whole: whether outcomes carry the full scores, in addition to their keys.
    """

    place: str
    run: str
    again: bool = False
    whole: bool = False
    stores = True
    _held: dict[str, None] = field(default_factory=dict, repr=False, init=False)
    _lost: set[str] = field(default_factory=set, repr=False, init=False)

    def __reduce__(self) -> Any:  # another process opens the store itself
        return IntoStore, (self.place, self.run, self.again, self.whole)

    @cached_property
    def store(self) -> ResultStore:
        """The store, opened on first use."""
        return ResultStore(self.place)

    def claimed(self, cells: Sequence[Cell]) -> list[Cell]:
        """Lease the cells that no other run is computing; leases are renewed as long as this process lives."""
        mine = claim(self.store, [cell.task for cell in cells], self.run, _LEASE)
        self._held |= dict.fromkeys(mine)
        _renewed_from_now(self)
        return [cell for cell in cells if cell.task in mine]

    def found(self, cell: Cell, key: str | None) -> Outcome | None:
        """The stored outcome of a cell, if the files its score was made from are unchanged."""
        if self.again or key is None:
            return None
        there = standing(cell.job, self.store.scored([key]).get(key, ()))
        if there is None:
            return None
        self.store.confirm([there])
        score = self.store.score(there) if self.whole else None
        return Outcome(*cell.names, score, state="found", key=there)

    def keep(self, cell: Cell, made: Made) -> Outcome:
        """Store the score, or the failure; a score that cannot be written is a failure too."""
        names, task = cell.names, Task(self.run, cell.task, made.key or cell.key)
        try:
            if cell.task in self._lost and (there := self.found(cell, made.key)) is not None:
                return replace(there, seconds=made.seconds)  # another run has taken over the lease
            if not isinstance(made.came, Exception):
                how = {"facts": made.facts, "memory": made.memory, "opened": made.opened}
                try:
                    key = self.store.add(made.came, model=names[0], benchmark=names[1], task=task, **how)
                    return made.outcome(cell, key) if self.whole else replace(made, came=None).outcome(cell, key)
                except Exception as raised:  # if the store is not writable, add_failure raises
                    made = replace(made, came=raised)
            log = "".join(traceback.format_exception(made.came)) + made.log
            told = {"log": log, "task": task, "started": made.started, "seconds": made.seconds}
            return made.outcome(cell, self.store.add_failure(*names, made.came, **told))
        finally:
            self._held.pop(cell.task, None)

    def let_go(self, cells: Sequence[Cell]) -> None:
        """Release the leases of cells."""
        mine = [cell.task for cell in cells if self._held.pop(cell.task, self) is None]
        release(self.store, mine, self.run)

    def is_over(self) -> bool:
        """Whether the run was ended, possibly by another process."""
        return self.store.has_ended(self.run)

    def renew(self) -> None:
        """Renew the leases that this process holds, and note those that another run has taken over."""
        held = list(self._held)
        self._lost |= set(held) - renew(self.store, held, self.run, _LEASE)


# The sinks of this process; one thread renews their leases.
_sinks: weakref.WeakSet[IntoStore] = weakref.WeakSet()
_renewer: dict[int, threading.Thread] = {}


def _renewed_from_now(sink: IntoStore) -> None:
    _sinks.add(sink)
    if os.getpid() not in _renewer:  # a forked process needs its own thread
        thread = _renewer[os.getpid()] = threading.Thread(target=_renew, name="bsjax leases", daemon=True)
        thread.start()


def _renew() -> None:
    while True:
        time.sleep(_RENEWED)
        for sink in [*_sinks]:
            with suppress(Exception):  # retry at the next interval; computation continues
                sink.renew()
