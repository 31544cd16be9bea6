"""Progress on stderr: bars on a terminal, a line for what is finished elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from bsjax.core.watching import Watcher

if TYPE_CHECKING:
    from rich.console import Console

    from bsjax.activations import Progress
    from bsjax.scoring import Job, Outcome, Plan

# Where there is no terminal, a long extraction says so often how far it is, in seconds.
_EVERY = 30.0

Report = Callable[[str, int, int], None]


@contextmanager
def transfers(verb: str, unit: str = "bytes") -> Iterator[Report]:
    """What to call with the name of a file, how much of it is there, and how much there is; from any thread.

    Args:
        verb: what is done to the files, in the past tense: "fetched".
        unit: "bytes", or what else is counted.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    lock = threading.Lock()
    if not console.is_terminal:
        finished: set[str] = set()

        def log(name: str, here: int, size: int) -> None:
            with lock:
                if here >= size and name not in finished:
                    finished.add(name)
                    typer.echo(f"{verb} {name}: {size:,} {unit}", err=True)

        yield log
        return
    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks = {}

        def show(name: str, here: int, size: int) -> None:
            with lock:
                if name not in tasks:
                    tasks[name] = bars.add_task(name, total=size)
                bars.update(tasks[name], completed=here, total=size)

        yield show


@contextmanager
def scoring() -> Iterator[_Lines | _Bars]:
    """What to tell of a run of scores: bars on a terminal, a line a job elsewhere; errors at once."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[rate]}", markup=False),
    )
    with rich.Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(console, bars)


class _Running(Watcher):
    """What runs, and what has failed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._running: dict[tuple[str, str], None] = {}

    def begin(self, plan: Plan) -> None:
        """This will be run."""
        for cell in plan.of("blocked"):
            self._report(cell.names, cell.reason)
        for cell in plan.of("compute"):
            if cell.ended:
                self._report(cell.names, f"the process that was at it ended without a word ({cell.ended}): it is last")
        scored = len(plan.of("scored"))
        if scored:
            typer.echo(f"{scored} of {len(plan)} are in the store of results: --again computes them anew", err=True)

    def begun(self, job: Job) -> None:
        self._running[job.model_identifier, job.benchmark_identifier] = None

    def came(self, outcome: Outcome) -> None:
        self._running.pop((outcome.model, outcome.benchmark), None)
        self._report((outcome.model, outcome.benchmark), outcome.error_line)

    def stopping(self) -> None:
        running = ", ".join(" on ".join(names) for names in self._running)
        if running:
            self._say(f"waiting for {running}; Ctrl-C again ends it")

    def _report(self, names: tuple[str, str], error: str) -> None:
        if error:
            self._say(f"{' on '.join(names)}: {error}")

    def _say(self, line: str) -> None:
        self._console.print(f"bsjax: {line}", markup=False, highlight=False, soft_wrap=True)


class _Lines(_Running):
    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._total, self._done, self._said = 0, 0, time.monotonic()

    def begin(self, plan: Plan) -> None:
        self._total = len(plan.of("compute"))
        super().begin(plan)

    def images(self, progress: Progress) -> None:
        if progress.done < progress.total and time.monotonic() - self._said > _EVERY:
            self._said = time.monotonic()
            typer.echo(
                f"{progress.identifier}: {progress.done} of {progress.total} images, {_rate(progress)}", err=True
            )

    def came(self, outcome: Outcome) -> None:
        self._done += 1
        if outcome.error is None:
            what = f"{outcome.model} on {outcome.benchmark}: {outcome.seconds:.1f} s"
            typer.echo(f"[{self._done}/{self._total}] {what}", err=True)
        super().came(outcome)


class _Bars(_Running):
    def __init__(self, console: Console, bars: Any) -> None:
        super().__init__(console)
        self._bars = bars
        self._jobs = bars.add_task("starting", total=None, visible=False, rate="")
        self._failed = 0
        self._images = bars.add_task("images", total=None, visible=False, rate="")

    def begin(self, plan: Plan) -> None:
        self._bars.update(self._jobs, total=len(plan.of("compute")), visible=True)
        super().begin(plan)

    def begun(self, job: Job) -> None:
        super().begun(job)
        self._show()

    def images(self, progress: Progress) -> None:
        self._bars.update(
            self._images,
            description=f"{progress.identifier}: images",
            completed=progress.done,
            total=progress.total,
            visible=progress.done < progress.total,
            rate=_rate(progress),
        )

    def came(self, outcome: Outcome) -> None:
        super().came(outcome)
        self._failed += outcome.error is not None
        self._bars.advance(self._jobs)
        self._show()

    def _show(self) -> None:
        """What runs: one by its name, of several how many there are; and how many have failed."""
        names = [f"{model} on {benchmark}" for model, benchmark in self._running]
        description = f"{len(names)} running" if len(names) > 1 else "".join(names)
        self._bars.update(self._jobs, description=description, rate=f"{self._failed} failed" if self._failed else "")


def _rate(progress: Progress) -> str:
    minutes, seconds = divmod(round(progress.remaining), 60)
    left = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
    return f"{progress.rate:.3g} a second, {left} left"
