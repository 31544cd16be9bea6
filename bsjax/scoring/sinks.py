"""Sinks of scores: a store of results, whose cells several commands share, or none."""

from __future__ import annotations

import os
import threading
import time
import traceback
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from bsjax.core.identity.opened import Notes
from bsjax.labelled import Score
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

    def outcome(self, cell: Cell, error: Exception | None, key: str | None = None) -> Outcome:
        """The outcome of the cell."""
        score = self.came if error is None else None
        return Outcome(*cell.names, score, error, self.seconds, "scored" if error is None else "failed", key)


class Sink(Protocol):
    """Interface between a runner and the place where scores go."""

    def claimed(self, cells: Sequence[Cell]) -> list[Cell]:
        """Claim cells for this process; returns those that no other process is computing."""
        ...

    def found(self, cell: Cell, key: str | None) -> Outcome | None:
        """The outcome of a cell with this digest, if its score already exists."""
        ...

    def keep(self, cell: Cell, made: Made) -> Outcome:
        """Store the result of a cell, and release the cell."""
        ...

    def let_go(self, cells: Sequence[Cell]) -> None:
        """Release cells without storing anything."""
        ...

    def is_over(self) -> bool:
        """Whether no further cell should start."""
        ...


class Nowhere:
    """A sink that stores nothing; outcomes carry the scores."""

    def claimed(self, cells: Sequence[Cell]) -> list[Cell]:
        return list(cells)

    def found(self, cell: Cell, key: str | None) -> Outcome | None:
        return None

    def keep(self, cell: Cell, made: Made) -> Outcome:
        return made.outcome(cell, error_of(cell, made.came))

    def let_go(self, cells: Sequence[Cell]) -> None:
        pass

    def is_over(self) -> bool:
        return False


@dataclass(eq=False)
class IntoStore:
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
    _store: ResultStore | None = field(default=None, repr=False, init=False)
    _held: dict[str, None] = field(default_factory=dict, repr=False, init=False)
    _lost: set[str] = field(default_factory=set, repr=False, init=False)

    def __getstate__(self) -> dict[str, Any]:  # another process opens the store itself
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    @property
    def store(self) -> ResultStore:
        """The store, opened on first use."""
        if self._store is None:
            self._store = ResultStore(self.place)
        return self._store

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
        score = self.store.score(there) if self.whole else None
        return Outcome(*cell.names, score, state="found", key=there)

    def keep(self, cell: Cell, made: Made) -> Outcome:
        """Store the score, or the failure; a score that cannot be written is a failure too."""
        names, task = cell.names, Task(self.run, cell.task, made.key or cell.key)
        try:
            if cell.task in self._lost and (there := self.found(cell, made.key)) is not None:
                return replace(there, seconds=made.seconds)  # another run has taken over the lease
            error = error_of(cell, made.came)
            if error is None:
                try:
                    key = self.store.add(
                        made.came,
                        model=names[0],
                        benchmark=names[1],
                        task=task,
                        facts=made.facts,
                        memory=made.memory,
                        opened=made.opened,
                    )
                    outcome = made.outcome(cell, None, key)
                    return outcome if self.whole else replace(outcome, score=None)
                except Exception as raised:  # if the store is not writable, add_failure raises
                    error = raised
            log = "".join(traceback.format_exception(error)) + made.log
            told = {"log": log, "task": task, "started": made.started, "seconds": made.seconds}
            return made.outcome(cell, error, self.store.add_failure(*names, error, **told))
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


def error_of(cell: Cell, came: Any) -> Exception | None:
    """The error of a result; None for a score."""
    if isinstance(came, Exception):
        return came
    if isinstance(came, Score):
        return None
    name = cell.job.benchmark_identifier
    return TypeError(f"benchmark {name!r} gave a {type(came).__name__}, where a Score was expected")
