"""Progress watchers, and interruption by Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from bsjax.core.context import set_within

Item = TypeVar("Item")


class Watcher:
    """A progress watcher, whose methods are called during a run; this base class does nothing.

    Example:
        >>> Watcher().begun is not None
        True
    """

    def step(self, what: str, done: int, total: int) -> None:
        """Called with the number of finished steps of a long computation, such as bootstrap draws."""

    def begun(self, job: Any) -> None:
        """Called when a job (:class:`bsjax.scoring.Job`) begins, here or on a worker."""

    def images(self, progress: Any) -> None:
        """Called with the progress of an extraction (:class:`bsjax.activations.Progress`) in this process."""

    def came(self, outcome: Any) -> None:
        """Called with the outcome of a job (:class:`bsjax.scoring.Outcome`)."""

    def stopping(self) -> None:
        """Called when no further jobs will begin, and only running ones are awaited."""


_watcher: ContextVar[Watcher | None] = ContextVar("bsjax watcher", default=None)
_NOBODY = Watcher()


def watcher() -> Watcher:
    """Get the current watcher."""
    return _watcher.get() or _NOBODY


def is_watched() -> bool:
    """Check whether a watcher is set."""
    return _watcher.get() is not None


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """Set the watcher within a block.

    Args:
        by: receives progress and stages of computations in the block.

    Example:
        >>> class Names(Watcher):
        ...     def came(self, outcome):
        ...         print(outcome.model, outcome.benchmark, outcome.error_line)
        >>> import bsjax
        >>> with watched(Names()):
        ...     _ = bsjax.score("pixels", "Simulated.V1-cka", store=None)
        pixels Simulated.V1-cka
    """
    with set_within(_watcher, by):
        yield


def steps(items: Iterable[Item], what: str, total: int, each: int = 1) -> Iterator[Item]:
    """Iterate over items, and report the number of finished ones to the watcher; an item counts as ``each`` steps.

    Example:
        >>> class Told(Watcher):
        ...     def step(self, what, done, total):
        ...         print(f"{what}: {done} of {total}")
        >>> with watched(Told()):
        ...     _ = list(steps("ab", "letters", 2))
        letters: 0 of 2
        letters: 1 of 2
        letters: 2 of 2
    """
    told = watcher()
    told.step(what, 0, total)
    try:
        for number, item in enumerate(items, 1):
            yield item
            if number * each < total:
                told.step(what, number * each, total)
    finally:
        told.step(what, total, total)


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Report a block to the watcher as a single step."""
    told = watcher()
    told.step(what, 0, 1)
    try:
        yield
    finally:
        told.step(what, 1, 1)


@dataclass
class Stop:
    """The state of interruption by Ctrl-C.

    Attributes:
        asked: pressed once: no further work begins.
        insisted: pressed twice: running work is abandoned.
    """

    asked: bool = False
    insisted: bool = False


@contextmanager
def stopping() -> Iterator[Stop]:
    """Handle Ctrl-C within a block: the first asks to stop, the second interrupts. Only works in the main thread."""
    stop, told = Stop(), watcher()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def interrupted(number: int, frame: Any) -> None:
        if not stop.asked:
            stop.asked = True
            told.stopping()
            return
        stop.insisted = True
        if callable(before):
            before(number, frame)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
