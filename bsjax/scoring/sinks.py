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

# How long a cell belongs to a process that says nothing more, and how often it says that it is still at it, in seconds.
_LEASE, _RENEWED = 60.0, 15.0


@dataclass(frozen=True)
class Made:
    """What was computed of a cell, as it is kept.

    Attributes:
        came: the score, or the error instead.
        key: digest of all that decides the score; None where it is not known.
        facts: what is known of the model.
        opened: what was read for it.
        log: what was said meanwhile.
        memory: the most bytes that the process held.
        started: when it was begun, ISO 8601.
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
        """What came of it."""
        score = self.came if error is None else None
        return Outcome(*cell.names, score, error, self.seconds, "scored" if error is None else "failed", key)


class Sink(Protocol):
    """What a runner asks before it computes a cell, and tells afterwards."""

    def claimed(self, cells: Sequence[Cell]) -> list[Cell]:
        """Those of the cells that nobody else is at; they are this process's now."""
        ...

    def found(self, cell: Cell, key: str | None) -> Outcome | None:
        """What came of a cell, whose digest this is, if its score is there already."""
        ...

    def keep(self, cell: Cell, made: Made) -> Outcome:
        """Keep what came of a cell, which is nobody's then."""
        ...

    def let_go(self, cells: Sequence[Cell]) -> None:
        """Give cells back of which nothing is to be kept."""
        ...

    def is_over(self) -> bool:
        """Whether no further cell is to be begun."""
        ...


class Nowhere:
    """Keeps nothing: outcomes have the scores."""

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
    """Puts what comes of cells into a store of results.

    Attributes:
        place: URL of the store.
        run: name of the run in the store.
        again: whether to compute what the store has.
        whole: whether outcomes have the scores, too, and not their keys alone.
    """

    place: str
    run: str
    again: bool = False
    whole: bool = False
    _store: ResultStore | None = field(default=None, repr=False, init=False)
    _held: dict[str, None] = field(default_factory=dict, repr=False, init=False)
    _lost: set[str] = field(default_factory=set, repr=False, init=False)

    def __getstate__(self) -> dict[str, Any]:  # to another process, which opens the store itself
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)

    @property
    def store(self) -> ResultStore:
        """The store, opened when it is first needed."""
        if self._store is None:
            self._store = ResultStore(self.place)
        return self._store

    def claimed(self, cells: Sequence[Cell]) -> list[Cell]:
        """Those of the cells that no other run is at, by leases that are renewed as long as this process lives."""
        mine = claim(self.store, [cell.task for cell in cells], self.run, _LEASE)
        self._held |= dict.fromkeys(mine)
        _renewed_from_now(self)
        return [cell for cell in cells if cell.task in mine]

    def found(self, cell: Cell, key: str | None) -> Outcome | None:
        """What came of a cell whose score was made from files that are as they are now."""
        if self.again or key is None:
            return None
        there = standing(cell.job, self.store.scored([key]).get(key, ()))
        if there is None:
            return None
        score = self.store.score(there) if self.whole else None
        return Outcome(*cell.names, score, state="found", key=there)

    def keep(self, cell: Cell, made: Made) -> Outcome:
        """Keep the score; or the failure, also of a score that cannot be written."""
        names, task = cell.names, Task(self.run, cell.task, made.key or cell.key)
        try:
            if cell.task in self._lost and (there := self.found(cell, made.key)) is not None:
                return replace(there, seconds=made.seconds)  # another run has taken it over meanwhile
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
                except Exception as raised:  # of a store that cannot be written, what follows says so
                    error = raised
            log = "".join(traceback.format_exception(error)) + made.log
            told = {"log": log, "task": task, "started": made.started, "seconds": made.seconds}
            return made.outcome(cell, error, self.store.add_failure(*names, error, **told))
        finally:
            self._held.pop(cell.task, None)

    def let_go(self, cells: Sequence[Cell]) -> None:
        """Give their leases back."""
        mine = [cell.task for cell in cells if self._held.pop(cell.task, self) is None]
        release(self.store, mine, self.run)

    def is_over(self) -> bool:
        """Whether the run was ended elsewhere."""
        return self.store.has_ended(self.run)

    def renew(self) -> None:
        """Say that this process is still at what it holds; what another run has taken over is known then."""
        held = list(self._held)
        self._lost |= set(held) - renew(self.store, held, self.run, _LEASE)


# Of this process; they are renewed by one thread.
_sinks: weakref.WeakSet[IntoStore] = weakref.WeakSet()
_renewer: dict[int, threading.Thread] = {}


def _renewed_from_now(sink: IntoStore) -> None:
    _sinks.add(sink)
    if os.getpid() not in _renewer:  # also in a process that was forked
        thread = _renewer[os.getpid()] = threading.Thread(target=_renew, name="bsjax leases", daemon=True)
        thread.start()


def _renew() -> None:
    while True:
        time.sleep(_RENEWED)
        for sink in [*_sinks]:
            with suppress(Exception):  # the next time may do; what is computed goes on
                sink.renew()


def error_of(cell: Cell, came: Any) -> Exception | None:
    """What is wrong with what came of a cell; None of a score."""
    if isinstance(came, Exception):
        return came
    if isinstance(came, Score):
        return None
    name = cell.job.benchmark_identifier
    return TypeError(f"benchmark {name!r} gave a {type(came).__name__}, where a Score was expected")
