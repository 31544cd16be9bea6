"""Watchers of what is computed, and interrupts by Ctrl-C."""

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
    """What is told of a run; this one says nothing.

    Example:
        >>> Watcher().begun is not None
        True
    """

    def step(self, what: str, done: int, total: int) -> None:
        """So many steps of something that takes its time are done, such as draws of a metric that is called again."""

    def begun(self, job: Any) -> None:
        """A job (:class:`bsjax.scoring.Job`) is begun, here or by a worker."""

    def images(self, progress: Any) -> None:
        """A model has seen so many images (:class:`bsjax.activations.Progress`), in this process."""

    def came(self, outcome: Any) -> None:
        """This came of a job (:class:`bsjax.scoring.Outcome`)."""

    def stopping(self) -> None:
        """No further job is begun, and those that run are waited for."""


_watcher: ContextVar[Watcher | None] = ContextVar("bsjax watcher", default=None)
_NOBODY = Watcher()


def watcher() -> Watcher:
    """Who watches."""
    return _watcher.get() or _NOBODY


def is_watched() -> bool:
    """Whether anybody does."""
    return _watcher.get() is not None


@contextmanager
def watched(by: Watcher) -> Iterator[None]:
    """A block in which somebody is told what is scored.

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


def steps(items: Iterable[Item], what: str, total: int) -> Iterator[Item]:
    """Items one after the other; the watcher is told how many are done.

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
        for done, item in enumerate(items, 1):
            yield item
            if done < total:
                told.step(what, done, total)
    finally:
        told.step(what, total, total)


@contextmanager
def stage(what: str) -> Iterator[None]:
    """A block that takes its time, in a single step."""
    told = watcher()
    told.step(what, 0, 1)
    try:
        yield
    finally:
        told.step(what, 1, 1)


@dataclass
class Stop:
    """What was asked for by Ctrl-C.

    Attributes:
        asked: once: nothing further is begun.
        insisted: twice: what runs is left.
    """

    asked: bool = False
    insisted: bool = False


@contextmanager
def stopping() -> Iterator[Stop]:
    """A block in which the first Ctrl-C asks, and the second interrupts, where this is the thread that gets it."""
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
