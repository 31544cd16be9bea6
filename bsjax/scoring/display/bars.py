"""Progress of a call: bars on a terminal and in a notebook, and lines elsewhere on request."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from bsjax.core.watching import Watcher, is_watched, watched

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

VARIABLE = "BSJAX_PROGRESS"
# Delay before bars appear, and interval between lines of a stage, in seconds.
_SOON, _EVERY = 1.0, 5.0


class Bars(Watcher):
    """A bar for the scored pairs, one for the images that a model processes, and one for each other stage.

    Args:
        bars: a progress display of rich.
        total: number of pairs to score.
    """

    def __init__(self, bars: Progress, total: int | None = None) -> None:
        self._bars, self._tasks, self._failed = bars, {}, 0
        self._pairs = bars.add_task("starting", total=total, visible=total is not None, rate="")
        self._names: dict[tuple[str, str], None] = {}

    def expect(self, total: int) -> None:
        """Set the number of pairs to score."""
        self._bars.update(self._pairs, total=total, visible=True)

    def begun(self, job: Any) -> None:
        self._names[job.names] = None
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
        """Show the running pair, or the number of running pairs, and the number of failures."""
        names = [" on ".join(each) for each in self._names]
        description = f"{len(names)} running" if len(names) > 1 else "".join(names)
        failed = f"{self._failed} failed" if self._failed else ""
        self._bars.update(self._pairs, description=description, rate=failed)


class Lines(Watcher):
    """A line for each scored pair, and periodic lines on the progress of images and other stages.

    Args:
        console: where lines are printed.
        total: number of pairs to score.
        every: seconds between lines of a stage.
    """

    def __init__(self, console: Console, total: int | None = None, every: float = _EVERY) -> None:
        self._console, self._total, self._every = console, total, every
        self._done, self._said = 0, time.monotonic()
        self._since: dict[str, float] = {}

    def expect(self, total: int) -> None:
        """Set the number of pairs to score."""
        self._total = total

    def images(self, progress: Any) -> None:
        rate, left = f"{progress.rate:.3g} a second", f"{duration(progress.remaining)} left"
        self._tell(progress.identifier, progress.done, progress.total, f" images, {rate}, {left}")

    def step(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        begun = self._since.setdefault(what, now)
        if done == total:
            del self._since[what]
        elif done:
            self._tell(what, done, total, f", {duration((now - begun) * (total - done) / done)} left")

    def came(self, outcome: Any) -> None:
        self._done += 1
        if outcome.error is None:
            of = f"{self._done}/{self._total or self._done}"
            self._say(f"[{of}] {outcome.model} on {outcome.benchmark}: {outcome.seconds:.1f} s")

    def _tell(self, what: str, done: int, total: int, more: str) -> None:
        if 0 < done < total and time.monotonic() - self._said >= self._every:
            self._said = time.monotonic()
            self._say(f"{what}: {done} of {total}{more}")

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)


def duration(seconds: float) -> str:
    """A time in words.

    Example:
        >>> duration(42), duration(125), duration(4020)
        ('42 s', '2 min 05 s', '1 h 07 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def bars_on(console: Any) -> Progress:
    """Bars of rich with the number done, the time elapsed and the time remaining."""
    from rich import progress as rich
    from rich.text import Text

    class Left(rich.ProgressColumn):
        """The time left by the rate so far: that of rich forgets steps of more than 30 s."""

        def render(self, task: rich.Task) -> Text:
            if not (task.completed and task.total and task.elapsed):
                return Text()
            left = task.elapsed * (task.total - task.completed) / task.completed
            return Text(f"{duration(left)} left", style="progress.remaining")

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        Left(),
        rich.TextColumn("{task.fields[rate]}", markup=False),
    )
    return rich.Progress(*columns, console=console, transient=True)


@contextmanager
def shown(total: int | None = None, progress: bool | None = None) -> Iterator[None]:
    """Show the progress of a block after one second, unless a watcher is already active.

    Args:
        total: number of pairs that the block scores.
        progress: None shows bars on a terminal and in a notebook, unless ``$BSJAX_PROGRESS`` is 0. True also shows
            lines elsewhere, such as in the log of a job. False hides progress, including that of functions called in
            the block.

    Example:
        >>> with shown(progress=False):
        ...     is_watched()
        True
    """
    if progress is None and (os.environ.get(VARIABLE) == "0" or not _is_seen()) or is_watched():
        yield
        return
    if progress is False:
        with watched(Watcher()):
            yield
        return
    from rich.console import Console

    console = Console(stderr=True)
    if not _is_seen():
        with watched(Lines(console, total)):
            yield
        return
    bars = bars_on(console)
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
    """Whether standard error is a terminal, or this is a notebook with widgets."""
    if sys.stderr is not None and sys.stderr.isatty():
        return True
    return "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
