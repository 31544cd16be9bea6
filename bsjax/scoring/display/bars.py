"""Bars that show how far a call is, where somebody sees them: on a terminal, or in a notebook."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bsjax.core.watching import Watcher, is_watched, watched

if TYPE_CHECKING:
    from rich.progress import Progress

VARIABLE = "BSJAX_PROGRESS"
# What is over sooner shows nothing, in seconds.
_SOON = 1.0


class Bars(Watcher):
    """A bar of the pairs that are scored, one of the images that a model sees, and one of each other stage.

    Args:
        bars: those of rich.
        total: pairs to score.
    """

    def __init__(self, bars: Progress, total: int | None = None) -> None:
        self._bars, self._tasks, self._failed = bars, {}, 0
        self._pairs = bars.add_task("starting", total=total, visible=total is not None, rate="")
        self._names: dict[tuple[str, str], None] = {}

    def expect(self, total: int) -> None:
        """So many pairs are to be scored."""
        self._bars.update(self._pairs, total=total, visible=True)

    def begun(self, job: Any) -> None:
        self._names[job.model_identifier, job.benchmark_identifier] = None
        self._show()

    def came(self, outcome: Any) -> None:
        self._names.pop((outcome.model, outcome.benchmark), None)
        self._failed += outcome.error is not None
        self._bars.advance(self._pairs)
        self._show()

    def images(self, progress: Any) -> None:
        self.step(f"{progress.identifier}: images", progress.done, progress.total)

    def step(self, what: str, done: int, total: int) -> None:
        if done < total and what not in self._tasks:
            self._tasks[what] = self._bars.add_task(what, total=total if total > 1 else None, rate="")
        if done < total:
            self._bars.update(self._tasks[what], completed=done)
        elif what in self._tasks:
            self._bars.remove_task(self._tasks.pop(what))

    def _show(self) -> None:
        """What runs: one by its name, of several how many there are; and how many have failed."""
        names = [" on ".join(each) for each in self._names]
        description = f"{len(names)} running" if len(names) > 1 else "".join(names)
        failed = f"{self._failed} failed" if self._failed else ""
        self._bars.update(self._pairs, description=description, rate=failed)


def bars_on(console: Any) -> Progress:
    """Bars of rich with what is done, how long it has taken, and how long it will."""
    from rich import progress as rich

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[rate]}", markup=False),
    )
    return rich.Progress(*columns, console=console, transient=True)


@contextmanager
def shown(total: int | None = None) -> Iterator[None]:
    """A block whose progress is shown after a second, unless somebody watches it already.

    It is shown on a terminal and in a notebook, and nowhere where ``$BSJAX_PROGRESS`` is 0.

    Args:
        total: pairs that it scores.
    """
    if is_watched() or os.environ.get(VARIABLE) == "0" or not _is_seen():
        yield
        return
    from rich.console import Console

    bars = bars_on(Console(stderr=True))
    later = threading.Timer(_SOON, bars.start)
    later.daemon = True
    with watched(Bars(bars, total)):
        later.start()
        try:
            yield
        finally:
            later.cancel()
            later.join()
            bars.stop()


def _is_seen() -> bool:
    """Whether standard error is a terminal, or a notebook that can show what changes."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    return "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
